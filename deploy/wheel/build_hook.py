"""The build step of the server's wheel, which moves our packages into `angarium_server`.

It changes only names in import statements, found in the syntax tree, and keeps every line's number. See
docs/decisions/0056-one-package-for-the-wheel.md.
"""

import ast
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "angarium_server"
# The folders that the wheel contains, by the name under which our code imports each.
FOLDERS = {
    "api": "api",
    "engine": "engine",
    "storage": "storage",
    "angarium": "clients/python/angarium",
}
# `api.web` serves the first folder to browsers, and `api.mcp.resources` the second to agents.
PAGES = ("web", "docs")
LEFT_OUT = frozenset({"__pycache__", "decisions"})  # compiled files, and pages for contributors
LAUNCHER = Path("deploy/wheel/root") / PACKAGE
# The rewriting does not change a name in a text, and refuses a call of these.
_BY_NAME = frozenset({"import_module", "__import__", "find_spec", "files", "resolve_name"})


class MoveError(Exception):
    """A file cannot be moved into the package. The message names the line."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement within a line. Lines count from 0; columns are in bytes."""

    line: int
    begin: int
    end: int
    text: str


def moved(source: str, file: str) -> str:
    """Return a module's text as part of `PACKAGE`. Raises MoveError."""
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    edits: list[Edit] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _ours(node.module or ""):
            edits.append(_in_from(node, lines))
        elif isinstance(node, ast.Import):
            edits += _in_import(node, lines, file)
        elif isinstance(node, ast.Call):
            _refuse_by_name(node, file)
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.begin), reverse=True):
        line = lines[edit.line]
        lines[edit.line] = line[: edit.begin] + edit.text.encode() + line[edit.end :]
    return b"".join(lines).decode()


def _ours(module: str) -> bool:
    return module.partition(".")[0] in FOLDERS


def _in_from(node: ast.ImportFrom, lines: list[bytes]) -> Edit:
    """In `from engine.x import y` only the module's name changes."""
    assert node.module is not None
    row = node.lineno - 1
    begin = lines[row].index(node.module.encode(), node.col_offset + len("from "))
    return Edit(row, begin, begin + len(node.module.encode()), f"{PACKAGE}.{node.module}")


def _in_import(node: ast.Import, lines: list[bytes], file: str) -> Iterator[Edit]:
    """`import engine.x as y` becomes `from angarium_server.engine import x as y`. Raises MoveError for
    several names, and for `import engine.x` without `as`."""
    found = [alias for alias in node.names if _ours(alias.name)]
    if not found:
        return
    if len(node.names) > 1 or node.lineno != node.end_lineno:
        raise MoveError(f"{file}:{node.lineno}: import this name in a statement of its own")
    alias = found[0]
    parent, _, name = alias.name.rpartition(".")
    if parent and alias.asname is None:
        raise MoveError(f"{file}:{node.lineno}: use `from {parent} import {name}`")
    bound = f" as {alias.asname}" if alias.asname else ""
    text = f"from {'.'.join(filter(None, (PACKAGE, parent)))} import {name}{bound}"
    assert node.end_col_offset is not None
    assert lines[node.lineno - 1][node.col_offset :].startswith(b"import ")
    yield Edit(node.lineno - 1, node.col_offset, node.end_col_offset, text)


def _refuse_by_name(node: ast.Call, file: str) -> None:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else None
    called = node.func.id if isinstance(node.func, ast.Name) else called
    if called not in _BY_NAME:
        return
    for argument in node.args:
        if isinstance(argument, ast.Constant) and _ours(str(argument.value)):
            raise MoveError(
                f"{file}:{node.lineno}: {called}({argument.value!r}) names a package that moves;"
                " derive the name from __package__"
            )


def move_all(root: Path, target: Path) -> None:
    """Write the moved packages. `target` is the folder for `PACKAGE`. Raises MoveError."""
    shutil.copytree(root / LAUNCHER, target, ignore=_made)
    for name, folder in FOLDERS.items():
        shutil.copytree(root / folder, target / name, ignore=_made)
    for folder in PAGES:
        shutil.copytree(root / folder, target / folder, ignore=_made)
    for path in sorted(target.rglob("*.py")):
        text = moved(path.read_text("utf-8"), str(path.relative_to(target)))
        path.write_text(text, "utf-8")


def _made(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name in LEFT_OUT]


class OnePackage(BuildHookInterface[Any]):
    """The hook that hatchling runs before and after it writes the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation needs no `PACKAGE`: it imports the repository's folders."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        target = Path(self._folder.name) / PACKAGE
        move_all(Path(self.root), target)
        build_data["force_include"][str(target)] = PACKAGE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()
