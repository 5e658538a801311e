"""The bench's command line: `python -m bench COMMAND`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "run": ("run a scenario, or all of the curated set", "bench.runs"),
    "drive": ("put load on your own server and check your bars", "bench.drive"),
    "list": ("list the scenarios with their sizes", "bench.listing"),
    "compare": ("compare a second file of results with the first", "bench.compare"),
    "report": ("show a file of results, or write its page", "bench.reporting"),
    "history": ("the figures at each release", "bench.history"),
    "cluster": ("simulate nodes on one PostgreSQL: what saturates first", "bench.cluster"),
    "floors": ("how steady this machine is", "bench.floors"),
    "limits": ("measure the limits of generator and receiver on this machine", "bench.limits"),
    "tune": ("find the concurrency that a destination needs", "bench.tune"),
}
# The packages of this repository. If an import fails because some other package is missing, the command
# says that the development tools are not installed.
OURS = ("bench", "engine", "api", "storage")


def main(arguments: Sequence[str]) -> int:
    """Run a command; return its exit code."""
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the running service against the floor of this machine.",
        epilog="\n".join(f"{name:{width}}  {about}" for name, (about, _) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="see below")
    given = parser.parse_args(arguments[:1])
    _, module = COMMANDS[given.command]
    try:
        command = import_module(module)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package in OURS:
            raise
        sys.stderr.write(
            f"python -m bench: {package} is not installed; the bench needs a checkout of the repository "
            "with the development tools, which `make setup` installs\n"
        )
        return 2
    return int(command.main(list(arguments[1:])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
