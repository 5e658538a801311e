"""A counter of the steps of a regular expression. Its matcher backtracks as Python's matcher does.

The time of a match depends on the computer. The number of steps depends only on the pattern and the text.
Python's matcher also has shortcuts, which save a constant factor. The counter leaves them out.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from re import _constants as codes  # the parsed form of patterns
from re import _parser as parser
from typing import Any

from msgspec import Struct

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
Then = Callable[[int], bool]
Match = Callable[[int, Then], bool]
ENDLESS = codes.MAXREPEAT
_SAMPLES = 4  # texts before a repetition. A repeated part has three times as many
_HEADS, _PUMPS = 5, 14
_LARGE = 1_000  # a repetition with this bound counts as unbounded
_LETTERS = 12
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    codes.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


class TooManyError(Exception):
    """The limit of steps was exceeded."""


class Steps:
    """Counts a pattern's steps over one text."""

    def __init__(self, pattern: re.Pattern[Any], text: str, most: int) -> None:
        self.count = 0
        self._end = -1
        self._text = text
        self._most = most
        self._folded = bool(pattern.flags & re.IGNORECASE)
        self._tree = _tree(pattern)
        self._taken: dict[tuple[int, str], bool] = {}  # by item of the tree, and character

    def whole(self) -> bool:
        """Match the whole text. Raises TooManyError."""
        return self._sequence(list(self._tree), 0, lambda at: at == len(self._text))

    def everywhere(self) -> None:
        """Search for all matches in the text, as `finditer` does, only to count the steps. Raises
        TooManyError."""
        at = 0
        while at <= len(self._text):
            self._end = -1
            self._sequence(list(self._tree), at, self._ended)
            at = max(self._end, at + 1)

    def _ended(self, at: int) -> bool:
        self._end = at
        return True

    def _step(self) -> None:
        self.count += 1
        if self.count > self._most:
            raise TooManyError

    def _sequence(self, items: Sequence[Any], at: int, then: Then) -> bool:
        if not items:
            return then(at)
        head, rest = items[0], items[1:]
        return self._one(head, at, lambda end: self._sequence(rest, end, then))

    def _one(self, item: Any, at: int, then: Then) -> bool:
        self._step()
        code, value = item
        if code in _SINGLE:
            return at < len(self._text) and self._takes(item, self._text[at]) and then(at + 1)
        if code is codes.SUBPATTERN:
            return self._sequence(list(value[3]), at, then)
        if code is codes.BRANCH:
            return any(self._sequence(list(branch), at, then) for branch in value[1])
        if code in _REPEATS:
            least, most, inner = value
            if len(inner) == 1 and inner[0][0] in _SINGLE:
                return self._stretch(inner[0], least, most, at, then)
            return self._repeat(list(inner), least, most, at, then, 0)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            direction, inner = value
            start = at if direction > 0 else at - inner.getwidth()[0]
            found = start >= 0 and self._sequence(list(inner), start, lambda _: True)
            return found is (code is codes.ASSERT) and then(at)
        if code is codes.AT:
            return self._stands(value, at) and then(at)
        raise NotImplementedError(code)

    def _stretch(self, item: Any, least: int, most: int, at: int, then: Then) -> bool:
        end = at
        while end < len(self._text) and end - at < most and self._takes(item, self._text[end]):
            self._step()
            end += 1
        while end - at >= least:
            self._step()
            if then(end):
                return True
            end -= 1
        return False

    def _repeat(
        self, items: list[Any], least: int, most: int, at: int, then: Then, done: int
    ) -> bool:
        def again(end: int) -> bool:
            return end > at and self._repeat(items, least, most, end, then, done + 1)

        if done < most and self._sequence(items, at, again):
            return True
        return done >= least and then(at)

    def _stands(self, where: Any, at: int) -> bool:
        if where in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
            return at == 0
        if where is codes.AT_END:
            return self._text[at:] in ("", "\n")
        if where is codes.AT_END_STRING:
            return at == len(self._text)
        raise NotImplementedError(where)

    def _takes(self, item: Any, character: str) -> bool:
        key = id(item), character
        found = self._taken.get(key)
        if found is None:
            cases = (character.lower(), character.upper()) if self._folded else (character,)
            found = self._taken[key] = any(_takes(item, each) for each in cases)
        return found


_SINGLE = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)


@cache
def _tree(pattern: re.Pattern[Any]) -> Any:
    return parser.parse(
        pattern.pattern, pattern.flags & ~re.UNICODE if _is_bytes(pattern) else pattern.flags
    )


def _is_bytes(pattern: re.Pattern[Any]) -> bool:
    return isinstance(pattern.pattern, bytes)


def _takes(item: Any, character: str) -> bool:
    code, value = item
    if code is codes.LITERAL:
        return bool(value == ord(character))
    if code is codes.NOT_LITERAL:
        return bool(value != ord(character))
    if code is codes.ANY:
        return True
    negated = value[0][0] is codes.NEGATE
    return negated is not any(_is_in(each, character) for each in value[negated:])


def _is_in(item: Any, character: str) -> bool:
    code, value = item
    if code is codes.LITERAL:
        return bool(value == ord(character))
    if code is codes.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return _CATEGORIES[value](character)


class Attack(Struct, frozen=True):
    """A text that makes a pattern backtrack: it contains the pattern's repeated part many times, and an
    end that the pattern does not match."""

    head: str
    pump: str
    end: str

    def text(self, length: int) -> str:
        return self.head + self.pump * (length // len(self.pump) + 1) + self.end


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    tree = _tree(pattern)
    letters = sorted(set(_letters(tree)))[:_LETTERS] or ["a"]
    pumps: dict[str, None] = {}
    heads: dict[str, None] = {"": None}
    for before, inner in _repeats(list(tree), [""], letters):
        heads.update(dict.fromkeys(before))
        pumps.update(dict.fromkeys([*inner, *before]))
    pumps.pop("", None)
    for head in list(heads)[:_HEADS]:
        for pump in list(pumps)[:_PUMPS]:
            yield from (Attack(head, pump, end) for end in ("", "\x00"))


def repeats_without_end(pattern: re.Pattern[Any]) -> int:
    """Return the number of repetitions in the pattern that are unbounded or have a large bound.

    A repetition of more than one character counts twice, because it can match the same text in many ways.
    If the returned number is 0 or 1, a match of the whole text backtracks over the text at most once.
    """
    return sum(_endless(_tree(pattern)))


def _endless(tree: Any) -> Iterator[int]:
    for code, value in tree:
        if code in _REPEATS:
            single = len(value[2]) == 1 and value[2][0][0] in _SINGLE
            yield (1 if single else 2) * (value[1] >= _LARGE)
            yield from _endless(value[2])
        elif code is codes.SUBPATTERN:
            yield from _endless(value[3])
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _endless(branch)


def _letters(tree: Any) -> Iterator[str]:
    for code, value in tree:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.IN:
            yield from (chr(each[1]) for each in value if each[0] is codes.LITERAL)
        elif code is codes.SUBPATTERN:
            yield from _letters(value[3])
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _letters(branch)
        elif code in _REPEATS:
            yield from _letters(value[2])


def _repeats(
    items: list[Any], before: list[str], letters: list[str]
) -> Iterator[tuple[list[str], list[str]]]:
    for item in items:
        code, value = item
        if code in _REPEATS:
            yield before, _samples(list(value[2]), letters)
            yield from _repeats(list(value[2]), before, letters)
        elif code is codes.SUBPATTERN:
            yield from _repeats(list(value[3]), before, letters)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repeats(list(branch), before, letters)
        before = [one + each for one in before for each in _samples([item], letters)][:_SAMPLES]


def _samples(items: list[Any], letters: list[str]) -> list[str]:
    found = [""]
    for code, value in items:
        if code in _SINGLE:
            each = _characters((code, value), letters)
        elif code is codes.SUBPATTERN:
            each = _samples(list(value[3]), letters)
        elif code is codes.BRANCH:
            each = [one for branch in value[1] for one in _samples(list(branch), letters)]
        elif code in _REPEATS:
            inner = _samples(list(value[2]), letters)
            each = [one * max(1, min(value[0], 40)) for one in inner]
            each = [*([""] if value[0] == 0 else []), *each]
        else:
            continue
        # Combine each text with each continuation. The texts with the first continuation come first. If
        # there are too many results, the last results are dropped.
        found = [one + more for more in each for one in found][: _SAMPLES * 3]
    return found


def _characters(item: Any, letters: list[str]) -> list[str]:
    """Characters of the pattern come first."""
    code, value = item
    if code is codes.LITERAL:
        return [chr(value)]
    some = [each for each in [*letters, "a", "0", " "] if _takes(item, each)]
    if code is codes.IN and not some:
        first = value[1] if value[0][0] is codes.NEGATE else value[0]
        some = [chr(first[1][0])] if first[0] is codes.RANGE else ["\u20ac"]
    return list(dict.fromkeys(some))
