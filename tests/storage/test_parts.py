"""Reads of a worker that owns a part. They return only the rows of the workspaces in this part."""

import pytest

from engine.nodes.parts import WHOLE, WorkerPart, number_of
from storage.backlog.reading import PostgresBacklog
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from storage.encryption.secretbox import SecretBox
from storage.files.rows import PostgresFiles, PostgresUnfetched
from storage.ownership import Ownership
from storage.replays.running import PostgresReplays

WORKSPACES = [f"00000000-0000-7000-8000-0000000000{n:02x}" for n in (0, 1, 2, 7, 254, 255)]
PARTS = [WHOLE, *(WorkerPart(number, 3) for number in range(3))]


async def furnished(bridge: Bridge) -> dict[int, str]:
    """Create workspaces, each with an environment and some rows. Return a dictionary from the
    environments to the workspaces."""
    found = {}
    for workspace in WORKSPACES:
        await bridge.pool.fetch(
            "INSERT INTO workspaces (id, name, plan) VALUES ($1::uuid, $2, 'free')",
            workspace,
            workspace,
        )
        number = await bridge.pool.fetch_value(
            "INSERT INTO environments (workspace, name) VALUES ($1::uuid, 1) RETURNING number",
            workspace,
        )
        found[number] = workspace
        await bridge.pool.fetch(
            """INSERT INTO destination_backlog (environment, destination, shard, low_seq, next_due_at_ms)
            VALUES ($1::integer, $2::uuid, 0, 1, 5)""",
            number,
            workspace,
        )
        await bridge.pool.fetch(
            """INSERT INTO destination_snapshots (environment, destination, state, taken_at_ms)
            VALUES ($1::integer, $2::uuid, $3::bytea, 0)""",
            number,
            workspace,
            b"state",
        )
        await bridge.pool.fetch(
            "INSERT INTO file_suspects (environment, sha256) VALUES ($1::integer, $2::bytea)",
            number,
            b"x" * 32,
        )
    return found


@pytest.mark.parametrize("part", PARTS)
async def test_a_worker_sees_the_rows_of_its_part(bridge: Bridge, part: WorkerPart) -> None:
    known = await furnished(bridge)
    mine = {number for number, workspace in known.items() if part.has(workspace)}
    box = SecretBox([b"k" * 32])
    backlog = PostgresBacklog(bridge.pool, part)
    assert {row.environment for row in await backlog.backlog(range(256))} == mine
    assert {row.environment for row in await backlog.due_destinations(10, 100)} == mine
    assert {number for number, *_ in await backlog.snapshots_after(None, 100)} == mine
    suspects = await PostgresFiles(bridge.pool, box, part).suspects(100, (0, b""))
    assert {environment for environment, _ in suspects} == mine
    assert await PostgresUnfetched(bridge.pool, box, part).due(0, 1) == []
    ownership = Ownership(part=part)
    replays = PostgresReplays(bridge.pool, bridge.connection(UPKEEP), ownership)
    assert await replays.unfinished() == []


def test_parts_divide_the_slots_and_the_workspaces() -> None:
    for parts in (1, 2, 3, 64):
        divided = [WorkerPart(number, parts) for number in range(parts)]
        slots = sorted(slot for part in divided for slot in part.slots)
        assert slots == list(range(256))
        for workspace in WORKSPACES:
            owners = [part for part in divided if part.has(workspace)]
            assert owners == [divided[number_of(workspace, parts)]]
