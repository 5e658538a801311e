"""The CPU of the database's processes by purpose, from /proc and `pg_stat_activity`.

The server has its own connections for each purpose, such as `intake` (`storage/database/profiles.py`).
PostgreSQL has one process for each connection, so the CPU of a purpose is the CPU of these processes.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bench.processes import own_cpu_s, system_s, tree
from storage.embedded.server import running_url

MEASURING = "angarium-bench"
# PostgreSQL's own processes that work when rows are written.
_OF_ITS_OWN = {
    "walwriter": "log writer",
    "checkpointer": "checkpoints",
    "background writer": "checkpoints",
    "autovacuum launcher": "vacuum",
    "autovacuum worker": "vacuum",
    "io worker": "reads",
}
_QUERY = """
    SELECT pid, backend_type, application_name,
        (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS wal
    FROM pg_stat_activity"""


@dataclass(frozen=True)
class Reading:
    """The processes of a database at an instant, with CPU seconds and a purpose for each process, and
    the position of the write-ahead log."""

    used: dict[int, tuple[float, float]]  # all CPU of a process, and its CPU in the kernel
    roles: dict[int, str]
    wal: int


@dataclass(frozen=True)
class Spent:
    """The difference of two readings: the processes' CPU seconds by purpose (`by_role`), the CPU seconds
    that all processes spent in the kernel, and the bytes of write-ahead log."""

    by_role: dict[str, float]
    system_s: float
    wal: int


def read(folder: Path, postmaster: int) -> Reading:
    """Read the use so far of the database in a data folder."""
    rows = asyncio.run(_rows(folder))
    roles = {row["pid"]: role_of(row["backend_type"], row["application_name"]) for row in rows}
    used = {pid: (own_cpu_s(pid), system_s(pid)) for pid in tree(postmaster)}
    return Reading(used, roles, rows[0]["wal"])


async def _rows(folder: Path) -> list[Any]:
    url = running_url(folder)
    if url is None:
        raise RuntimeError(f"no database runs in {folder}")
    connection = await asyncpg.connect(
        url, ssl="disable", timeout=30, server_settings={"application_name": MEASURING}
    )
    try:
        return list(await connection.fetch(_QUERY))
    finally:
        await connection.close()


def role_of(kind: str, application: str) -> str:
    """Return the purpose of a process of PostgreSQL."""
    if kind != "client backend":
        return _OF_ITS_OWN.get(kind, "other")
    if application == MEASURING:
        return "measuring"
    return application.removeprefix("angarium ") or "other"


def spent(before: Reading, after: Reading) -> Spent:
    """Return the difference of two readings.

    All CPU of a process that started between the readings counts. The CPU of a process that ended
    between the readings is unknown, and does not count.
    """
    by_role: dict[str, float] = {}
    system_s = 0.0
    for pid, (whole, system) in after.used.items():
        was, was_system = before.used.get(pid, (0.0, 0.0))
        role = after.roles.get(pid, before.roles.get(pid, "other"))
        # Skip the backend of the measuring connection, and a process that ended during the reading.
        if role == "measuring" or whole < was:
            continue
        by_role[role] = by_role.get(role, 0.0) + whole - was
        system_s += system - was_system
    return Spent(by_role, system_s, after.wal - before.wal)
