"""The OpenAPI document: the popular linters Spectral and Redocly find no fault in it."""

import os
import shutil
from pathlib import Path

import pytest

from api.table import openapi_json
from tests.generated.makers import INSTALL, GenerationError, run
from tests.generated.tools.install import NODE
from tests.packages.tools import missing

HERE = Path(__file__).parent
LINTERS: dict[str, list[str | Path]] = {
    "spectral": ["lint", "--fail-severity", "hint", "-r", HERE / "spectral.yaml"],
    "redocly": ["lint", "--max-problems", "1000", "--config", HERE / "redocly.yaml"],
}
CLEAN = {"spectral": "No results with a severity", "redocly": "Your API description is valid"}
FOUND = "You have "  # the beginning of Redocly's warning count


@pytest.mark.parametrize("linter", LINTERS)
def test_a_linter_finds_nothing(
    linter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("node") is None or not NODE.installed():
        missing("node with the linters", f"{INSTALL}, after apt install npm")
    # No network access: neither for newer versions nor for usage figures.
    monkeypatch.setitem(os.environ, "REDOCLY_TELEMETRY", "off")
    monkeypatch.setitem(os.environ, "REDOCLY_SUPPRESS_UPDATE_NOTICE", "true")
    (tmp_path / "openapi.json").write_bytes(openapi_json())
    try:
        printed = run([NODE.programs / linter, *LINTERS[linter], "openapi.json"], tmp_path)
    except GenerationError as error:
        pytest.fail(str(error))
    assert CLEAN[linter] in printed
    assert FOUND not in printed, printed
