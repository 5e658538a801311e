"""engine/core decides and does nothing else."""

import ast
import sys
from pathlib import Path

import pytest

import engine.core

FILES = sorted(Path(engine.core.__file__).parent.glob("*.py"))
# Modules of the standard library that act on the world outside, or read from it.
BANNED_MODULES = {
    "asyncio", "concurrent", "ctypes", "datetime", "glob", "http", "io", "logging", "multiprocessing",
    "os", "pathlib", "random", "sched", "secrets", "select", "selectors", "shutil", "signal", "socket",
    "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid", "warnings", "weakref",
}  # fmt: skip
BANNED_CALLS = {
    "open",
    "print",
    "input",
    "exec",
    "eval",
    "compile",
    "__import__",
    "id",
    "hash",
    "globals",
}


def imported(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_core_imports_the_standard_library_msgspec_and_itself(path: Path) -> None:
    for module in imported(ast.parse(path.read_text())):
        root = module.split(".")[0]
        own = module == "engine.core" or module.startswith("engine.core.")
        assert own or root == "msgspec" or root in sys.stdlib_module_names, module
        assert root not in BANNED_MODULES, module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_core_reads_no_clock_draws_no_chance_and_does_no_io(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Await | ast.AsyncFunctionDef | ast.AsyncFor | ast.AsyncWith)
        assert not isinstance(node, ast.Global | ast.Nonlocal)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in BANNED_CALLS, node.func.id
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            assert not (isinstance(node.type, ast.Name) and node.type.id == "Exception")


def test_there_is_a_core_to_look_at() -> None:
    assert len(FILES) > 15
