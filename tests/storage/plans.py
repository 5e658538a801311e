"""The plan of a prepared statement, and the rows that PostgreSQL reads when it runs the plan."""

import re
from typing import Any

from storage.database.connection import Connection


async def prepare(connection: Connection, sql: str, name: str = "planned") -> None:
    await connection.execute(f"PREPARE {name} AS {sql}")


async def explain(connection: Connection, *arguments: Any, name: str = "planned") -> str:
    """Run a prepared statement. Return its plan, with the number of rows at each node of the plan."""
    values = ", ".join(_literal(each) for each in arguments)
    rows = await connection.fetch(
        "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF)"
        f" EXECUTE {name}({values})"
    )
    return "\n".join(row[0] for row in rows)


def most_rows(plan: str) -> int:
    """Return the highest number of rows in a plan. Each node of the plan has two numbers: the rows that
    it returned, and the rows that its filter removed. If a node ran several times, the rows that it
    returned in all runs are added."""
    counts = [0]
    for line in plan.splitlines():
        if match := re.search(r"rows=([\d.]+) loops=(\d+)", line):
            counts.append(round(float(match[1]) * int(match[2])))
        if match := re.search(r"Rows Removed by .*: (\d+)", line):
            counts.append(int(match[1]))
    return max(counts)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return rf"'\x{value.hex()}'"
    if isinstance(value, (list, tuple)):
        return "'{" + ",".join(_element(each) for each in value) + "}'"
    if isinstance(value, bool):
        return f"'{value}'"
    if isinstance(value, int):
        return f"'{int(value)}'"
    return f"'{value}'"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return rf'"\\x{value.hex()}"'
    return str(int(value)) if isinstance(value, int) else f'"{value}"'
