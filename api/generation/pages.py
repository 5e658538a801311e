"""The generated module of `web`: the words of enumerations that pages offer as filters and choices."""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from api.generation.text import ROOT
from api.generation.typescript import MADE
from engine.core.vocabulary import (
    DeliveryOrigin,
    ErrorCategory,
    HttpMethod,
    JobKind,
    Priority,
    ReplayStatus,
)
from engine.schemas.records import SchemaStatus

LINE = 120  # as Biome formats `web`
FILE = ROOT / "web" / "shared" / "words.js"
OFFERED: Mapping[str, type[Enum]] = {
    "DELIVERY_ORIGINS": DeliveryOrigin,
    "ERROR_CATEGORIES": ErrorCategory,
    "HTTP_METHODS": HttpMethod,
    "JOB_KINDS": JobKind,
    "PRIORITIES": Priority,
    "REPLAY_STATUSES": ReplayStatus,
    "SCHEMA_STATUSES": SchemaStatus,
}


def page_files() -> dict[Path, str]:
    """Return the text of the generated file."""
    lists = [_list(name, tuple(kind.__members__)) for name, kind in OFFERED.items()]
    return {FILE: f"{MADE}/** The words of the API's enumerations. */\n\n" + "".join(lists)}


def _list(name: str, words: tuple[str, ...]) -> str:
    quoted = [f'"{word}"' for word in words]
    line = f"export const {name} = [{', '.join(quoted)}];\n"
    if len(line) <= LINE + 1:
        return line
    return f"export const {name} = [\n" + "".join(f"  {word},\n" for word in quoted) + "];\n"
