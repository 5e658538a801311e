"""The API's error messages for invalid values, made from the errors of the decoders pydantic and
msgspec."""

import re
from collections.abc import Callable, Mapping
from typing import Any

REQUIRED = "is required"
UNKNOWN = "unknown field"
DATE_TIME = "must be a date-time with an offset, such as 2026-11-20T12:00:00.000Z"
_KINDS = {
    "str": "must be a string",
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "array": "must be an array",
    "object": "must be an object",
    "datetime": DATE_TIME,
    "null": "must be null",
}
_UUID = "[0-9a-fA-F]{12}$"  # the end of the pattern of ids
_FIXED = {
    "missing": REQUIRED,
    "extra_forbidden": UNKNOWN,
    "string_type": _KINDS["str"],
    "int_type": _KINDS["int"],
    "int_from_float": _KINDS["int"],
    "int_parsing": _KINDS["int"],
    "int_parsing_size": _KINDS["int"],
    "float_type": _KINDS["float"],
    "float_parsing": _KINDS["float"],
    "finite_number": "must be a finite number",
    "bool_type": _KINDS["bool"],
    "bool_parsing": _KINDS["bool"],
    "list_type": _KINDS["array"],
    "dict_type": _KINDS["object"],
    "model_type": _KINDS["object"],
    "model_attributes_type": _KINDS["object"],
    "none_required": _KINDS["null"],
}


def _count(number: Any, of: str) -> str:
    return f"{number} {of}" if number == 1 else f"{number} {of}s"


_BOUNDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_too_short": lambda c: f"must have at least {_count(c['min_length'], 'character')}",
    "string_too_long": lambda c: f"must have at most {_count(c['max_length'], 'character')}",
    "too_short": lambda c: f"must have at least {_count(c['min_length'], 'item')}",
    "too_long": lambda c: f"must have at most {_count(c['max_length'], 'item')}",
    "greater_than": lambda c: f"must be above {_number(c['gt'])}",
    "greater_than_equal": lambda c: f"must be at least {_number(c['ge'])}",
    "less_than": lambda c: f"must be below {_number(c['lt'])}",
    "less_than_equal": lambda c: f"must be at most {_number(c['le'])}",
    "literal_error": lambda c: _one_of(re.findall(r"'([^']*)'", str(c["expected"]))),
    "enum": lambda c: _one_of(re.findall(r"'([^']*)'", str(c["expected"]))),
    "string_pattern_mismatch": lambda c: _pattern(str(c["pattern"])),
}

_EXPECTED = re.compile(r"Expected `([a-z]+)(?: \| null)?`, got `.*`")
_LENGTH = re.compile(r"Expected `(\w+)` of length (>=|<=) (\d+)")
_BOUND = re.compile(r"Expected `\w+` (>=|<=|>|<) (\S+)")
_MATCHING = re.compile(r"Expected `str` matching regex '(.*)'", re.DOTALL)
_RELATIONS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}


def of_pydantic(kind: str, message: str, context: Mapping[str, Any]) -> str:
    """Return the API's words for an error of pydantic. `kind`, `message`, `context`: the error's `type`,
    `msg` and `ctx`."""
    if kind in _FIXED:
        return _FIXED[kind]
    if kind in _BOUNDS:
        return _BOUNDS[kind](context)
    return message.removeprefix("Value error, ")


def of_msgspec(message: str) -> str:
    """Return the API's words for an error message of msgspec. `message` must no longer contain the path
    that msgspec adds."""
    if message.startswith("Object missing required field"):
        return REQUIRED
    if message.startswith("Object contains unknown field"):
        return UNKNOWN
    if "datetime" in message:
        return DATE_TIME
    if found := _EXPECTED.fullmatch(message):
        return _KINDS.get(found[1], message)
    if found := _LENGTH.fullmatch(message):
        unit = "character" if found[1] == "str" else "item"
        return f"must have {_RELATIONS[found[2]]} {_count(int(found[3]), unit)}"
    if found := _BOUND.fullmatch(message):
        return f"must be {_RELATIONS[found[1]]} {_number(float(found[2]))}"
    if found := _MATCHING.fullmatch(message):
        return _pattern(found[1])
    return message


def malformed(message: str) -> str:
    """Return the words for a body that is not JSON."""
    if message == "Input data was truncated":
        return "the body is not valid JSON: it ends too early"
    return f"the body is not valid JSON: {message.removeprefix('JSON is malformed: ')}"


def _one_of(names: list[str]) -> str:
    return f"must be {'one of ' if len(names) > 1 else ''}{', '.join(names)}"


def _pattern(pattern: str) -> str:
    if pattern.endswith(_UUID):
        return "must be a UUID"
    if names := re.fullmatch(r"\^\(([\w|]+)\)\$", pattern):
        return _one_of(names[1].split("|"))
    return f"must match {pattern}"


def _number(value: Any) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
