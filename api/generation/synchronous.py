"""The synchronous client, made of the asynchronous one: the same code without `async` and `await`."""

import re
from collections.abc import Mapping
from pathlib import Path

from api.generation.text import MADE, formatted

# Whole words, in this order.
_REPLACEMENTS = [
    (r"angarium\.aio", "angarium.sync"),
    (r"async (def|with|for) ", r"\1 "),
    (r"await ", ""),
    (r"Share it between tasks\.", "Safe to share between threads."),
    (r"The asynchronous client: ", "The synchronous client: "),
    (r"httpx\.Async(\w+)", r"httpx.\1"),
    (r"AsyncIterator", "Iterator"),
    (r"Async([A-Z]\w*)", r"\1"),
    (r"asleep", "sleep"),
    (r"async_transport", "sync_transport"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"aclose", "close"),
    (r"response\.a(read|iter_bytes)", r"response.\1"),
]


def synchronous(package: Path, made: Mapping[Path, str]) -> dict[Path, str]:
    """Return the text of each module of `angarium/sync`. `made` are modules of `angarium/aio` that are
    not written yet."""
    source, target = package / "aio", package / "sync"
    present = {*source.glob("*.py"), *(path for path in made if path.is_relative_to(source))}
    texts = {
        target / path.relative_to(source): made.get(path) or path.read_text("utf-8")
        for path in sorted(present)
    }
    return {path: formatted(_without_await(text), path) for path, text in texts.items()}


def _without_await(text: str) -> str:
    for pattern, replacement in _REPLACEMENTS:
        text = re.sub(rf"(?<!\w){pattern}", replacement, text)
    return MADE + text.removeprefix(MADE)
