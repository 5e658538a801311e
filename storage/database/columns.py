"""Many rows as the arguments of one statement: each column is sent as an array, and SQL turns the arrays
into rows.

The SQL unnests the arrays in a SELECT list. In FROM, PostgreSQL would first write each array to a tuple
store. In the driver and PostgreSQL together, an array costs 3 us, and about 0.1 us more for each element.
To save the cost of the elements, a column of nulls is sent as an empty array, and a column of equal
values as one value.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct


class Column(Struct, frozen=True):
    """A column: its name and SQL type. `shared`: if all rows have one value, the value is sent once."""

    name: str
    type: str
    shared: bool = False


class Rows(Struct, frozen=True):
    """The SQL that makes rows from columns. `parameters`: the highest parameter number in this SQL."""

    names: str
    values: str
    value: dict[str, str]
    source: str
    parameters: int


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
    """Return the SQL of rows with the columns `bound` and `columns`.

    `before`: the parameters of `columns` begin after this number. The columns `bound` have no parameters
    of their own: they use the parameters that an earlier call of `rows` has made for the same statement.
    `bound_before`: these parameters begin after this number.

    `uniform`: True if all rows have one value in each `shared` column. Each `shared` column then has one
    parameter, this value. If `uniform` is False, at least one `shared` column can have different values,
    and each `shared` column has two parameters, an array and a single value. For a column with different
    values, the array has the values, and the single value is null. For a column with equal values, the
    array is empty, and the single value is the value of all rows.

    `ordinal`: add a column `ordinal` to the SQL, which counts the rows from 1.

    In the statement, compare a table's column with a column of these rows, never with a parameter. If the
    statement compares with a parameter, the planner assumes that one row in 200 matches, and reads all
    rows of an environment.
    """
    value: dict[str, str] = {}
    sets: list[str] = []
    ids = ""  # the first array that has a value for each row
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
        self.uniform = True
        self._lean: list[Any] = []
        self._wide: list[Any] = []

    def add(self, *values: Any) -> None:
        self._lean += values
        self._wide += values

    def column(self, values: list[Any]) -> None:
        if values and values[0] is None and values.count(None) == len(values):
            values = []
        self._lean.append(values)
        self._wide.append(values)

    def shared(self, values: list[Any]) -> None:
        first = values[0] if values else None
        if not values or (first == values[-1] and values.count(first) == len(values)):
            self._lean.append(first)
            self._wide += ((), first)
        else:
            self.uniform = False
            self._wide += (values, None)

    def bound(self) -> Sequence[Any]:
        return self._lean if self.uniform else self._wide
