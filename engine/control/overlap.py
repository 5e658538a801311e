"""The search for an event type that too many rules match. Only rules with a filter count."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from engine.core.pattern_index import ANY, OWN, Steps, parts_of
from engine.runtime.slices import no_pause

VISITS = 500_000  # visits to patterns, some 100 ms; a longer search returns True, to be safe


class _SegmentPattern(NamedTuple):
    """One pattern of a rule, split into segments. The segment None matches any segment of an event type.
    If `tail` is True, one or more arbitrary segments must follow."""

    rule: str
    segments: tuple[str | None, ...]
    tail: bool


def too_many_at_once(
    new: Iterable[str],
    others: Mapping[str, Iterable[str]],
    at_most: int,
    pause: Callable[[], None] = no_pause,
) -> bool:
    """Return True if there is an event type that the new rule and at least `at_most` other rules match.
    Also return True if the search takes too long.

    `new` has the patterns of the new rule, `others` the patterns of each other rule by its id.
    """
    steps = Steps(pause)
    for own in (False, True):
        mine = [_read("", each, steps) for each in new if each.startswith(OWN) is own]
        theirs = [
            _read(rule, each, steps)
            for rule, patterns in others.items()
            for each in patterns
            if each.startswith(OWN) is own
        ]
        if _Search(at_most, steps).found([*mine, *theirs], 0):
            return True
    return False


def _read(rule: str, pattern: str, steps: Steps) -> _SegmentPattern:
    parts, tail = parts_of(pattern)
    steps.spend(1 + len(parts))
    return _SegmentPattern(rule, tuple(None if each == ANY else each for each in parts), tail)


class _Search:
    """A search through event types, segment by segment. The new rule has no id yet; its patterns have the
    id ""."""

    def __init__(self, at_most: int, steps: Steps) -> None:
        self._at_most = at_most
        self._steps = steps
        self._visits = VISITS

    def found(self, live: list[_SegmentPattern], depth: int) -> bool:
        """Return True if too many rules match the same event type.

        The first `depth` segments of this event type are chosen already. `live` has the patterns that
        match these segments.
        """
        if not self._enough(live):
            return False
        self._visits -= len(live)
        if self._visits < 0:
            return True
        ending: list[_SegmentPattern] = []
        anyway: list[_SegmentPattern] = []  # match a type with one more segment, whatever it is
        by_literal: dict[str, list[_SegmentPattern]] = {}
        open_ = False
        for pattern in live:
            self._steps.spend(1)
            length = len(pattern.segments)
            if (length < depth) if pattern.tail else (length == depth):
                ending.append(pattern)
            if length > depth:
                open_ = True
                segment = pattern.segments[depth]
                if segment is not None:
                    by_literal.setdefault(segment, []).append(pattern)
                    continue
            if pattern.tail or length > depth:
                anyway.append(pattern)
        if depth and self._enough(ending):
            return True
        if not open_:  # the patterns left match every longer type, because each has a tail
            return self._enough(anyway)
        if any(self.found([*anyway, *group], depth + 1) for group in by_literal.values()):
            return True
        return self.found(anyway, depth + 1)

    def _enough(self, patterns: list[_SegmentPattern]) -> bool:
        if len(patterns) <= self._at_most:
            return False
        rules = {each.rule for each in patterns}
        return "" in rules and len(rules) > self._at_most
