"""The bench's command line: `python -m bench run SCENARIO [--set k=v] [--repeat N] [--json FILE]`."""

import argparse
import json
import statistics
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.checks import Broken
from bench.scenarios import SCENARIOS, Scenario, Sizes
from bench.service import Figures, Receiver


def run(scenario: Scenario, sizes: Sizes) -> Figures:
    """Run a scenario once, on a fresh service."""
    with Receiver() as receiver, scenario.serve() as service:
        return scenario.run(service, receiver, **sizes)


def repeated(scenario: Scenario, sizes: Sizes, times: int) -> Figures:
    """Run a scenario several times; return the median of every figure and the spread of the ratio."""
    runs = [run(scenario, sizes) for _ in range(times)]
    figures: Figures = {
        key: statistics.median([each[key] for each in runs])
        if isinstance(value, int | float)
        else value
        for key, value in runs[0].items()
    }
    if times > 1 and "timesFloor" in figures:
        ratios = [each["timesFloor"] for each in runs]
        figures["timesFloorSpread"] = f"{min(ratios)}-{max(ratios)}"
    return figures


def show(results: dict[str, Figures]) -> None:
    """Print a table a scenario."""
    console = Console()
    for name, figures in results.items():
        table = Table(title=f"{name}: {SCENARIOS[name].about}", title_justify="left")
        table.add_column("figure")
        table.add_column("value", justify="right")
        for key, value in figures.items():
            table.add_row(key, str(value))
        console.print(table)


def main() -> int:
    """Parse the command line and do as it says. Exit code 1: a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the scenarios")
    runner = commands.add_parser("run", help="run one scenario, or all of them")
    runner.add_argument("scenario", choices=[*SCENARIOS, "all"])
    runner.add_argument(
        "--set", action="append", default=[], metavar="SIZE=N", help="another size, or name"
    )
    runner.add_argument("--tiny", action="store_true", help="the sizes that the tests use")
    runner.add_argument("--repeat", type=int, default=1, metavar="N", help="medians of N runs")
    runner.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    if arguments.command == "list":
        for scenario in SCENARIOS.values():
            sys.stdout.write(f"{scenario.name:14} {scenario.about}  {scenario.sizes}\n")
        return 0
    changes: Sizes = {
        key: int(value) if value.isdigit() else value
        for key, _, value in (each.partition("=") for each in arguments.set)
    }
    names = list(SCENARIOS) if arguments.scenario == "all" else [arguments.scenario]
    results: dict[str, Figures] = {}
    broken = False
    for name in names:
        scenario = SCENARIOS[name]
        sizes = (scenario.tiny if arguments.tiny else scenario.sizes) | changes
        try:
            results[name] = repeated(scenario, sizes, arguments.repeat)
        except Broken as verdict:
            broken = True
            results[name] = {"broken": str(verdict)}
        show({name: results[name]})
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
