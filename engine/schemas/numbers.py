"""The price (CPU time) of long numbers, which the validator keeps as texts: integers that a signed
integer of 64 bits cannot hold, and decimals with many digits or a large exponent.

Comparing two long numbers takes as long as comparing a hundred short ones. Prices are in the unit of a
schema's weight, a tenth of a microsecond. Every constant was measured, and rounded up.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from msgspec import Struct

from engine.core.pattern_index import Steps
from engine.schemas.places import objects_of, values_of

BASE = 15  # to convert a long number, and to tell whether it is an integer
COMPARED = 10  # to compare it with one bound, or one number of an `enum` or a `const`
DIVIDED = 300  # to divide it by a `multipleOf` that is no integer; both become fractions
# The price of a long number with d digits is 1 + d / DIGITS + d * d / SQUARE times the price of a long
# number with few digits.
DIGITS, SQUARE = 64, 20_000
# The price of comparing two numbers for `uniqueItems`, if each has d digits, is
# PAIR + d / PAIR_DIGITS + d * d / PAIR_SQUARE.
PAIR, PAIR_DIGITS, PAIR_SQUARE = 4.0, 10, 400
EXACT_DIGITS = 10_000  # from here on the validator compares the sizes of numbers, not their digits
SHORT_DIGITS = 17  # the digits of a fraction that a float holds
SHORT_EXPONENT = 18  # of ten: floats beyond 1e18 or below 1e-18 are divided as long numbers
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_NAMED = ("required", "type", "dependentRequired")
_MOST = 2**63  # from here on the validator keeps a number as text, also an unsigned one of 64 bits
# This table replaces every digit by 0. A fast search for _RUN then finds 19 digits in a row.
_RUNS = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))
_RUN = b"0" * 19  # the smallest long integer has 19 digits


class Prices(Struct, frozen=True):
    each: int  # the price of one long number of few digits
    unique: int  # how many times it is compared with all others
    divides: bool  # whether a float of a large or small exponent counts as long


def prices(schema: Any, weight: int, steps: Steps | None = None) -> Prices:
    """Return the prices of long numbers: the CPU time that they cost when a payload is checked against
    `schema`. `schema` is valid, and `weight` is its weight."""
    steps = steps or Steps()
    compared = divided = unique = refers = 0
    for each in objects_of(schema):  # an object that is no subschema can only raise the price
        steps.spend(2)  # some 0.7 us
        options = each.get("enum")
        numbers = _numbers(options) if isinstance(options, list) else 0
        if "const" in each:
            numbers += _numbers([each["const"]])
        compared += numbers + sum(keyword in each for keyword in _BOUNDS)
        divided += "multipleOf" in each
        unique += each.get("uniqueItems") is True
        refers += "$ref" in each or "$dynamicRef" in each
    units = BASE + COMPARED * compared + DIVIDED * divided
    # If the schema has references, the validator can apply one subschema to the same value up to `weight`
    # times. If the schema has no references, the validator applies a subschema to a value once, or twice
    # because of an `unevaluated...` keyword.
    times = weight if refers else min(weight, 2)
    return Prices(units * times, unique * times, bool(divided))


def named_in(schema: Any, steps: Steps | None = None) -> list[Any]:
    """Return the values of the keywords `required`, `type` and `dependentRequired` in a schema. These
    values contain lists. The check against the meta-schema compares the items of each list with each
    other, to find out whether they are unique."""
    found: list[Any] = []
    for each in objects_of(schema, steps):
        found += (each[keyword] for keyword in _NAMED if keyword in each)
    return found


def long_divisors(schema: Any, steps: Steps | None = None) -> int:
    """Return the number of `multipleOf` keywords whose value is a very large or very small float, such as
    1e300. Dividing by such a float costs as much as dividing by a long number."""
    divisors = (each.get("multipleOf") for each in objects_of(schema, steps))
    return sum(1 for each in divisors if isinstance(each, float) and next(_long(each, True), None))


def is_short(value: Any) -> bool:
    """Return True if the validator keeps a value as an integer."""
    return type(value) is int and -_MOST <= value < _MOST


def may_hold_long(payload: bytes) -> bool:
    """Return True if a payload has 19 digits in a row, and so perhaps a long integer."""
    return _RUN in payload.translate(_RUNS)


def price(value: Any, asked: Prices, most: int) -> float:
    """Return the price of a decoded payload's long numbers. Stop counting once it is above `most`."""
    total = 0.0
    # `uniqueItems` compares only numbers that round to the same float.
    alike: dict[float, tuple[int, float]] = {}
    for digits, rounded in _long(value, asked.divides):
        square = digits * digits if digits < EXACT_DIGITS else 0
        total += asked.each * (1 + digits // DIGITS + square / SQUARE)
        if asked.unique:
            number, price_of_one = alike.get(rounded, (0, 0.0))
            price_of_one = max(price_of_one, PAIR + digits / PAIR_DIGITS + square / PAIR_SQUARE)
            total += asked.unique * price_of_one * number
            alike[rounded] = (number + 1, price_of_one)
        if total > most:
            break
    return total


def _rounded(number: int | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _long(value: Any, divides: bool) -> Iterator[tuple[int, float]]:
    """For each long number in a value, yield the number of its digits, and the nearest float.

    If a number has an exponent below EXACT_DIGITS, its digits are counted as if it were written without
    the exponent: 1e400 has about 400 digits. If the exponent is larger, only the digits before the
    exponent are counted. If `divides` is set, very large and very small floats are also long numbers.
    """
    waiting = [value]
    while waiting:
        each = waiting.pop()
        kind = type(each)
        if kind is dict:
            waiting += each.values()
        elif kind is list:
            waiting += each
        elif kind is int:
            if not -_MOST <= each < _MOST:
                yield each.bit_length() * 3 // 10, _rounded(each)
        elif kind is float:
            if divides and each and not 10.0**-SHORT_EXPONENT < abs(each) < 10.0**SHORT_EXPONENT:
                yield SHORT_EXPONENT, each
        elif kind is Decimal:
            digits, exponent = len(each.as_tuple().digits), abs(each.adjusted())
            if digits > SHORT_DIGITS or exponent > SHORT_EXPONENT:
                written = digits + exponent if exponent < EXACT_DIGITS else digits
                yield written, _rounded(each)


def _numbers(values: list[Any]) -> int:
    return sum(
        isinstance(value, int | float) and not isinstance(value, bool)
        for value in values_of(values)
    )
