"""The command that shows a file of results again: `python -m bench report FILE [--html PAGE]`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.report.html import page
from bench.report.table import show
from bench.results import read


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench report", description=__doc__)
    parser.add_argument("file", type=Path, help="a file from `run --json`")
    parser.add_argument("--html", type=Path, metavar="PAGE", help="write one self-contained page")
    given = parser.parse_args(arguments)
    try:
        document = read(given.file)
    except ValueError as error:
        parser.error(str(error))
    for run in document.runs:
        show(run)
    if given.html is not None:
        given.html.write_text(page(document), "utf-8")
    return 0
