"""docs/security.md: every claim names a test, and all named tests and files exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "security.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_FILE = re.compile(r"`((?:api|engine|storage|tests)/[\w/]+\.\w+)`")


def test_every_test_that_is_named_is_there() -> None:
    named = _TEST.findall(DOCUMENT.read_text("utf-8"))
    assert len(named) > 25
    for file, test in named:
        assert re.search(rf"def {test}\(", (ROOT / file).read_text("utf-8")), f"{file}::{test}"


def test_every_file_that_is_named_is_there() -> None:
    for file in _FILE.findall(DOCUMENT.read_text("utf-8")):
        assert (ROOT / file).is_file(), file


def test_every_claim_of_the_doors_names_a_test() -> None:
    doors = DOCUMENT.read_text("utf-8").partition("## Doors")[2].partition("## What is not held")[0]
    claims = [line for line in doors.splitlines() if line.startswith("- ")]
    assert claims
    assert [claim for claim in claims if not _TEST.search(claim)] == []
