"""Made files in the repository: which there are, and how they are written."""

from collections.abc import Mapping
from pathlib import Path

from api.generation.text import MADE

ROOT = Path(__file__).parents[2]
_FOLDERS = {
    "clients/python/angarium": MADE,
    "clients/typescript/src": MADE.replace("#", "//", 1),
    "api/cli": MADE,
}


def present() -> dict[Path, str]:
    """Return the made files of the repository, by their paths."""
    found = {}
    for folder, mark in _FOLDERS.items():
        for path in (*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.ts")):
            text = path.read_text("utf-8")
            if text.startswith(mark):
                found[path] = text
    return found


def write(made: Mapping[Path, str]) -> None:
    """Make the repository's made files these."""
    for path in present():
        if path not in made:
            path.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
