"""The synchronous client is the asynchronous one without `await`: made, not written."""

import importlib.util
from pathlib import Path
from types import ModuleType

CLIENT = Path(__file__).parent.parent.parent / "clients/python"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_sync", CLIENT / "generate_sync.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_synchronous_client_is_current() -> None:
    present = {path.name: path.read_text() for path in (CLIENT / "angarium/sync").glob("*.py")}
    assert present == generator().generated(), "run clients/python/generate_sync.py"


def test_nothing_asynchronous_is_left_in_it() -> None:
    for path in (CLIENT / "angarium/sync").glob("*.py"):
        text = path.read_text()
        for word in ("async", "Async", "await", "aclose"):
            assert word not in text, f"{path.name}: {word}"
