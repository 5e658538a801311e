"""Programs that tests need and that no Python package brings: where they are missing CI fails."""

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str, how: str) -> str:
    """Return the path of a tool; where it is missing CI fails, and others are told how to get it."""
    made = [ROOT / ".tools/bin", ROOT / ".tools/sdk/go/bin"]
    folders = [*made, Path(sys.executable).parent, "/usr/sbin"]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    found = shutil.which(name, path=path)
    if found is None and "CI" in os.environ:
        pytest.fail(f"{name} is missing: {how}")
    if found is None:
        pytest.skip(f"{name} is missing: {how}")
    return found
