"""Forms of the intake statement. Every form must write the same rows as the general form.

A short form has only the columns and clauses that its group needs. If a column has the same value in all
rows, the statement gets this value only once. A large group is written in parts.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryClass, DeliveryKind, DeliveryOrigin, Origin, Priority
from engine.model.file_records import FilePurpose, FileRecord, FileState
from engine.model.identity import delivery_id
from engine.ports import DirtyDestination, IntakeGroup, NewCustomer, PoisonError
from storage.database.profiles import INTAKE
from storage.encryption.secretbox import SecretBox
from storage.intake import large
from storage.intake.large import PostgresLargeIntake
from storage.intake.store import PostgresIntake
from tests.storage.intake_rows import ENVIRONMENTS, rows_written
from tests.storage.world import DAY_MS, World, claim, event, identity, intake_group, now_ms

NOW_MS = now_ms()
IDS = [identity.event() for _ in range(64)]
TO = sorted(identity.other() for _ in range(3))
FILE, REPLAYED, JOB = (identity.other() for _ in range(3))
BOX = SecretBox([b"k" * 32])


def rarely(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([None, None, None, *values])


RARE_OF_DELIVERY: list[dict[str, Any]] = [
    {"kind": DeliveryKind.FILE},
    {"customer": "c-1"},
    {"origin": DeliveryOrigin.INSPECTION},
    {"origin": DeliveryOrigin.REPLAY, "replay_of": REPLAYED, "replay_job": JOB},
]
RARE_OF_EVENT: list[dict[str, Any]] = [
    {"source": "shop"},
    {"correlation_id": "k"},
    {"request_id": "r"},
    {"metadata": b"{}"},
    {"attachments": b"[\xff]"},
    {"file": FILE},
    {"hops": 3},
    {"trace": "00-1-2-01"},
    {"files": 1},
]


def with_some(
    plain: st.SearchStrategy[dict[str, Any]], rare: list[dict[str, Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    """Return a hypothesis strategy for dictionaries. Some of the dictionaries are as `plain` makes them.
    The others also have one or two of the items in `rare`."""
    some = st.lists(st.sampled_from(rare), min_size=1, max_size=2)
    return plain | st.builds(lambda items, more: {**items, **more[0], **more[-1]}, plain, some)


deliveries = with_some(
    st.fixed_dictionaries(
        {
            "destination": st.sampled_from(TO),
            "queue": st.sampled_from(DeliveryClass),
            "priority": st.sampled_from(Priority),
            "lane": rarely("c:1", "s:2"),
        }
    ),
    RARE_OF_DELIVERY,
)
events = with_some(
    st.fixed_dictionaries(
        {
            "place": st.integers(0, 1),  # of its environment
            "key": rarely(("k-1", DAY_MS), ("k-1", -1), ("k-2", DAY_MS)),  # until when it is held
            "files": st.just(0),
            "to": st.lists(deliveries, max_size=2) | st.tuples(deliveries),
            "type": st.sampled_from(["a", "a.b"]),
            "origin": st.sampled_from(Origin),
            "occurred_at_ms": st.sampled_from([NOW_MS, NOW_MS - 7]),
            "payload": st.sampled_from([b"{}", b'{"\xc3\xa9":1}']),
            "customer": rarely("c-1", "c-2"),
        }
    ),
    RARE_OF_EVENT,
)
alike = st.builds(lambda one, number: [one] * number, events, st.integers(1, 5))
groups = st.fixed_dictionaries(
    {
        "events": st.lists(events, min_size=1, max_size=4) | alike,
        "customers are known": st.booleans(),
        "dirty": st.lists(st.sampled_from(TO), unique=True),
        "poison": st.sampled_from([*[False] * 7, True]),
    }
)


def built(plan: dict[str, Any], first: int, ids: Iterator[str]) -> IntakeGroup:
    group = intake_group([], now_ms=NOW_MS, files=[])
    claimed = set[tuple[int, str]]()
    for of_event in plan["events"]:
        fields = dict(of_event)
        environment = first + fields.pop("place")
        key, files, to = fields.pop("key"), fields.pop("files"), fields.pop("to")
        one = event(id=next(ids), environment=environment, **fields)
        group.events.append(one)
        group.deliveries += [
            Delivery(id=delivery_id(one.id, at), event=one, **each) for at, each in enumerate(to, 1)
        ]
        group.files += [file_of(one)] * files
        if key is not None and (environment, key[0]) not in claimed:
            claimed.add((environment, key[0]))
            group.claims.append(claim(one, key[0], len(to), expires_at_ms=NOW_MS + key[1]))
    if not plan["customers are known"]:
        group.customers = customers_of(group.events)
    group.dirty = dirtied(group.events, plan["dirty"])
    if plan["poison"]:
        group.events[-1].type = "nul\0"
    return group


def file_of(of: Event) -> FileRecord:
    return FileRecord(
        id=of.id,
        environment=of.environment,
        state=FileState.PENDING,
        purpose=FilePurpose.ATTACHMENT,
        event=of.id,
    )


def customers_of(events: Sequence[Event]) -> list[NewCustomer]:
    """Return a new account for each customer of the events. The account gets the id of the customer's
    last event as its own id."""
    ids = {(each.environment, each.customer): each.id for each in events if each.customer}
    return [
        NewCustomer(environment, name, ids[environment, name]) for environment, name in ids if name
    ]


def dirtied(events: Sequence[Event], destinations: Sequence[str]) -> list[DirtyDestination]:
    return DirtyDestination.each_of(
        (each.environment, destination) for each in events for destination in destinations
    )


def in_company(group: IntakeGroup, first: int, ids: Iterator[str]) -> IntakeGroup:
    """Return the group with two more events that force the general form of the statement.

    The two events have all kinds of rows and all rare columns. They also differ in each column that could
    otherwise be sent as a single value.
    """
    one, other = events = [
        event(
            id=next(ids),
            environment=first + place,
            type=f"t{place}",
            origin=Origin(place + 1),
            customer="c-3",
            source="s",
            trace="t",
        )
        for place in range(2)
    ]
    deliveries = [
        Delivery(
            id=delivery_id(of.id, at),
            event=of,
            destination=TO[at],
            queue=DeliveryClass(at),
            priority=Priority(at + 1),
            kind=DeliveryKind(1 + at % 2),
            origin=DeliveryOrigin(at + 1),
            customer="c-3",
        )
        for at, of in enumerate((one, other, other))
    ]
    claims = [claim(of, of.id, at, expires_at_ms=NOW_MS + at) for at, of in enumerate(events)]
    return structs.replace(
        group,
        events=events + group.events,
        deliveries=group.deliveries + deliveries,
        claims=group.claims + claims,
        customers=group.customers + customers_of(events),
        dirty=group.dirty + dirtied(events, TO),
        files=[*group.files, file_of(one)],
    )


async def accepted(store: PostgresIntake, group: IntakeGroup, bases: list[int]) -> Any:
    try:
        acceptance = await store.accept(group)
    except PoisonError:
        return "refused"
    bases.append(acceptance.base)
    return acceptance.lost, acceptance.unheld


async def test_groups_are_written_alike_alone_in_company_and_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "PART_ROWS", 3)
    whole = PostgresIntake(world.intake_connection, world.ownership, BOX)
    connection = world.bridge.connection(INTAKE, world.ownership.renew_intake)
    parts = PostgresLargeIntake(connection, world.ownership, BOX)
    firsts = iter(range(10, 1 << 30, 10))

    async def written(
        plan: list[dict[str, Any]], store: PostgresIntake, *, company: bool = False
    ) -> Any:
        first, bases = next(firsts), list[int]()
        ids, others = iter(IDS[:32]), iter(IDS[32:])
        answers = []
        for each in plan:
            group = built(each, first, ids)
            if company:
                group = in_company(group, first + ENVIRONMENTS, others)
            answers.append(await accepted(store, group, bases))
        return answers, await rows_written(world, first, bases)

    async def compare(plan: list[dict[str, Any]]) -> None:
        alone = await written(plan, whole)
        assert await written(plan, whole, company=True) == alone
        assert await written(plan, parts) == alone

    @given(st.lists(groups, min_size=3, max_size=6))
    @settings(max_examples=40)
    def every(plan: list[dict[str, Any]]) -> None:
        trio.from_thread.run(compare, plan)

    # Hypothesis is not async, and the world belongs to this loop.
    await trio.to_thread.run_sync(every)
