"""The scenarios by name: `python -m bench list`, with sizes and the minutes of one measurement."""

import argparse
from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table

from bench.runs import curated
from bench.scenarios import SCENARIOS


def main(arguments: Sequence[str]) -> int:
    argparse.ArgumentParser(prog="python -m bench list", description=__doc__).parse_args(arguments)
    chosen = {each.scenario: each for each in curated()}
    table = Table(box=None, pad_edge=False)
    for heading in ("scenario", "", "minutes", "about", "sizes"):
        # Without `fold`, narrow terminals would cut long words off.
        justify: Literal["left", "right"] = "right" if heading == "minutes" else "left"
        table.add_column(heading, justify=justify, overflow="fold")
    for scenario in SCENARIOS.values():
        table.add_row(
            scenario.name,
            f"all: {chosen[scenario.name].repeat} x" if scenario.name in chosen else "",
            f"{scenario.minutes:g}",
            scenario.about,
            " ".join(f"{name}={value}" for name, value in scenario.sizes.items()),
        )
    console = Console()
    console.print(table, highlight=False)
    console.print(f"run all: {sum(each.minutes for each in chosen.values()):g} minutes")
    return 0
