"""The rows of the intake's tables. Tests write the same groups in two ways, and compare the rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.storage.world import World

# The key of each of these tables contains the environment. So a test can write a group in one pair of
# environments, write it again with the same ids in another pair, and compare the rows.
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
    """Return the rows of `ENVIRONMENTS` environments. The environments have the numbers from `first` on.
    In the returned rows they are numbered from 0 on, so that rows can be compared.

    `bases`: the first seq of each group. In the returned rows, a seq is replaced by the index of its
    group and the distance from the group's first seq. `left_out`: tables, each with a column that is left
    out.
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
