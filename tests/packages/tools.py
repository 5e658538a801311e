"""Programs that tests need and no Python package provides. Tests without them fail in CI."""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str, how: str) -> str:
    """Return a tool's path. If it is missing, fail in CI, and otherwise skip the test with
    instructions."""
    made = [ROOT / ".tools/bin", ROOT / ".tools/sdk/go/bin"]
    folders = [*made, Path(sys.executable).parent, "/usr/sbin"]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    return shutil.which(name, path=path) or missing(name, how)


def missing(name: str, how: str) -> NoReturn:
    if "CI" in os.environ:
        pytest.fail(f"{name} is missing: {how}")
    pytest.skip(f"{name} is missing: {how}")
