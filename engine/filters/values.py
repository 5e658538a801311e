"""Equality, order and arithmetic by the rules of CEL, for the values that JSON has.

The rules differ from Python's. In CEL, 1 does not equal true, a quotient of integers is rounded towards
zero, and an integer is converted to a double before it is compared with a double.

Nothing here takes more than linear time. Work that grows with lists, maps or the length of searched and
copied texts spends steps of the evaluation (`engine.filters.scope.STEPS`).
"""

import math
from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any

from engine.filters.scope import Facts
from engine.filters.syntax import NO_OVERLOAD, EvaluationError

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
CHARACTERS = 64  # copied or searched in one step


def equal(left: Any, right: Any, facts: Facts) -> bool:
    """Return True if two values are equal; values of different kinds are not."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is list:
            if len(left) != len(right):
                return False
            facts.spend(len(left))
            return all(equal(a, b, facts) for a, b in zip(left, right, strict=True))
        if kind is dict:
            if len(left) != len(right):
                return False
            facts.spend(len(left))
            return all(key in right and equal(a, right[key], facts) for key, a in left.items())
        return bool(left == right)
    if kind is int and other is float:
        return bool(float(left) == right)
    if kind is float and other is int:
        return bool(left == float(right))
    return False


def ordered(left: Any, right: Any) -> tuple[Any, Any]:
    """Return `left` and `right`, the operands of `<`, `<=`, `>` or `>=`, ready to be compared: if one of
    them is a float, both are converted to floats. Raises EvaluationError if they have no order."""
    kind, other = type(left), type(right)
    if kind is other and kind in (int, str, bool):
        return left, right
    if (kind is float and other in (int, float)) or (kind is int and other is float):
        one, two = float(left), float(right)
        if one == one and two == two:  # NaN has no order
            return one, two
    raise EvaluationError(NO_OVERLOAD)


ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}  # on operands that `ordered` returned


def contained(value: Any, among: Any, facts: Facts) -> bool:
    """`value in among`: an element of a list, or a key of a map."""
    if type(among) is list:
        facts.spend(len(among))
        return any(equal(value, each, facts) for each in among)
    if type(among) is dict:
        if type(value) is str:
            return value in among
        if type(value) in (int, bool):
            return False
    raise EvaluationError(NO_OVERLOAD)


def add(left: Any, right: Any, facts: Facts) -> Any:
    """`left + right`: of numbers, texts or lists."""
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return _int(left, right, left + right)
        if kind is float:
            return left + right
        if kind is str:
            facts.spend((len(left) + len(right)) // CHARACTERS)
            return left + right
        if kind is list:
            facts.spend(len(left) + len(right))
            return left + right
    raise EvaluationError(NO_OVERLOAD)


def subtract(left: Any, right: Any, facts: Facts) -> Any:
    """`left - right`."""
    kind = _number(left, right)
    return _int(left, right, left - right) if kind is int else left - right


def multiply(left: Any, right: Any, facts: Facts) -> Any:
    """`left * right`."""
    kind = _number(left, right)
    return _int(left, right, left * right) if kind is int else left * right


def divide(left: Any, right: Any, facts: Facts) -> Any:
    """Return `left / right`; of integers, rounded towards zero."""
    if _number(left, right) is float:
        if right != 0.0:
            return left / right
        if left == 0.0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return _int(left, right, quotient if (left < 0) == (right < 0) else -quotient)


def remainder(left: Any, right: Any, facts: Facts) -> Any:
    """`left % right`: of integers, with the sign of the left one."""
    if _number(left, right) is float:
        raise EvaluationError(NO_OVERLOAD)
    if right == 0:
        raise EvaluationError("modulo by zero")
    if right == -1 and left == INT_MIN:  # an error like `left / right`, which 64 bits do not hold
        raise EvaluationError("more than a 64-bit integer holds")
    rest = abs(left) % abs(right)
    return _int(left, right, -rest if left < 0 else rest)


ARITHMETIC: dict[str, Callable[[Any, Any, Facts], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
}


def negated(value: Any) -> Any:
    """`-value`."""
    if type(value) is float:
        return -value
    if type(value) is int:
        return _int(value, 0, -value)
    raise EvaluationError(NO_OVERLOAD)


def size(value: Any) -> int:
    """Return `size(value)`: the number of a text's code points, a list's elements or a map's keys."""
    if type(value) in (str, list, dict):
        return len(value)
    raise EvaluationError(NO_OVERLOAD)


def searched(text: str, part: str, facts: Facts) -> None:
    """Spend the steps that a search for `part` in `text` costs. In a long text, Python's search takes
    linear time. In a short text, Python can compare all of `part` at each place of `text`, so the steps
    also grow with the length of `part`."""
    length = len(text)
    if length < 30_000:
        length *= min(len(part), 100) // 16 + 1
    facts.spend(length // CHARACTERS)


def _number(left: Any, right: Any) -> type:
    kind = type(left)
    if kind is type(right) and kind in (int, float):
        return kind
    raise EvaluationError(NO_OVERLOAD)


def _int(left: int, right: int, result: int) -> int:
    """Raise EvaluationError if the result or an operand is not a signed 64-bit integer. In CEL, a larger
    integer of JSON is unsigned, and arithmetic with a signed and an unsigned integer is an error."""
    if left > INT_MAX or right > INT_MAX or not INT_MIN <= result <= INT_MAX:
        raise EvaluationError("more than a 64-bit integer holds")
    return result
