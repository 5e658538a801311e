"""Ownership: a former owner writes nothing, and its successor sees the writes that were under way."""

from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
import trio
from structlog.testing import capture_logs

from engine.model.identity import SHARDS
from engine.nodes.parts import WHOLE, WorkerPart
from storage import ownership as ownership_module
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.errors import ContentionError, OwnershipLostError, StoreAwayError
from storage.database.profiles import INTAKE, SETTLE, UPKEEP, Profile
from storage.nodes.membership import Membership
from storage.ownership import INTAKE_OWNER, SETTLE_OWNER, Ownership
from tests.patience import HANGS_S
from tests.postgres import eventually, holding

_INTAKE = f"""
    WITH {INTAKE_OWNER.format(process="$1", epoch="$2")}
    INSERT INTO written (n) SELECT $3::int FROM owner, pg_advisory_xact_lock_shared($4) RETURNING n
"""
_SETTLE = f"""
    WITH {SETTLE_OWNER.format(process="$1", epoch="$2", shards="$5")}
    INSERT INTO written (n) SELECT $3::int FROM owner, pg_advisory_xact_lock_shared($4) RETURNING n
"""
# Keys of two advisory locks. Each statement takes the lock that one of its arguments names. A test holds
# the lock HELD, so that statements with HELD wait. The lock FREE is always free.
FREE, HELD = (
    1,
    2,
)
HOLD = f"SELECT pg_advisory_xact_lock({HELD})"


class Server:
    """A server's ownership and its two hot connections."""

    def __init__(self, bridge: Bridge, part: WorkerPart = WHOLE) -> None:
        self.bridge = bridge
        self.ownership = Ownership(part=part)
        self.membership = Membership(bridge, self.ownership)
        self.intake_connection = bridge.connection(unhurried(INTAKE), self.ownership.renew_intake)
        self.settle_connection = bridge.connection(unhurried(SETTLE), self.ownership.renew_settle)

    async def start(self) -> int:
        takeover = await self.ownership.take(self.bridge.connection(UPKEEP))
        return takeover.live_writers

    async def intake(self, number: int, lock: int = FREE) -> bool:
        await self.intake_connection.ensure()
        own = self.ownership
        return bool(
            await self.intake_connection.fetch(_INTAKE, own.process, own.intake_epoch, number, lock)
        )

    async def settle(self, number: int, shards: list[int], lock: int = FREE) -> bool:
        await self.settle_connection.ensure()
        own = self.ownership
        return bool(
            await self.settle_connection.fetch(
                _SETTLE, own.process, own.settle_epoch, number, lock, shards
            )
        )


def unhurried(profile: Profile) -> Profile:
    settings = {**profile.settings, "lock_timeout": "0"}
    return replace(profile, statement_timeout_s=None, command_timeout_s=None, settings=settings)


@pytest.fixture
async def bridge(bridge: Bridge) -> Bridge:
    await bridge.pool.execute("CREATE TABLE written (n int)")
    return bridge


async def rows(bridge: Bridge) -> list[int]:
    return [row["n"] for row in await bridge.pool.fetch("SELECT n FROM written ORDER BY n")]


async def wait_stuck(bridge: Bridge, part: str = "intake", on: str = "advisory") -> None:
    sql = """SELECT FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'angarium ' || $1 AND wait_event_type = 'Lock'
        AND (wait_event = 'advisory') = ($2 = 'advisory')"""

    async def waits() -> bool:
        return bool(await bridge.pool.fetch(sql, part, on))

    await eventually(waits)


async def test_the_owner_writes_and_its_predecessor_does_not(bridge: Bridge) -> None:
    first, second = Server(bridge), Server(bridge)
    await first.start()
    assert await first.intake(1)
    assert await first.settle(2, [0, 7, 255])
    await second.start()
    assert await second.intake(3)
    assert await second.settle(4, list(range(SHARDS)))
    assert not await first.intake(5)
    assert not await first.settle(6, [7])
    assert await rows(bridge) == [1, 2, 3, 4]


@pytest.mark.parametrize("part", ["intake", "settle"])
async def test_a_start_waits_for_the_statement_that_still_runs(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(ownership_module, "_PATIENCE_MS", int(HANGS_S * 1000))
    first, second = Server(bridge), Server(bridge)
    await first.start()
    seen = []

    async def take_over() -> None:
        await second.start()
        seen.extend(await rows(bridge))  # the rows that recovery would read

    async with trio.open_nursery() as nursery, holding(bridge, HOLD):
        if part == "intake":
            nursery.start_soon(first.intake, 1, HELD)
        else:
            nursery.start_soon(first.settle, 1, [3, 4], HELD)
        await wait_stuck(bridge, part)
        nursery.start_soon(take_over)
        await wait_stuck(bridge, "upkeep", "rows")
    assert seen == [1]


async def test_a_statement_that_is_stuck_is_ended_by_the_successor(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership_module, "_PATIENCE_MS", 100)
    first, second = Server(bridge), Server(bridge)
    await first.start()

    async def ended() -> None:
        with pytest.raises(StoreAwayError):
            await first.intake(1, HELD)

    with trio.fail_after(HANGS_S):
        async with holding(bridge, HOLD), trio.open_nursery() as nursery:
            nursery.start_soon(ended)
            await wait_stuck(bridge)
            await second.start()
    assert await rows(bridge) == []
    with pytest.raises(OwnershipLostError):
        await first.intake_connection.ensure()


async def test_a_start_gives_up_after_five_holders_that_nobody_could_end(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Connection] = []

    async def held(_: Ownership, upkeep: Connection, may_succeed: object) -> int:
        tries.append(upkeep)
        raise ContentionError("the rows are locked")

    monkeypatch.setattr(Ownership, "_take_rows", held)
    server = Server(bridge)
    with capture_logs() as logs, pytest.raises(ContentionError):
        await server.start()
    assert len(tries) == 5
    assert [line["tries_left"] for line in logs if "tries_left" in line] == [4, 3, 2, 1]
    assert not server.ownership.taken


async def test_a_reconnect_takes_a_new_epoch_that_fences_the_old_statement(bridge: Bridge) -> None:
    server = Server(bridge)
    await server.start()
    await server.intake(1)
    await server.settle(2, [1])
    old = (server.ownership.process, server.ownership.intake_epoch)
    for connection in (server.intake_connection, server.settle_connection):
        await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", connection.backend)

        async def gone(connection: Connection = connection) -> bool:
            return not connection.connected

        await eventually(gone)
    assert await server.intake(3)
    assert await server.settle(4, [1])
    # The lost connection's statement arrives late.
    assert await bridge.pool.fetch(_INTAKE, *old, 5, FREE) == []
    assert await rows(bridge) == [1, 2, 3, 4]


async def test_a_renewal_that_comes_late_does_not_set_the_epoch_back(bridge: Bridge) -> None:
    server = Server(bridge)
    await server.start()
    assert await server.intake(1)
    assert await server.settle(2, [1])
    late = Ownership(server.ownership.process)  # a late request of a lost connection
    late.taken = True
    for renew in (late.renew_intake, late.renew_settle):
        with pytest.raises(OwnershipLostError):
            await renew(bridge.connection(UPKEEP))
    assert await server.intake(3)
    assert await server.settle(4, [1])


async def test_a_reconnect_ends_the_statement_of_the_lost_connection(bridge: Bridge) -> None:
    server = Server(bridge)
    await server.start()
    await server.intake_connection.ensure()
    backend = server.intake_connection.backend

    async def cut() -> None:
        with pytest.raises(StoreAwayError):
            await server.intake(1, HELD)

    with trio.fail_after(HANGS_S):
        async with holding(bridge, HOLD):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(cut)
                await wait_stuck(bridge)
                # Close the client's end without notice to the server.
                raw = server.intake_connection._raw
                assert raw is not None
                raw.terminate()
            assert await server.intake(2)
    assert await rows(bridge) == [2]
    left = await bridge.pool.fetch("SELECT FROM pg_stat_activity WHERE pid = $1", backend)
    assert left == []


async def test_a_start_beside_a_live_server_says_so(bridge: Bridge) -> None:
    first, second = Server(bridge), Server(bridge)
    assert await first.start() == 0
    await first.intake_connection.ensure()
    with capture_logs() as logs:
        assert await second.start() == 1
    assert "ownership.taken_from_live_process" in [line["event"] for line in logs]
    await second.membership.beat()
    with pytest.raises(OwnershipLostError, match="another server has taken over"):
        await first.membership.beat()


async def test_epochs_only_rise_and_one_process_is_left(bridge: Bridge) -> None:
    epochs = []
    for _ in range(3):
        server = Server(bridge)
        await server.start()
        await server.intake_connection.ensure()
        epochs.append(server.ownership.intake_epoch)
    assert epochs == sorted(set(epochs))
    assert await bridge.pool.fetch_value("SELECT count(*) FROM processes") == 1
    for table in ("shard_leases", "home_leases"):
        leases = await bridge.pool.fetch(f"SELECT DISTINCT process::text FROM {table}")
        assert [row["process"] for row in leases] == [server.ownership.process]


async def test_of_servers_that_start_at_once_exactly_one_owns_all(bridge: Bridge) -> None:
    servers = [Server(bridge) for _ in range(3)]
    async with trio.open_nursery() as nursery:
        for server in servers:
            nursery.start_soon(server.start)
    owners = 0
    for server in servers:
        try:
            await server.membership.beat()
        except OwnershipLostError:
            continue
        owners += 1
    assert owners == 1


async def test_a_node_that_stands_still_in_its_takeover_holds_up_no_other(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    still = trio.Event()

    async def stand_still(*_: object) -> None:
        still.set()
        await trio.sleep_forever()

    async with trio.open_nursery() as nursery:
        with monkeypatch.context() as patched:
            patched.setattr(ownership_module, "_STILL_MS", 100)
            patched.setattr(ownership_module, "active_node", stand_still)
            nursery.start_soon(Ownership().take, bridge.connection(UPKEEP))
            await still.wait()
        server = Server(bridge)
        with trio.fail_after(HANGS_S):
            await server.start()
        assert await server.intake(1)
        nursery.cancel_scope.cancel()


# --- parts: one per worker


async def writes(server: Server, number: int) -> bool:
    """Return True if the server's `intake` and its `settle` both write. Return False if neither writes,
    or if one of them raises OwnershipLostError. Fail if only one of them writes."""
    shard = [server.ownership.part.number]
    try:
        taken_in = await server.intake(number)
        settled = await server.settle(number, shard)
    except OwnershipLostError:
        return False
    assert taken_in == settled, "it may write in one way only"
    return taken_in


async def test_workers_write_side_by_side(bridge: Bridge) -> None:
    workers = [Server(bridge, WorkerPart(number, 3)) for number in range(3)]
    async with trio.open_nursery() as nursery:
        for worker in workers:
            nursery.start_soon(worker.start)
    for number, worker in enumerate(workers):
        assert await writes(worker, number)
        await worker.membership.beat()
        slots = await bridge.pool.fetch(
            "SELECT slot FROM home_leases WHERE process = $1::uuid ORDER BY slot",
            worker.ownership.process,
        )
        assert [row["slot"] for row in slots] == list(range(number, SHARDS, 3))


async def test_a_worker_that_starts_again_takes_its_part_alone(bridge: Bridge) -> None:
    one, other = (Server(bridge, WorkerPart(number, 2)) for number in range(2))
    await one.start()
    await other.start()
    again = Server(bridge, WorkerPart(1, 2))
    await again.start()
    assert await writes(one, 1)
    assert await writes(again, 2)
    assert not await writes(other, 3)
    with pytest.raises(OwnershipLostError):
        await other.membership.beat()


async def test_whoever_loses_one_slot_loses_all(bridge: Bridge) -> None:
    workers = [Server(bridge, WorkerPart(number, 2)) for number in range(2)]
    for worker in workers:
        await worker.start()
    await Server(bridge, WorkerPart(2, 3)).start()  # shares slots with both workers
    for worker in workers:
        assert not await writes(worker, 1)
    left = await bridge.pool.fetch("SELECT DISTINCT process FROM shard_leases")
    assert len(left) == 2, "the other slots are nobody's, until somebody takes them"


@pytest.mark.parametrize("part", ["intake", "settle"])
async def test_a_worker_waits_for_the_statement_of_its_predecessor(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(ownership_module, "_PATIENCE_MS", int(HANGS_S * 1000))
    # Both servers own slot 4.
    first, second = (
        Server(bridge, WorkerPart(1, 3)),
        Server(bridge, WorkerPart(0, 2)),
    )
    await first.start()
    seen = []

    async def take_over() -> None:
        await second.start()
        seen.extend(await rows(bridge))

    async with trio.open_nursery() as nursery, holding(bridge, HOLD):
        if part == "intake":
            nursery.start_soon(first.intake, 1, HELD)
        else:
            nursery.start_soon(first.settle, 1, [1], HELD)
        await wait_stuck(bridge, part)
        nursery.start_soon(take_over)
        await wait_stuck(bridge, "upkeep", "rows")
    assert seen == [1]
    assert not await writes(first, 2)


@pytest.mark.parametrize("seed", range(2))
async def test_no_slot_ever_has_two_that_can_write(bridge: Bridge, seed: int) -> None:
    """Eight servers start one after another, and each takes over a random part of the slots. Connections
    of some servers break. Two servers that can both write must never have a slot in common."""
    random = Random(seed)
    servers: list[Server] = []
    for number in range(8):
        parts = random.choice([1, 2, 3, 4])
        server = Server(bridge, WorkerPart(random.randrange(parts), parts))
        await server.start()
        servers.append(server)
        if random.random() < 0.3:
            lost = random.choice(servers).intake_connection
            if lost.connected:
                await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", lost.backend)
        writers = []
        for each in servers:
            with suppress(StoreAwayError):
                if await writes(each, number):
                    writers.append(each)
        taken = [slot for each in writers for slot in each.ownership.part.slots]
        assert len(taken) == len(set(taken)), [each.ownership.part for each in writers]
        assert await writes(server, number)
