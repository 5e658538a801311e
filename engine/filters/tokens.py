"""The tokens of CEL source."""

import re

from msgspec import Struct

from engine.filters.syntax import FilterError

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|\d+)
    |(?P<text>(?:[rR][bB]?|[bB][rR]?)?(?:\"{3}|'{3}|\"|'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.ASCII,  # only ASCII digits are digits in CEL
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2})|(.?))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Token(Struct, frozen=True):
    """A token. `kind` is `float`, `uint`, `int`, `string`, `bytes`, `name`, `sign` or `end`. If `kind`
    is `string`, `text` is the string's value, without quotes and with escapes decoded. Otherwise, `text`
    is the token as written."""

    kind: str
    text: str
    position: int


def tokens(source: str) -> list[Token]:
    """Return the tokens of a source, the last one of kind `end`. Raises FilterError."""
    found: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise FilterError(source, at, f"unexpected {source[at]!r}")
        kind = match.lastgroup or ""
        end = match.end()
        if kind == "text":
            token, end = _string(source, at, match.group())
            found.append(token)
        elif kind != "space":
            if kind in ("int", "uint", "float") and source[end : end + 1].isidentifier():
                raise FilterError(source, at, "malformed number")
            found.append(Token(kind, match.group(), at))
        at = end
    found.append(Token("end", "", len(source)))
    return found


def _string(source: str, start: int, opening: str) -> tuple[Token, int]:
    prefix, quote = opening.rstrip("\"'").lower(), opening.lstrip("rRbB")
    begin = at = start + len(opening)
    while not source.startswith(quote, at):
        if at >= len(source) or (len(quote) == 1 and source[at] in "\r\n"):
            raise FilterError(source, start, "this string is not closed")
        at += 2 if source[at] == "\\" and "r" not in prefix else 1
    end = at + len(quote)
    if "b" in prefix:
        return Token("bytes", source[start:end], start), end
    text = source[begin:at]
    if "r" not in prefix and "\\" in text:
        text = _ESCAPE.sub(lambda match: _unescaped(source, begin, match), text)
    return Token("string", text, start), end


def _unescaped(source: str, begin: int, match: re.Match[str]) -> str:
    letter, two, four, eight, octal, _ = match.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    digits = two or four or eight
    code = int(digits, 16) if digits else int(octal, 8) if octal else -1
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise FilterError(source, begin + match.start(), "malformed escape")
    return chr(code)
