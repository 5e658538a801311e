"""Regular expressions of `matches`: RE2's language, with bounds on compiling and on matching.

The library compiles an expression again at each evaluation. In the library, `\\w` matches all letters of
Unicode, and its compilation takes 250 us. In RE2, the language that CEL prescribes, `\\w` means
`[0-9A-Za-z_]`. This module replaces `\\w` by `[0-9A-Za-z_]`, whose compilation takes almost no time.
"""

import re

from engine.filters.library import cel
from engine.filters.syntax import FilterError

LENGTH = 256
# A pattern of this weight compiles in some 300 us. A character weighs 1. A class weighs _CLASS_WEIGHT. A
# dot or a negated class weighs _DOT_WEIGHT. A repetition multiplies the weight of the repeated element.
WEIGHT = 500
TEXT = 4096  # characters of a text that can be matched
_CLASSES = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_ESCAPED = re.compile(r"\\(x\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_REPEAT = re.compile(r"\{(\d{1,4})(?:,(\d{0,4}))?\}", re.ASCII)
_GROUP = re.compile(r"\(\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?[:)])", re.ASCII)
_CLASS_WEIGHT, _DOT_WEIGHT = 3, 8  # a dot is any of UTF-8's sequences


def translated(source: str, at: int, pattern: str) -> str:
    """Return the pattern for the library. Raises FilterError."""
    if len(pattern) > LENGTH:
        raise FilterError(source, at, f"a pattern has at most {LENGTH} characters")
    try:
        written = _PatternReader(pattern).read()
    except ValueError as error:
        raise FilterError(source, at, f"pattern: {error}") from None
    try:
        cel.compile("''.matches(p)").execute({"p": written})
    except (ValueError, RuntimeError, TypeError):
        raise FilterError(source, at, "pattern: malformed regular expression") from None
    return written


class _PatternReader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._written: list[str] = []

    def read(self) -> str:
        weights = [0]  # the weights of the open groups
        last = 0  # the weight of the element that a repetition would repeat
        folded = "(?i" in self._pattern or re.search(r"\(\?[msU]+i", self._pattern) is not None
        pattern = self._pattern
        while self._at < len(pattern):
            character = pattern[self._at]
            if character == "(":
                weights.append(0)
                self._group()
                if self._written[-1].endswith(")"):  # only flags, such as (?i), and no open group
                    weights.pop()
                last = 0
                continue
            if character == ")":
                self._pass(1)
                last = weights.pop()
                if not weights:
                    raise ValueError("unexpected )")
                weights[-1] += last
            elif character in "*+?":
                self._pass(1)
                weights[-1] += last  # a repetition adds as many states as the element has
            elif character == "{":
                times = self._repetition()
                weights[-1] += last * max(0, times - 1)
            else:
                last = self._one(character)
                weights[-1] += last
            if sum(weights) * (2 if folded else 1) > WEIGHT:
                raise ValueError("too large, with its repetitions")
        if len(weights) != 1:
            raise ValueError("a group is not closed")
        return "".join(self._written)

    def _pass(self, length: int) -> None:
        self._written.append(self._pattern[self._at : self._at + length])
        self._at += length

    def _group(self) -> None:
        if not self._pattern.startswith("(?", self._at):
            self._pass(1)
            return
        match = _GROUP.match(self._pattern, self._at)
        if match is None:
            raise ValueError("this kind of group is unknown to RE2")
        self._pass(match.end() - self._at)

    def _repetition(self) -> int:
        match = _REPEAT.match(self._pattern, self._at)
        if match is None:
            raise ValueError("a { that is no repetition must be escaped")
        self._pass(match.end() - self._at)
        return max(int(match[1]), int(match[2] or 0)) + (match[2] == "")

    def _one(self, character: str) -> int:
        if character == "\\":
            return self._escape(within=False)
        if character == "[":
            return self._class()
        self._pass(1)
        return _DOT_WEIGHT if character == "." else 0 if character in "^$|" else 1

    def _escape(self, *, within: bool) -> int:
        match = _ESCAPED.match(self._pattern, self._at)
        if match is None:
            raise ValueError("a backslash at the end")
        what = match[1]
        if what in "dws":
            self._written.append(_CLASSES[what] if within else f"[{_CLASSES[what]}]")
        elif what in "DWS":
            self._written.append(f"[^{_CLASSES[what.lower()]}]")
        elif what == "b" and not within:
            self._written.append(r"(?-u:\b)")
        elif (
            what[0].isalnum()
            and what[0] != "x"
            and not (what in "afnrtv" or (what in "Az" and not within))
        ):
            raise ValueError(f"\\{what} is not supported")
        else:
            self._written.append(match[0])
        self._at = match.end()
        return _DOT_WEIGHT if what in "DWS" else _CLASS_WEIGHT if what in "dws" else 1

    def _class(self) -> int:
        self._pass(1)
        negated = self._pattern.startswith("^", self._at)
        if negated:
            self._pass(1)
        first = True
        pattern = self._pattern
        while True:
            if self._at >= len(pattern):
                raise ValueError("a class is not closed")
            character = pattern[self._at]
            if character == "]" and not first:
                self._pass(1)
                return _DOT_WEIGHT if negated else _CLASS_WEIGHT
            if character == "\\":
                self._escape(within=True)
            elif character == "[":
                # In RE2, a `[` within a class is a character, unless it begins a named class such as
                # [:alpha:]. In the library, which is written in Rust, this `[` would begin another
                # class. So it is escaped.
                end = pattern.find(":]", self._at)
                if pattern.startswith("[:", self._at) and end > 0:
                    self._pass(end + 2 - self._at)
                else:
                    self._written.append(r"\[")
                    self._at += 1
            elif character in "&~-" and pattern.startswith(character * 2, self._at):
                raise ValueError(f"{character * 2} within a class is not supported")
            elif character == "]":
                self._written.append(r"\]")
                self._at += 1
            else:
                self._pass(1)
            first = False
