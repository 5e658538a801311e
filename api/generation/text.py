"""The writer of Python source."""

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

WIDTH = 100
MADE = "# Made of the API's routes by `python -m api.generation`; do not edit.\n"
# `--isolated` makes Ruff ignore settings files. Without this flag, Ruff would use other settings in
# another working directory, or when the generated file does not exist yet.
_RUFF = ["--isolated", "--line-length", str(WIDTH), "--target-version", "py311"]
_SORTED = ["--select", "F401,I,UP", "--config", 'lint.isort.known-first-party=["angarium"]']


def comment(text: str, indent: int = 0) -> str:
    """Return a text as a comment."""
    return _block(text, " " * indent + "# ") if text else ""


def docstring(text: str, indent: int) -> str:
    """Return a text as a docstring with its paragraphs."""
    margin = " " * indent
    paragraphs = [
        textwrap.fill(" ".join(part.split()), WIDTH - 6, initial_indent=margin, subsequent_indent=margin)
        for part in text.replace("\\", "\\\\").split("\n\n")
    ]  # fmt: skip
    body = "\n\n".join(paragraphs).strip()
    end = f"\n{margin}" if "\n" in body else ""
    return f'{margin}"""{body}{end}"""\n'


def module(sentence: str, parts: Sequence[str], *, wanted: Iterable[str] = ()) -> str:
    """Return a module's text, not yet formatted, with a mark in the place of its imports.

    `sentence`: the docstring. `parts`: the code. The names in `wanted` are imported even if `parts` do
    not use them, so that the module re-exports these names."""
    names = {*re.findall(r"[A-Za-z_]\w*", "\n".join(parts)), *wanted}
    return (
        f"{MADE}{docstring(sentence, 0)}\n%IMPORTS {' '.join(sorted(names))}\n\n"
        + "\n\n\n".join(parts)
    )


def with_imports(text: str, homes: Sequence[tuple[str, Iterable[str]]]) -> str:
    """Add the imports of the names that a text uses. `homes` has pairs: a module, and the names that the
    module exports. If several modules export a name, the first of these modules is used."""
    names = set(re.search(r"%IMPORTS (.*)", text)[1].split())  # type: ignore[index]  # `module` wrote it
    lines = []
    for home, offered in homes:
        found = sorted(names.intersection(offered))
        names.difference_update(found)
        if found:
            lines.append(f"from {home} import {', '.join(found)}")
    return re.sub(r"%IMPORTS .*", "\n".join(lines).replace("\\", r"\\"), text, count=1)


def formatted(text: str, path: Path) -> str:
    """Return a module's text in the project's format, without unused imports."""
    fixes = ["check", "--fix-only", "--unsafe-fixes", "--quiet", *_SORTED]
    for arguments in (fixes, ["format", "--quiet"]):
        text = subprocess.run(  # noqa: S603 - our own arguments
            [sys.executable, "-m", "ruff", *arguments, *_RUFF, "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
    return text


def _block(text: str, margin: str) -> str:
    flat = " ".join(text.split())
    return textwrap.fill(flat, WIDTH, initial_indent=margin, subsequent_indent=margin) + "\n"


ROOT = Path(__file__).parents[2]
_FOLDERS = {
    "clients/python/angarium": MADE,
    "clients/typescript/src": MADE.replace("#", "//", 1),
    "web/shared": MADE.replace("#", "//", 1),
    "api/cli": MADE,
}


def present() -> dict[Path, str]:
    """Return the generated files of the repository, by their paths."""
    found = {}
    for folder, mark in _FOLDERS.items():
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix not in (".py", ".ts", ".js"):
                continue
            text = path.read_text("utf-8")
            if text.startswith(mark):
                found[path] = text
    return found


def write(made: Mapping[Path, str]) -> None:
    """Write the files in `made`, and remove all other generated files."""
    for path in present():
        if path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
