"""Programs that tests need and that no Python package brings: where they are missing CI fails."""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str, how: str) -> str:
    """Return the path of a tool; where it is missing CI fails, and others are told how to get it."""
    made = [ROOT / ".tools/bin", ROOT / ".tools/sdk/go/bin"]
    folders = [*made, Path(sys.executable).parent, "/usr/sbin"]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    return shutil.which(name, path=path) or missing(name, how)


def missing(name: str, how: str) -> NoReturn:
    """Fail the test where CI is set; elsewhere skip it, and say how to get what it needs."""
    if "CI" in os.environ:
        pytest.fail(f"{name} is missing: {how}")
    pytest.skip(f"{name} is missing: {how}")
