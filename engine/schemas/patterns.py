"""The size of a schema's regular expressions, and the price of matching them. Nothing here compiles
them.

The size of a pattern counts all repetitions: `a{9}` counts as nine letters. The time and memory for
compiling a pattern grow with its size. One unit of the size takes at most a microsecond to compile.

A place of a pattern is an element that matches one character, such as `a` or `[0-9]`; `a{9}` has nine
places. In a hostile text, one character can match at several places of a pattern. The matcher takes
about 10 ns for each of these places.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from engine.core.pattern_index import Steps
from engine.schemas.places import objects_of

PATTERN_SIZE = 5_000  # of one pattern: some milliseconds to compile
PATTERNS_SIZE = 20_000  # of a schema's patterns together: one call that holds the loop for 20 ms
# The fixed costs of compiling a pattern (measured), in the unit of `pattern_size`. The library makes an
# automaton. It also lists the texts with which a match can begin, because matching starts with a search
# for these texts.
PREPARED = 30  # a pattern that must begin with `^`
TEXT = 6  # plain text, which needs no automaton
BEGINNINGS = 250  # a pattern whose match can begin anywhere
UNICODE_CLASS = (
    200  # each \p{...}, besides `UNICODE_SIZE`: the library reads the tables of all scripts
)
# The validator replaces each `\d`, `\w`, `\s` and `\c` by a class. After each replacement it reads the
# whole pattern again, so a pattern with 2,500 of these escapes took 3 s to compile. Reading READ_ANEW
# characters again costs one unit of `pattern_size`.
READ_ANEW = 16
UNICODE_SIZE = 100  # states of a class that spans scripts, such as \p{L} or a negated class
REPEAT = re.compile(r"\{(\d{1,9})(,(\d{0,9}))?\}")
CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ANCHORED = re.compile(r"\^(?![*+?{])")
_PLAIN_TEXT = re.compile(r"\^?[\w \-/:@,;=]*\$?")
_WRITTEN_OUT = dict.fromkeys("dDwWc", 10) | dict.fromkeys("sS", 100)  # characters of the class
_WIDE = re.compile(r"\\[pPDWS]|\[\^|[^\x00-\x7f]")
A_UNIT = 8  # characters that the matcher reads at one place in a tenth of a microsecond
_FLAGS = re.compile(r"\(\?[a-zA-Z-]*[a-zA-Z]")  # flags; with them `^` can mean every line
# Keywords whose subschemas apply to the value itself, or to its items.
_SAME = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_ITEMS = ("items", "prefixItems", "contains", "unevaluatedItems")


def pattern_size(pattern: str) -> int:
    """Estimate the number of states of a pattern's automaton, in linear time. For a malformed pattern the
    number has no meaning."""
    groups = [0]  # sizes of the open groups, the innermost last
    atom, at = 0, 0
    closes = True  # False after an unclosed class, behind which no class is closed
    while at < len(pattern):
        sign = pattern[at]
        if repeat := REPEAT.match(pattern, at):
            most = int(repeat[3] or 0) if repeat[2] else int(repeat[1])
            groups[-1] += atom * (max(most, int(repeat[1]) + 1 if repeat[2] else 1) - 1)
            at = repeat.end()
            continue
        if sign == "(":
            groups.append(0)
            atom, at = 0, at + 1
            continue
        if sign == ")" and len(groups) > 1:
            atom, at = groups.pop() + 1, at + 1
        elif sign == "[" and closes:
            found = CLASS.match(pattern, at)
            if found is None:
                closes = False  # or each of a thousand brackets would be searched to the end
                continue
            atom, at = UNICODE_SIZE if _WIDE.search(found[0]) else 4, found.end()
        elif sign == "\\":
            atom = UNICODE_SIZE if pattern[at + 1 : at + 2] in tuple("pPDWS") else 2
            at += 2
        else:
            atom, at = 8 if sign == "." else 1, at + 1
        groups[-1] += atom
    return sum(groups)


def compiling_size(pattern: str) -> int:
    """Return the cost of compiling a pattern, in units of `pattern_size`."""
    if _PLAIN_TEXT.fullmatch(pattern) is not None and pattern.isascii():
        return pattern_size(pattern) + TEXT
    escapes = _ESCAPE.findall(pattern)
    written = [_WRITTEN_OUT[each] for each in escapes if each in _WRITTEN_OUT]
    read = len(pattern) + pattern.count("(") + sum(written) // 2
    prepared = BEGINNINGS
    if _ANCHORED.match(pattern) is not None and not _elements(pattern)[2]:
        prepared = PREPARED
    scripts = escapes.count("p") + escapes.count("P")
    return (
        pattern_size(pattern)
        + prepared
        + scripts * UNICODE_CLASS
        + len(written) * read // READ_ANEW
    )


def patterns_of(schema: Any, steps: Steps | None = None) -> Iterator[str]:
    """Yield every text of a schema that can be a pattern, even a member `pattern` within an `enum`."""
    for value in objects_of(schema, steps):
        if isinstance(pattern := value.get("pattern"), str):
            yield pattern
        if isinstance(named := value.get("patternProperties"), dict):
            yield from named


class TextPrices(Struct, frozen=True):
    rate: int  # places of patterns for each character
    names: frozenset[str] | None  # the members whose texts are matched; None: all text


def alive(pattern: str) -> int:
    """Return the largest number of a pattern's places at which a single character of a text can match.

    A place is the part of a pattern that matches one character: a letter, an escape or a class. `[ab]x`
    has two places, and `x{5}` has five.

    If the pattern begins with `^` (without a quantifier), and has no flags and no alternatives outside of
    groups, every match begins at the text's first character. The places before the first element of
    variable length then do not count: the n-th of these places can match only the text's n-th character,
    and this character can match at no other place. The first element of variable length counts as one
    place, unless it is a group. For example, `x{2,5}` in `^ax{2,5}` always begins at the second
    character. So the second character can match only at the first place of `x{2,5}`, the third only at
    the second place, and so on. For a malformed pattern, the result has no meaning.
    """
    anchored = pattern.startswith("^") and pattern[1:2] not in tuple("*+?{")
    if not anchored or _FLAGS.search(pattern) is not None:
        return _elements(pattern)[0]
    places, before, alternatives = _elements(pattern[1:])
    return places if alternatives else max(1, places - before)


def _elements(pattern: str) -> tuple[int, int, bool]:
    """Return three values for a pattern: the number of its places (see `alive`), the number of places
    that `alive` leaves out if a `^` precedes the pattern, and True if the pattern has alternatives
    outside of groups. If the third value is True, `alive` ignores the second value."""
    # The groups that are open at `at`, the innermost group last. When a group is opened, its entry keeps
    # the values that `places` and `varies` have so far in the enclosing group. The two variables then
    # begin anew for the opened group.
    groups: list[tuple[int, bool]] = []
    places, varies, alternatives = 0, False, False
    before: int | None = None
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        atom, atom_varies, group = 1, False, False
        if sign == "(":
            groups.append((places, varies))
            places, varies, at = 0, False, at + 1
            continue
        if sign == "|":
            varies, alternatives = True, alternatives or not groups
            at += 1
            continue
        if sign == ")" and groups:
            atom, atom_varies, group = places, varies, True
            places, varies = groups.pop()
            at += 1
        elif sign == "[" and (found := CLASS.match(pattern, at)):
            at = found.end()
        else:
            at += 2 if sign == "\\" else 1
        most, repeats, at = _repeated(pattern, at)
        if (atom_varies or repeats) and not groups and before is None:
            # This is the first element of variable length. `before` is the number of places that `alive`
            # leaves out after a `^`: the pattern's places before this element and, unless the element is
            # a group, all but one of the element's own `most` places.
            before = places if group else places + most - 1
        varies = varies or atom_varies or repeats
        places += atom * most
    while groups:
        outer, _ = groups.pop()
        places += outer
    return places, places if before is None else before, alternatives


def _repeated(pattern: str, at: int) -> tuple[int, bool, int]:
    """Read the quantifiers, such as `*` or `{2,5}`, that begin at `at`. Return the factor by which they
    multiply the number of places (see `alive`) of the element before them, True if the number of
    repetitions can vary, and the position after the quantifiers. The factor of `{2,5}` is 5, and of
    `{2}{3}` 6. The factor of `*` is 1, because all repetitions use the same places. The factor of `{2,}`
    is 3, because `a{2,}` has the places of `aaa*`."""
    most, varies = 1, False
    while at < len(pattern):
        if pattern[at] in "*+?":
            varies, at = True, at + 1
        elif repeat := REPEAT.match(pattern, at):
            least, open_, last = int(repeat[1]), repeat[2], repeat[3]
            most *= max(1, int(last) if last else least + bool(open_))
            varies, at = varies or bool(open_), repeat.end()
        else:
            break
    return most, varies, at


def text_prices(schema: Any, weight: int, steps: Steps | None = None) -> TextPrices:
    """Return the prices of a valid schema of weight `weight`."""
    steps = steps or Steps()
    found: list[
        tuple[str, str | None]
    ] = []  # patterns with the name of the member that they are for
    refers = again = False
    waiting: list[tuple[Any, str | None]] = [(schema, None)]
    while waiting:
        value, name = waiting.pop()
        steps.spend(1)
        if isinstance(value, list):
            waiting += ((each, name) for each in value)
        if not isinstance(value, dict):
            continue
        refers = refers or "$ref" in value or "$dynamicRef" in value
        again = again or "unevaluatedProperties" in value or "unevaluatedItems" in value
        if isinstance(pattern := value.get("pattern"), str):
            found.append((pattern, name))
        if isinstance(named := value.get("patternProperties"), dict):
            found += ((each, None) for each in named)
        for keyword, inner in value.items():
            if keyword == "properties" and isinstance(inner, dict):
                waiting += ((each, key) for key, each in inner.items())
            elif keyword == "dependentSchemas" and isinstance(inner, dict):
                waiting += ((each, name) for each in inner.values())
            else:
                waiting.append((inner, name if keyword in _SAME or keyword in _ITEMS else None))
    if not found:
        return TextPrices(0, frozenset())
    # Each application of `pattern` to a value adds at least 2 + pattern_size // 16 units to the schema's
    # weight (see `engine.schemas.weight`). For each pattern, the loop divides the number of places that
    # `alive` returns by these units. `dearest` is the largest quotient. All applications of patterns to
    # one value add at most `weight` units together. So one character of a text can match at no more than
    # `weight` * `dearest` places. A pattern of `patternProperties` can add one unit less. So a character
    # of a name can match at up to twice as many places.
    places, dearest = 0, 0.0
    for pattern, _ in found:
        steps.spend(1 + len(pattern))
        some = alive(pattern)
        places += some
        dearest = max(dearest, some / (2 + pattern_size(pattern) // 16))
    rate = max(1, int(dearest * weight))
    names = frozenset(name for _, name in found if name is not None)
    if refers:
        return TextPrices(rate, None)
    once = places * (2 if again else 1)
    every = len(names) == 0 or any(name is None for _, name in found)
    return TextPrices(min(rate, once), None if every else names)


def text_price(payload: bytes, value: Any, asked: TextPrices, most: int) -> int:
    """Return the price of a payload's text: the CPU time for matching a schema's patterns against it. The
    unit is that of the schema's weight, a tenth of a microsecond."""
    price = len(payload) * asked.rate // A_UNIT
    names = asked.names
    if price <= most or names is None:
        return price
    characters = 0
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        each, matched = waiting.pop()
        if isinstance(each, dict):
            waiting += ((inner, name in names) for name, inner in each.items())
        elif isinstance(each, list):
            waiting += ((inner, matched) for inner in each)
        elif matched and isinstance(each, str):
            characters += len(each) if each.isascii() else len(each.encode(errors="replace"))
    return characters * asked.rate // A_UNIT
