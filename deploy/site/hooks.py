"""The hooks that MkDocs calls."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from deploy.site.reference import FOLDER, pages
from deploy.site.sources import ROOT, decisions, place, sources, with_lists

# Elements that load a file from another host. Plain links do not match.
_LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc(?:set)?=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*?href=[\"']?(?:https?:)?//[^\s\"'>]+"
)
_IMPORTS = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^\s\"')]+")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the decisions and the pages of the reference into the navigation."""
    listed: dict[str, list[Any]] = {
        "decisions": [*decisions()],
        "reference": [f"{FOLDER}/{name}.md" for name in pages()],
    }
    config.nav = [_filled(item, listed) for item in config.nav or ()]
    return config


def _filled(item: Any, listed: dict[str, list[Any]]) -> Any:
    if isinstance(item, dict):
        return {title: _filled(inner, listed) for title, inner in item.items()}
    if isinstance(item, list):
        return [_filled(inner, listed) for inner in item]
    return listed.get(item, item)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Return the repository's files, the reference, and the theme's files."""
    docs = ROOT / "docs"
    theme = [
        file
        for file in files
        if file.abs_src_path and not Path(file.abs_src_path).is_relative_to(docs)
    ]
    copied = [File.generated(config, name, abs_src_path=str(ROOT / name)) for name in sources()]
    made = [
        File.generated(config, f"{FOLDER}/{name}.md", content=text)
        for name, text in pages().items()
    ]
    return Files([*theme, *map(_at, (*copied, *made))])


def _at(file: File) -> File:
    file.dest_uri = place(file.src_uri)
    return file


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's text in the form that MkDocs reads."""
    return with_lists(markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Raises PluginError if the site loads anything from another host."""
    found = []
    for path in sorted(Path(config.site_dir).rglob("*")):
        pattern = {".html": _LOADS, ".css": _IMPORTS}.get(path.suffix)
        if pattern is not None:
            name = path.relative_to(config.site_dir)
            found += [f"{name}: {match[0]}" for match in pattern.finditer(path.read_text("utf-8"))]
    if found:
        raise PluginError("the site loads from other hosts:\n  " + "\n  ".join(found))
