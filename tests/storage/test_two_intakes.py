"""Two intakes that write to PostgreSQL at the same time. The answers to callers, the deliveries for
actors and the rows of the tables must be the same as with one intake."""

from collections.abc import Iterator
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.core.records import Event
from engine.intake.intake import Intake
from engine.intake.intakes import Intakes
from engine.ports import Claimed
from engine.settings import Settings
from engine.submission.submission import Fate, Submission, claim_of
from storage.database.profiles import INTAKE
from storage.intake import large
from storage.intake.large import PostgresLargeIntake
from tests.engine.fakes import FakeDestinations
from tests.storage.intake_rows import ENVIRONMENTS, rows_written
from tests.storage.world import World, deliveries_of, event, identity, now_ms

NOW_MS = now_ms()
IDS = [identity.event() for _ in range(64)]
# Each environment has destinations of its own.
TO = [[identity.other() for _ in range(2)] for _ in range(ENVIRONMENTS)]
LARGE_ROWS = 4  # events and deliveries of a submission that goes to the second intake
# The submissions of a wave can be written in any order. The values of these columns depend on the order.
RACING = {"deliveries": "seq", "destination_backlog": "low_seq", "customer_accounts": "id"}
_SEQS = """
    SELECT d.id::text, d.seq, b.low_seq FROM deliveries d
    LEFT JOIN destination_backlog b USING (environment, destination)
    WHERE d.environment = ANY ($1::integer[])"""

submissions = st.fixed_dictionaries(
    {
        "place": st.sampled_from(range(ENVIRONMENTS)),  # of its environment
        # for each event, its destinations
        "to": st.lists(st.lists(st.integers(0, 1), max_size=2), min_size=1, max_size=4),
        "customer": st.sampled_from([None, None, "c-1", "c-2"]),
        "keyed": st.sampled_from([0, 0, 1, 9]),  # events that have the submission's key
    }
)
# Submissions come in waves. Within a wave, each submission has its own key. The next wave repeats the
# keys.
waves = st.lists(st.lists(submissions, min_size=1, max_size=5), min_size=1, max_size=3)


class Caller:
    """The sender of a submission."""

    def __init__(self, plan: dict[str, Any], first: int, key: str, ids: Iterator[str]) -> None:
        self.answer: tuple[str | None, dict[str, Claimed]] | None = None
        self.answered = trio.Event()
        place = plan["place"]
        made = [
            event(
                id=next(ids),
                environment=first + place,
                occurred_at_ms=NOW_MS,
                customer=plan["customer"],
            )
            for _ in plan["to"]
        ]
        deliveries = [
            each
            for one, to in zip(made, plan["to"], strict=True)
            for each in deliveries_of(one, *(TO[place][number] for number in to))
        ]
        for one in made[: plan["keyed"]]:
            one.idempotency_key = key
        claims = [claim_of(one, key, 1) for one in made if one.idempotency_key]
        self.submission = Submission(made, deliveries, claims, 100, self._settle)

    def _settle(self, fate: Fate) -> None:
        assert self.answer is None
        lost = fate.lost or {}  # of the whole group
        mine = {each.id: lost[each.id] for each in self.submission.events if each.id in lost}
        self.answer = fate.refusal, mine
        self.answered.set()


class Told:
    """Records everything that the intakes report: to the callers, to the actors, and to the listener for
    accepted events."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []
        self.destinations = FakeDestinations()
        self.accepted: dict[str, Claimed | None] = {}

    def listen(self, events: list[Event], lost: dict[str, Claimed]) -> None:
        assert not self.accepted.keys() & {each.id for each in events}
        self.accepted.update((each.id, lost.get(each.id)) for each in events)

    @property
    def seqs(self) -> dict[str, int]:
        return {each.id: each.seq for each in self.destinations.deliveries}

    def check_order(self) -> None:
        """Check that each destination got its deliveries in the order of their seqs."""
        by: dict[tuple[int, str], list[int]] = {}
        for each in self.destinations.deliveries:
            by.setdefault((each.event.environment, each.destination), []).append(each.seq)
        for seqs in by.values():
            assert seqs == sorted(set(seqs))


async def send(intakes: Intakes, told: Told, plan: list[list[dict[str, Any]]], first: int) -> None:
    """Send wave after wave. A wave begins when all callers of the previous wave have their answers."""
    ids = iter(IDS)
    for wave in plan:
        callers = [Caller(each, first, f"k-{at}", ids) for at, each in enumerate(wave)]
        for caller in callers:
            intakes.submit(caller.submission)
        for caller in callers:
            await caller.answered.wait()
        told.callers += callers


async def test_two_intakes_do_what_one_intake_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "PART_ROWS", 3)
    connection = world.bridge.connection(INTAKE, world.ownership.renew_intake)
    stores = world.intake, PostgresLargeIntake(connection, world.ownership)
    firsts = iter(range(10, 1 << 30, 10))
    large_groups = 0

    async def results(plan: list[list[dict[str, Any]]], large_rows: int) -> Any:
        nonlocal large_groups
        first, told = next(firsts), Told()
        pair = [
            Intake(store, told.destinations, identity, Settings(), lambda: NOW_MS / 1000,
                   accepted=told.listen)
            for store in stores
        ]  # fmt: skip
        intakes = Intakes(*pair, large_rows=large_rows)
        intakes.senders.sent(first + ENVIRONMENTS)  # beside another tenant, large ones go apart
        async with trio.open_nursery() as nursery:
            for each in pair:
                nursery.start_soon(each.run)
            await send(intakes, told, plan, first)
            intakes.close()
        large_groups += intakes.large.statistics().groups
        told.check_order()
        found = await world.bridge.pool.fetch(_SEQS, [first, first + 1])
        assert {row["id"]: row["seq"] for row in found} == told.seqs
        assert all(row["low_seq"] <= row["seq"] for row in found)
        return (
            [caller.answer for caller in told.callers],
            told.accepted,
            set(told.seqs),
            structs.replace(intakes.statistics(), groups=0),
            await rows_written(world, first, (), RACING),
        )

    async def compare(plan: list[list[dict[str, Any]]]) -> None:
        assert await results(plan, LARGE_ROWS) == await results(plan, 1 << 30)

    @given(waves)
    @settings(max_examples=25)
    def every(plan: list[list[dict[str, Any]]]) -> None:
        trio.from_thread.run(compare, plan)

    # Hypothesis is not async, and the world belongs to this loop.
    await trio.to_thread.run_sync(every)
    assert large_groups
