"""The sources of the site.

For MkDocs, a file keeps its path in the repository, so that links work in the repository and on the site.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "bench/README.md",
    "clients/python/README.md",
    "clients/typescript/README.md",
)
DOCS = "docs"
_ITEM = re.compile(r"([-*]|\d+\.) ")
_LINK = re.compile(r"\]\(([^)#:\s]+)[^)]*\)")


def sources() -> list[str]:
    """Return the paths of pages, images, and other files that pages link to."""
    found = [*OUTSIDE]
    found += [named(path) for path in sorted((ROOT / DOCS).rglob("*")) if path.is_file()]
    linked = {
        target
        for page in found
        if page.endswith(".md")
        for target in _linked(page)
        if target not in found
    }
    return [*found, *sorted(linked)]


def decisions() -> list[str]:
    """Return the pages of decisions, in order."""
    folder = ROOT / DOCS / "decisions"
    return [named(folder / "README.md"), *map(named, sorted(folder.glob("[0-9]*.md")))]


def place(source: str) -> str:
    """Return the path of a source on the site: `api/index.html` for `docs/api/README.md`."""
    path = PurePosixPath(source.removeprefix(f"{DOCS}/"))
    if path.suffix != ".md":
        return str(path)
    if path.stem.lower() in {"readme", "index"}:
        return str(path.with_name("index.html"))
    return str(path.with_suffix("") / "index.html").lower()


def slug(title: str, _separator: str) -> str:
    """Return the anchor of a headline, as repository hosts make it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def with_lists(text: str) -> str:
    """Return Markdown with an empty line before each list, which MkDocs needs."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        above = lines[-1] if lines else ""
        begins = _ITEM.match(line) and not _ITEM.match(above) and not above.startswith(" ")
        lines += [""] if begins and above and not fenced else []
        lines.append(line)
    return "\n".join(lines)


def named(path: Path) -> str:
    """Return the path of a file in the repository."""
    return path.relative_to(ROOT).as_posix()


def _linked(page: str) -> Iterator[str]:
    """Yield files other than pages."""
    folder = (ROOT / page).parent
    for target in _LINK.findall((ROOT / page).read_text("utf-8")):
        path = (folder / target).resolve()
        if path.is_file() and path.suffix != ".md" and path.is_relative_to(ROOT):
            yield named(path)
