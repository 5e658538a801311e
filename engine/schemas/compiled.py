"""A compiled schema: it checks payloads, within a bound on the work of one event.

The library `jsonschema_rs` validates. This module bounds its work, and words the errors.
"""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema_rs
import msgspec

from engine.core.pattern_index import Steps
from engine.model.documents import MAX_DETAILS, invalid, place, refused
from engine.model.errors import Detail, Refusal
from engine.model.json_members import deepest, without_surrogates
from engine.runtime.slices import no_pause
from engine.schemas.numbers import Prices, long_divisors, may_hold_long, named_in, price, prices
from engine.schemas.outline import outline
from engine.schemas.patterns import (
    PATTERN_SIZE,
    PATTERNS_SIZE,
    compiling_size,
    patterns_of,
    text_price,
    text_prices,
)
from engine.schemas.places import DIALECT, objects_of, read_places
from engine.schemas.weight import weigh

SCHEMA_BYTES = 64 * 1024
# The limit on the work of checking one event, in the unit of `engine.schemas.weight`. In the worst case
# that was measured, the check took 12 ms. Listing the errors took another 12 to 24 ms.
MAX_WORK = 200_000
# Listing all errors of a large event takes seconds. With `anyOf` or `oneOf`, even one error can take
# seconds: it contains the errors of all alternatives, at every level.
ALL_ERRORS_WORK = 5_000  # up to this work, all errors of the outline are listed
ALTERNATIVES_WORK = 8_000  # if work * depth is at most this, all errors of the schema are listed
ERRORS_A_NUMBER = 20  # how often a long number is compared and shown when errors are listed
EACH = 0  # stands for the number of an object's names, each of which can violate `propertyNames`
BYTES_A_UNIT = 32  # bytes of text that cost as much as one value
# The check of a large payload is divided into steps, each of which takes milliseconds at worst. A payload
# is large if it has at least STEPS_BYTES, or if matching its text against the schema's patterns costs
# more than STEPS_WORK.
STEPS_BYTES = 16 * 1024
STEPS_WORK = 20_000
MESSAGE_LENGTH = 240
PATH_LENGTH = 512
LONG_DIVISORS = 500  # of one schema: each takes up to 20 us to compile
_OF_SCHEMAS = Prices(each=40, unique=4, divides=False)  # under the meta-schema, with its error
_REGEX_BYTES = 1 << 20  # the limit of a compiled pattern, and of its matcher's cache
# Finds a float with more digits than a binary float holds. The pattern begins at the dot, which is rare,
# so the search is quick.
_LONG_NUMBER = re.compile(rb"\.(?:\d{18}|(?<=\d{17}\.))")
# msgspec takes 13 us to decode a very large or very small float, such as 1e300. This is a thousand times
# as long as for other floats.
_EXPONENTS_BYTES = 4 * 1024
_LARGE_EXPONENT = re.compile(rb"[eE][+-]?0*[23]\d\d")
_LONG_INTEGER = 4_000  # digits; the interpreter refuses to make an int of more
_decode = msgspec.json.Decoder().decode
# The format `regex` is not checked, because the library's check would compile the payload's string.
_FORMATS = {"regex": lambda _: True}


def judged(schema: Any, pause: Callable[[], None] = no_pause) -> tuple["CompiledSchema", int]:
    """Return a compiled schema and its weight. Raises Refusal 400 for a schema that cannot be used.

    The work is divided into steps of some milliseconds. `pause` is called between two steps.
    """
    if not isinstance(schema, dict | bool):
        raise invalid("schema", "must be an object or a boolean")
    if isinstance(schema, dict):
        dialect = schema.get("$schema", DIALECT)
        if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
            raise invalid("schema.$schema", f"must be {DIALECT}")
    bound_compiling(schema, pause)
    _meet_meta_schema(schema)
    pause()
    steps = Steps(pause)
    weight = weigh(read_places(schema, steps), steps)
    pause()
    return CompiledSchema(schema, weight, pause), weight


def bound_compiling(schema: Any, pause: Callable[[], None] = no_pause) -> None:
    """Raise Refusal 400 if a schema is expensive to compile, or to check against the meta-schema."""
    total, steps = 0, Steps(pause)
    for pattern in patterns_of(schema, steps):
        steps.spend(1 + len(pattern))
        size = compiling_size(pattern)
        total += size
        if size > PATTERN_SIZE:
            raise invalid("schema", f"a pattern takes too long to compile: {pattern[:80]}")
        if total > PATTERNS_SIZE:
            raise invalid(
                "schema",
                "its patterns take too long to compile together: have fewer, or let them begin with ^",
            )
    pause()
    # The items of some lists in a schema, such as `required`, must be unique. The check against the
    # meta-schema compares all items of such a list, even items of a wrong type. For a `required` with
    # 2,700 long numbers instead of names, the check took 2 s.
    if price(named_in(schema, steps), _OF_SCHEMAS, MAX_WORK) > MAX_WORK:
        raise invalid("schema", "has too many long numbers")
    pause()
    if long_divisors(schema, steps) > LONG_DIVISORS:
        raise invalid("schema", f"more than {LONG_DIVISORS} `multipleOf` with a large exponent")
    pause()


def _meet_meta_schema(schema: Any) -> None:
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as error:
        raise invalid(_path("schema", error.instance_path), _cut(error.message)) from None
    except ValueError as error:
        raise invalid("schema", _cut(str(error))) from None


class CompiledSchema:
    """The checker of payloads against one schema. Raises Refusal 400 for an unusable schema."""

    __slots__ = (
        "_free_bytes",
        "_names",
        "_outline",
        "_prices",
        "_schema",
        "_texts",
        "_validator",
        "weight",
    )

    def __init__(self, schema: Any, weight: int, pause: Callable[[], None] = no_pause) -> None:
        self.weight = max(weight, 1)
        # In JSON, each value takes at least two bytes, so a small payload has few values. The work for a
        # payload of at most `_free_bytes` cannot exceed MAX_WORK.
        self._free_bytes = MAX_WORK * BYTES_A_UNIT // ((BYTES_A_UNIT // 2 + 1) * self.weight)
        self._schema = schema
        self._prices: Prices = prices(schema, self.weight, Steps(pause))
        pause()
        self._texts = text_prices(schema, self.weight, Steps(pause))
        pause()
        self._names = _names_complained_of(schema, Steps(pause))
        pause()
        self._validator = _validator(schema)
        self._outline: jsonschema_rs.Draft202012Validator | None = None

    def check(self, payload: bytes, pause: Callable[[], None] = no_pause) -> None:
        """Raise Refusal `schema_violation` if a payload (JSON as received) does not conform.

        `pause` is called between the steps of a large payload's check.
        """
        large = len(payload) >= STEPS_BYTES
        if len(payload) > self._free_bytes and self._work(payload) > MAX_WORK:
            raise _too_much("values")
        value, exact = _read(payload)
        if large:
            pause()
        long_numbers = self._long_numbers(payload, value, exact=exact)
        if long_numbers > MAX_WORK:
            raise _too_much("long numbers")
        text = text_price(payload, value, self._texts, MAX_WORK)
        if text > MAX_WORK:
            raise _too_much("characters")
        large = large or text > STEPS_WORK
        if not self._validator.is_valid(value):
            if large:
                pause()
            raise self._violation(value, payload, long_numbers, "payload")

    def check_example(self, example: Any) -> None:
        """Raise Refusal 400 if an example does not conform."""
        text = json.dumps(example).encode()
        if self._work(text) > MAX_WORK:
            raise invalid("example", "has too many values for its schema")
        long_numbers = self._long_numbers(text, example, exact=False)
        if long_numbers > MAX_WORK:
            raise invalid("example", "has too many long numbers for its schema")
        if text_price(text, example, self._texts, MAX_WORK) > MAX_WORK:
            raise invalid("example", "has too much text for the patterns of its schema")
        if not self._validator.is_valid(example):
            violation = self._violation(example, text, long_numbers, "example")
            raise Refusal("invalid_request", violation.message, violation.details)

    def _long_numbers(self, payload: bytes, value: Any, *, exact: bool) -> float:
        if not (exact or self._prices.divides or may_hold_long(payload)):
            return 0.0
        return price(value, self._prices, MAX_WORK)

    def _work(self, payload: bytes) -> int:
        values = payload.count(b",") + payload.count(b"{") + payload.count(b"[") + 1
        return (values + len(payload) // BYTES_A_UNIT) * self.weight

    def _violation(self, value: Any, payload: bytes, long_numbers: float, name: str) -> Refusal:
        try:
            errors = self._errors(value, payload, long_numbers)
        except ValueError:
            # The validator can check an extremely long number, but cannot return it in an error.
            errors = []
        details = tuple(_detail(name, each) for each in errors[:MAX_DETAILS])
        if not details:
            details = (Detail(name, "does not conform; it holds too much to say where"),)
        return refused(details, "schema_violation")

    def _errors(
        self, value: Any, payload: bytes, long_numbers: float
    ) -> list[jsonschema_rs.ValidationError]:
        """Return the errors that can be listed in milliseconds: all errors, or all errors of the schema's
        outline (see `engine.schemas.outline`), or only the outline's first error."""
        work = self._work(payload)
        names = work // self.weight if self._names == EACH else self._names
        work = work * names + int(long_numbers) * ERRORS_A_NUMBER
        if work <= ALTERNATIVES_WORK and work * deepest(payload) <= ALTERNATIVES_WORK:
            return list(self._validator.iter_errors(value))
        if self._outline is None:
            self._outline = _outlined(self._schema)
        if work <= ALL_ERRORS_WORK:
            return list(self._outline.iter_errors(value))
        try:
            self._outline.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


def _names_complained_of(schema: Any, steps: Steps) -> int:
    """Return the largest number of errors that missing and wrong names of one object's members can cause.
    Each of these errors contains the whole object.

    Each missing member of a `required` is an error, so the number is the length of the longest
    `required`. With a `propertyNames`, each member of an object can be an error, so the number has no
    limit. In this case, return the marker `EACH`.
    """
    most = 1
    for value in objects_of(schema, steps):
        if "propertyNames" in value:
            return EACH
        required = value.get("required")
        if isinstance(required, list):
            most = max(most, len(required))
    return most


def _outlined(schema: Any) -> jsonschema_rs.Draft202012Validator:
    try:
        return _validator(outline(schema))
    except Refusal:  # a reference leads to a part that the outline leaves out
        return _validator(True)


def _validator(schema: Any) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            # With any custom format, every check of a payload is slower.
            formats=_FORMATS if '"regex"' in json.dumps(schema) else None,
            validate_formats=True,
            retriever=_refuse_retrieval,
            pattern_options=jsonschema_rs.RegexOptions(
                size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
            ),
        )
    except jsonschema_rs.ValidationError as error:
        raise invalid(_path("schema", error.instance_path), _cut(error.message)) from None
    except ValueError as error:
        raise invalid("schema", _cut(str(error))) from None


def decode(payload: bytes) -> Any:
    """Return well-formed JSON as values that a schema can check. If an object repeats a name, the last
    value counts."""
    return _read(payload)[0]


def _read(payload: bytes) -> tuple[Any, bool]:
    """Return the values, and whether the exact decoder made them."""
    if len(payload) >= _EXPONENTS_BYTES and _LARGE_EXPONENT.search(payload) is not None:
        return _exact(payload), True
    try:
        value = _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _exact(payload), True
    # b"." first: that search is nearly free
    if b"." in payload and _LONG_NUMBER.search(payload) is not None:
        return _exact(payload), True
    return value, False


def _too_much(what: str) -> Refusal:
    return Refusal(
        "schema_violation",
        f"the payload has too many {what} for a schema as complex as its type's",
        (Detail("payload", f"has too many {what} for its schema"),),
    )


def _refuse_retrieval(uri: str) -> Any:
    raise ValueError(f"{uri} is another document, which is never fetched")


def _detail(name: str, error: jsonschema_rs.ValidationError) -> Detail:
    return Detail(_path(name, error.instance_path), _cut(error.message))


def _path(name: str, steps: list[str | int]) -> str:
    return place(name, steps)[:PATH_LENGTH]


def _cut(message: str) -> str:
    return message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 3] + "..."


def _exact(payload: bytes) -> Any:
    """Return the decoded JSON of a payload. Numbers keep all their digits. A lone surrogate becomes
    U+FFFD."""
    text = (without_surrogates(payload, b"\\ufffd") if b"\\u" in payload else payload).decode()
    return json.loads(text, parse_int=_integer, parse_float=Decimal)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < _LONG_INTEGER else Decimal(digits)
