"""How many rules with a filter one event type can meet: patterns are followed segment by segment."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

LOOKS = 5_000  # positions that are looked at, some 50 ms; past them the answer is yes, to be safe
_OWN = "angarium."


class _Pattern(NamedTuple):
    """`segments`, of which None is any; `tail`: at least one more follows."""

    rule: str
    segments: tuple[str | None, ...]
    tail: bool


def too_many_at_once(new: Iterable[str], others: Mapping[str, Iterable[str]], at_most: int) -> bool:
    """Whether some event type meets one of the `new` rule's patterns and, with it, more than `at_most`
    rules; of the `others` the patterns are given by rule."""
    for own in (False, True):
        mine = [_read("", each) for each in new if each.startswith(_OWN) is own]
        theirs = [
            _read(rule, each)
            for rule, patterns in others.items()
            for each in patterns
            if each.startswith(_OWN) is own
        ]
        search = _Search(at_most)
        if any(search.found([pattern, *theirs], 0) for pattern in mine):
            return True
    return False


def _read(rule: str, pattern: str) -> _Pattern:
    segments = pattern.split(".")
    tail = segments[-1] == "*"
    kept = segments[:-1] if tail else segments
    return _Pattern(rule, tuple(None if each == "*" else each for each in kept), tail)


class _Search:
    """A walk along event types, segment by segment; the first pattern is the new rule's."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._looks = LOOKS

    def found(self, live: list[_Pattern], depth: int) -> bool:
        """Whether a type that goes on from here, met by all that are `live`, meets too many rules."""
        if not _of_mine(live) or _rules(live) <= self._at_most:
            return False
        self._looks -= 1
        if self._looks < 0:
            return True
        ending = [
            each
            for each in live
            if (len(each.segments) < depth if each.tail else len(each.segments) == depth)
        ]
        if depth and _of_mine(ending) and _rules(ending) > self._at_most:
            return True
        going = [each for each in live if each.tail or len(each.segments) > depth]
        open_ = [each for each in going if len(each.segments) > depth]
        if not open_:  # all go on for ever
            return _of_mine(going) and _rules(going) > self._at_most
        literals = {each.segments[depth] for each in open_} - {None}
        for literal in (*sorted(each for each in literals if each is not None), None):
            following = [
                each
                for each in going
                if len(each.segments) <= depth or each.segments[depth] in (None, literal)
            ]
            if self.found(following, depth + 1):
                return True
        return False


def _of_mine(patterns: list[_Pattern]) -> bool:
    return any(each.rule == "" for each in patterns)


def _rules(patterns: list[_Pattern]) -> int:
    return len({each.rule for each in patterns})
