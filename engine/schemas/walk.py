"""A walk over JSON values at any depth, without recursion. Nothing here judges them."""

from collections.abc import Iterator
from typing import Any


def values_of(document: Any) -> Iterator[Any]:
    """Yield a value and everything within it; names of members are not values."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def objects_of(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects among them: of a schema its subschemas, and others such as an `enum` has."""
    return (value for value in values_of(document) if isinstance(value, dict))
