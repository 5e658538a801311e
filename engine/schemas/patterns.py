"""How large a regular expression is once its repetitions are written out. Nothing here compiles one.

Compiling costs time and memory by that size, matching costs it for every byte at worst, and `.{1,9999}`
is nine characters long.
"""

import re
from collections.abc import Iterator
from typing import Any

from engine.schemas.walk import objects_of

PATTERN_SIZE = 5_000  # of one: some milliseconds to compile
PATTERNS_SIZE = 20_000  # of a schema's together
# The validator writes each `\d`, `\w`, `\s` and `\c` out, and reads the whole pattern anew each time: for
# 2,500 of them it took 3 s. So many characters that are read anew take as long as a state; measured.
READ_ANEW = 16
UNICODE_SIZE = 100  # of a class that spans scripts, such as \p{L} or a negated one
REPEAT = re.compile(r"\{(\d{1,9})(,(\d{0,9}))?\}")
CLASS = re.compile(r"\[\^?(?:\\.|[^\]\\])*\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_WRITTEN_OUT = dict.fromkeys("dDwWc", 10) | dict.fromkeys("sS", 70)  # to how many characters
_WIDE = re.compile(r"\\[pPDWS]|\[\^|[^\x00-\x7f]")


def pattern_size(pattern: str) -> int:
    """Return about how many states a pattern has. Linear in its text; what is malformed has some size."""
    groups = [0]  # sizes of the groups that are open, the innermost last
    atom, at = 0, 0
    closes = True  # whether a class may be closed; where one is not, none behind it is
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
                closes = False  # else each of a thousand would be sought to the end
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
    """Return the size of a pattern, and what it takes besides to write its escapes out."""
    written = [_WRITTEN_OUT[each] for each in _ESCAPE.findall(pattern) if each in _WRITTEN_OUT]
    read = len(pattern) + pattern.count("(") + sum(written) // 2
    return pattern_size(pattern) + len(written) * read // READ_ANEW


def patterns_of(schema: Any) -> Iterator[str]:
    """Yield everything in a document that could be a pattern, wherever it stands."""
    for value in objects_of(schema):
        if isinstance(pattern := value.get("pattern"), str):
            yield pattern
        if isinstance(named := value.get("patternProperties"), dict):
            yield from named
