"""The event types that a job's patterns match, among the types of a stretch of the log.

The database is asked for types and never for patterns: an expression of a hundred patterns took it half a
minute.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from engine.core.pattern_index import PatternIndex, Steps
from engine.runtime.slices import worked_off

INDEXES = 64  # kept of jobs that go on side by side, up to 50 KB each


async def named_among(patterns: tuple[str, ...], types: Sequence[str]) -> list[str]:
    """Return the `types` that a pattern matches. The work yields after each slice."""
    return await worked_off(partial(_named, patterns, types))


def _named(patterns: tuple[str, ...], types: Sequence[str], pause: Callable[[], None]) -> list[str]:
    index, steps = _index(patterns), Steps(pause)
    return [each for each in types if index.find(each, steps)]


@lru_cache(INDEXES)
def _index(patterns: tuple[str, ...]) -> PatternIndex[None]:
    index: PatternIndex[None] = PatternIndex()
    index.put("", patterns, None)
    return index
