"""Columns of rows that go to PostgreSQL as arrays: the SQL that makes rows of them, and the arguments.

The arrays are unnested side by side in a SELECT list: in FROM, PostgreSQL would first write each to a
store. Each array costs about 0.1 us a row on both sides together, and 3 us a statement. So a column of
nulls travels as an empty array (`unnest` pads it), and a column of equal values as one value.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct


class Column(Struct, frozen=True):
    """A column by its name and the SQL type of its values. `shared`: one value may serve all rows."""

    name: str
    type: str
    shared: bool = False


class Rows(Struct, frozen=True):
    """The SQL of rows made of columns: their names, their values, and where they come from."""

    names: str
    values: str
    value: dict[str, str]  # by name
    source: str
    parameters: int  # the number of its last parameter


def rows(
    alias: str,
    columns: Iterable[Column],
    before: int,
    *,
    uniform: bool,
    ordinal: bool = False,
    bound: Sequence[Column] = (),
    bound_before: int = 0,
) -> Rows:
    """Return the SQL of rows whose parameters begin after number `before`. The columns of `bound` come
    first: other rows have them already, with parameters that begin after number `bound_before`.

    `uniform`: every shared column comes as one value. Otherwise each comes as an array and a value, and
    one of the two is empty. With `ordinal` the source has a column of that name, counting from 1. All
    values are columns of the source: for a plain parameter the planner assumes one match in 200 rows,
    and would read all rows of an environment instead of looking ten of them up.
    """
    value: dict[str, str] = {}
    sets: list[str] = []
    ids = ""  # an array that is never left empty, where there is one
    number = bound_before
    for place, column in enumerate((*bound, *columns)):
        number = number + 1 if place != len(bound) else before + 1
        value[column.name] = f"{alias}.{column.name}"
        if column.shared and uniform:
            sets.append(f"${number}::{column.type} AS {column.name}")
            continue
        sets.append(f"unnest(${number}::{column.type}[]) AS {column.name}")
        if column.shared:
            number += 1
            value[column.name] = f"coalesce({alias}.{column.name}, ${number}::{column.type})"
        else:
            ids = ids or f"${number}::{column.type}[]"
    if ordinal:
        sets.append(f"generate_series(1, cardinality({ids})) AS ordinal")
    source = f"(SELECT {', '.join(sets)}) {alias}"
    return Rows(", ".join(value), ", ".join(value.values()), value, source, number)


class Arguments:
    """The arguments of one statement, in the order of its columns."""

    __slots__ = ("_lean", "_wide", "uniform")

    def __init__(self) -> None:
        self.uniform = True  # every shared column so far has one value
        self._lean: list[Any] = []
        self._wide: list[Any] = []

    def add(self, *values: Any) -> None:
        """Add arguments as they are."""
        self._lean += values
        self._wide += values

    def column(self, values: list[Any]) -> None:
        """Add a column, as an empty array if every value is None."""
        if values and values[0] is None and values.count(None) == len(values):
            values = []
        self._lean.append(values)
        self._wide.append(values)

    def shared(self, values: list[Any]) -> None:
        """Add a column whose values can be shared."""
        first = values[0] if values else None
        if not values or (first == values[-1] and values.count(first) == len(values)):
            self._lean.append(first)
            self._wide += ((), first)
        else:
            self.uniform = False
            self._wide += (values, None)

    def bound(self) -> Sequence[Any]:
        """Return the arguments for the statement with the present `uniform`."""
        return self._lean if self.uniform else self._wide
