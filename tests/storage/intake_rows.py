"""The rows of the intake's tables, in a form in which two ways of writing them can be compared."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.storage.world import World

# All these tables have the environment in their key, so each way can write the same ids in environments
# of its own.
TABLES = (
    "events", "deliveries", "idempotency", "customer_accounts", "destination_backlog", "files"
)  # fmt: skip
ENVIRONMENTS = 2
NOTHING: Mapping[str, str] = {}
_ROWS = " UNION ALL ".join(
    f"SELECT '{table}', to_jsonb(t)::text FROM {table} t"
    f" WHERE environment BETWEEN $1::integer AND $1::integer + {ENVIRONMENTS - 1}"
    for table in TABLES
)


async def rows_written(
    world: World, first: int, bases: Sequence[int], left_out: Mapping[str, str] = NOTHING
) -> list[Any]:
    """Return the rows of the environments from `first` on, as if `first` were 0.

    `bases`: those of the groups, in order. A seq is shown with its group's place. `left_out`: by table, a
    column that is not compared.
    """
    found = []
    for table, text in await world.bridge.pool.fetch(_ROWS, first):
        row = json.loads(text)
        row["environment"] -= first
        row.pop(left_out.get(table), None)
        for name in row.keys() & {"seq", "low_seq"}:
            row[name] = max(
                (place, row[name] - base) for place, base in enumerate(bases) if row[name] >= base
            )
        found.append((table, sorted(row.items())))
    return sorted(found, key=repr)
