"""Lists of deliveries compared with a filter over all rows in Python, and other reads."""

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from engine.core.records import Attempt, Delivery, Outcome, Settlement
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
    Origin,
    Priority,
    SigningAlgorithm,
)
from engine.log.delivery_log import AttemptPage, DeliveryEntry, DeliveryFilter, SentVersion
from engine.model.file_records import TROUBLE
from engine.model.identity import created_at_ms, delivery_id
from storage.database.profiles import SEARCH
from storage.log import deliveries, walk
from storage.log.deliveries import ATTEMPTS, PostgresDeliveries
from tests.storage.world import (
    ENVIRONMENT,
    World,
    deliveries_of,
    event,
    failure,
    identity,
    intake_group,
    settle_group,
    settled,
    success,
    unattempted,
)

# The same searches with enough time on a busy machine.
PATIENT = replace(SEARCH, statement_timeout_s=30.0, command_timeout_s=60.0)
DESTINATIONS = tuple(identity.other() for _ in range(4))
JOB = identity.other()


@pytest.fixture
def log(world: World) -> PostgresDeliveries:
    return PostgresDeliveries(world.bridge.pool)


async def fill(world: World, chance: random.Random, events: int) -> list[Delivery]:
    accepted: list[Delivery] = []
    for number in range(events):
        one = event(type=f"t.{number % 3}", customer=chance.choice([None, "c1", "c2"]))
        to = chance.sample(DESTINATIONS, chance.randrange(1, 4))
        accepted += deliveries_of(
            one,
            *to,
            priority=chance.choice(list(Priority)),
            kind=chance.choice(list(DeliveryKind)),
            customer=chance.choice([None, "c1"]),
        )
    accepted += [replay(each) for each in chance.sample(accepted, events // 5)]
    chance.shuffle(accepted)
    await world.put(accepted)
    settlements = [each for of in accepted if (each := end(of, chance)) is not None]
    await world.settle.settle(settle_group(settlements))
    again = [each.delivery for each in settlements if each.status is DeliveryStatus.RETRYING]
    await world.settle.settle(settle_group([success(each) for each in again[::2]]))
    dead = [each.delivery for each in settlements if each.dead_lettered]
    await requeue(world, dead[::2])
    await world.settle.settle(settle_group([success(each) for each in dead[::4]]))
    discarded = [
        unattempted(each, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED)
        for each in dead[1::4]
    ]
    await world.settle.settle(settle_group(discarded))
    return accepted


def replay(of: Delivery) -> Delivery:
    return Delivery(
        identity.other(),
        of.event,
        of.destination,
        DeliveryClass.REPLAY,
        priority=of.priority,
        origin=DeliveryOrigin.REPLAY,
        replay_of=of.id,
        replay_job=JOB,
    )


def end(of: Delivery, chance: random.Random) -> Settlement | None:
    """Return the settlement of a first attempt, or None if there was no attempt yet."""
    category = chance.choice(list(ErrorCategory))
    match chance.randrange(6):
        case 0:
            return None
        case 1:
            return failure(of, category=category)
        case 2:
            return failure(of, DeliveryStatus.FAILED, category=category)
        case 3:
            return unattempted(of, DeliveryStatus.DRY_RUN)
        case _:
            return success(of)


async def requeue(world: World, dead: list[Delivery]) -> None:
    await world.bridge.pool.fetch(
        """UPDATE deliveries SET status = 0, dlq_status = 2, trouble = 4
           WHERE environment = $1 AND id = ANY($2::uuid[])""",
        ENVIRONMENT,
        [each.id for each in dead],
    )


def passes(entry: DeliveryEntry, which: DeliveryFilter, job: dict[str, str | None]) -> bool:
    """Return True if the contract includes this entry in the list."""
    created = created_at_ms(entry.id)
    status = entry.status
    if status is DeliveryStatus.RETRYING and entry.destination in which.held:
        status = DeliveryStatus.PENDING
    wanted = (
        (which.events, entry.event),
        (which.statuses, status),
        (which.error_categories, entry.error_category),
        (which.priorities, entry.priority),
        (which.dlq_statuses, entry.dlq_status),
        (which.kinds, entry.kind),
        (which.origins, entry.origin),
        (which.event_types, entry.event_type),
        (which.customers, entry.customer),
        (which.replay_jobs, job[entry.id]),
        (which.response_statuses, entry.response_status),
        (which.destinations, entry.destination),
        (which.ids, entry.id),
    )
    return (
        all(asked is None or found in asked for asked, found in wanted)
        and (which.from_ms is None or created >= which.from_ms)
        and (which.to_ms is None or created < which.to_ms)
        and (which.is_replay is None or which.is_replay == (entry.origin is DeliveryOrigin.REPLAY))
    )


def any_of(values: Iterable[Any]) -> list[tuple[Any, ...]]:
    each = list(values)
    return [*((one,) for one in each), *pairwise(each)]


def filters(chance: random.Random, entries: list[DeliveryEntry]) -> Iterator[DeliveryFilter]:
    """Yield each filter with each of its values, then combinations of up to five filters."""
    times = sorted(created_at_ms(entry.id) for entry in entries)
    middle = times[len(times) // 2]
    values: dict[str, list[Any]] = {
        "events": [
            *any_of([chance.choice(entries).event for _ in range(3)]),
            (identity.event(),),
        ],
        "destinations": [DESTINATIONS[:1], DESTINATIONS[1:3], DESTINATIONS, (), (JOB,)],
        "ids": [tuple(each.id for each in chance.sample(entries, 30)), ()],
        "statuses": any_of(DeliveryStatus),
        "held": [DESTINATIONS[:1], DESTINATIONS[1:3], DESTINATIONS],
        "from_ms": [middle, times[-1] + 1, 0],
        "to_ms": [middle, times[0], 2**60],
        "is_replay": [True, False],
        "error_categories": any_of(ErrorCategory),
        "priorities": any_of(Priority),
        "dlq_statuses": any_of(DlqStatus),
        "kinds": any_of(DeliveryKind),
        "origins": any_of(DeliveryOrigin),
        "event_types": any_of(["t.0", "t.9"]),
        "customers": [("c1",)],
        "replay_jobs": [(JOB,)],
        "response_statuses": any_of([200, 500, 599]),
    }
    yield DeliveryFilter()
    for name, options in values.items():
        for option in options:
            yield DeliveryFilter(**{name: option})
    unsettled = any_of([DeliveryStatus.PENDING, DeliveryStatus.RETRYING])
    for statuses in (*unsettled, (DeliveryStatus.FAILED, DeliveryStatus.RETRYING)):
        for held in values["held"]:
            yield DeliveryFilter(statuses=statuses, held=held)
            yield DeliveryFilter(statuses=statuses, held=held, destinations=DESTINATIONS[:1])
    for _ in range(60):
        chosen = chance.sample(list(values), chance.randrange(2, 6))
        yield DeliveryFilter(**{name: chance.choice(values[name]) for name in chosen})


async def every_page(
    log: PostgresDeliveries, which: DeliveryFilter, limit: int
) -> list[DeliveryEntry]:
    entries: list[DeliveryEntry] = []
    below = None
    while True:
        page = await log.deliveries(ENVIRONMENT, which, below, limit)
        assert len(page.items) <= limit
        entries += page.items
        if page.below is None:
            return entries
        assert below is None or page.below < below, "a walk must come to an end"
        below = page.below


@pytest.mark.parametrize(
    ("seed", "examined", "first", "searched"),
    [(1, 2_000, 200, False), (2, 20, 5, False), (3, 20, 5, True)],
)
async def test_every_combination_of_filters_lists_exactly_what_passes_newest_first(
    world: World,
    log: PostgresDeliveries,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    examined: int,
    first: int,
    searched: bool,
) -> None:
    # If `examined` is small, the read of a page ends before the page is full. If `searched` is True, a
    # search then fills the page. Whatever the two are, all pages together list the same deliveries.
    monkeypatch.setattr(walk, "EXAMINED", examined)
    monkeypatch.setattr(walk, "FIRST", first)
    monkeypatch.setattr(deliveries, "SCATTERED", examined)
    if searched:
        log = PostgresDeliveries(world.bridge.pool, world.bridge.make_pool(PATIENT, 1))
    chance = random.Random(seed)
    await fill(world, chance, 80)
    everything = await every_page(log, DeliveryFilter(), 100)
    rows = {str(row["id"]): row for row in await world.rows("deliveries")}
    assert {entry.id for entry in everything} == set(rows)
    assert [entry.id for entry in everything] == sorted(rows, reverse=True)
    job = {key: row["replay_job"] and str(row["replay_job"]) for key, row in rows.items()}
    for which in filters(chance, everything):
        expected = [entry for entry in everything if passes(entry, which, job)]
        limit = chance.choice([4, 30, 100])
        assert await every_page(log, which, limit) == expected, which
        if searched:
            page = await log.deliveries(ENVIRONMENT, which, None, limit)
            assert len(page.items) == min(limit, len(expected)), which


async def test_another_environment_sees_nothing(world: World, log: PostgresDeliveries) -> None:
    (delivery,) = await world.accept(event(), to=DESTINATIONS[:1])
    other = ENVIRONMENT + 1
    for which in (
        DeliveryFilter(),
        DeliveryFilter(events=(delivery.event.id,)),
        DeliveryFilter(destinations=DESTINATIONS[:1]),
        DeliveryFilter(ids=(delivery.id,)),
    ):
        assert (await log.deliveries(other, which, None, 10)).items == []
    assert await log.delivery(other, delivery.id) is None
    assert await log.entry(other, delivery.id) is None


async def test_cursors_are_stable_while_deliveries_come_in(
    world: World, log: PostgresDeliveries
) -> None:
    before = await world.accept(*[event() for _ in range(25)], to=DESTINATIONS[:1])
    seen: list[str] = []
    below = None
    while True:
        page = await log.deliveries(ENVIRONMENT, DeliveryFilter(), below, 10)
        seen += [entry.id for entry in page.items]
        await world.accept(*[event() for _ in range(7)], to=DESTINATIONS[:1])
        if page.below is None:
            break
        below = page.below
    assert seen == sorted((each.id for each in before), reverse=True)


async def test_a_page_that_is_exactly_full_says_that_there_is_no_more(
    world: World, log: PostgresDeliveries
) -> None:
    await world.accept(*[event() for _ in range(10)], to=DESTINATIONS[:1])
    assert (await log.deliveries(ENVIRONMENT, DeliveryFilter(), None, 10)).below is None
    assert (await log.deliveries(ENVIRONMENT, DeliveryFilter(), None, 9)).below is not None


async def test_more_destinations_than_streams_are_listed_as_well(
    world: World, log: PostgresDeliveries
) -> None:
    many = [identity.other() for _ in range(100)]
    deliveries = await world.accept(event(), to=[*many, *DESTINATIONS])
    listed = await every_page(log, DeliveryFilter(destinations=tuple(many)), 30)
    assert {each.destination for each in listed} == set(many)
    assert len(deliveries) == 104


async def test_a_detail_has_attempts_in_order_event_and_the_version_last_used(
    world: World, log: PostgresDeliveries
) -> None:
    sent = event(metadata=b'{"a":1}', attachments=b"[]", source="shop", correlation_id="k")
    (delivery,) = await world.accept(sent, to=DESTINATIONS[:1])
    hostile = ((b"x-odd", b"\xff: \x00"), (b"empty", b""))
    await world.settle.settle(
        settle_group([failure(delivery, body=b"\x00\xff", headers=hostile, message="no\x00way")])
    )
    await world.settle.settle(settle_group([success(delivery)]))
    await world.bridge.pool.fetch(
        "INSERT INTO destination_versions VALUES ($1, $2, 1, 1, 'http://a/', '[]', 2, 0)",
        ENVIRONMENT,
        DESTINATIONS[0],
    )
    detail = await log.delivery(ENVIRONMENT, delivery.id)
    assert detail is not None
    assert [each.number for each in detail.attempts] == [1, 2]
    assert [each.success for each in detail.attempts] == [False, True]
    first = detail.attempts[0]
    assert (first.response_body, first.response_headers) == (b"\x00\xff", hostile)
    assert (first.error_message, first.error_category) == ("no\x00way", ErrorCategory.HTTP_5XX)
    assert detail.event is not None
    assert detail.event.event() == sent
    assert detail.entry.status is DeliveryStatus.DELIVERED
    assert detail.entry.last_error is None
    assert detail.sent == SentVersion(
        version=1, url="http://a/", headers=b"[]", algorithm=SigningAlgorithm.ED25519
    )


async def test_attempts_are_paged_by_number_and_by_what_was_said(
    world: World, log: PostgresDeliveries
) -> None:
    (delivery,) = await world.accept(event(), to=DESTINATIONS[:1])
    for _ in range(5):
        await world.settle.settle(settle_group([failure(delivery, body=b"x" * 1_000, headers=())]))
    page = await log.attempts(ENVIRONMENT, delivery.id, None, 2, 1 << 20)
    assert ([each.number for each in page.items], page.more) == ([5, 4], True)
    page = await log.attempts(ENVIRONMENT, delivery.id, 4, 100, 2_500)
    assert ([each.number for each in page.items], page.more) == ([3, 2], True)
    page = await log.attempts(ENVIRONMENT, delivery.id, 2, 100, 10)
    assert ([each.number for each in page.items], page.more) == ([1], False)
    assert await log.attempts(ENVIRONMENT, delivery.id, 1, 9, 9) == AttemptPage([], more=False)


async def test_the_last_request_is_found_behind_attempts_that_sent_none(
    world: World, log: PostgresDeliveries
) -> None:
    (delivery,) = await world.accept(event(), to=DESTINATIONS[:1])
    await world.settle.settle(settle_group([failure(delivery)]))
    unsent = (
        (ErrorCategory.TRANSFORM, "the script threw"),
        (ErrorCategory.CONNECTION, f"{TROUBLE} is not there"),
    )
    for number in range(ATTEMPTS + 1):
        category, message = unsent[number % 2]
        await world.settle.settle(
            settle_group([failure(delivery, category=category, message=message)])
        )
    detail = await log.delivery(ENVIRONMENT, delivery.id)
    assert detail is not None
    assert (len(detail.attempts), detail.older) == (ATTEMPTS, True)
    assert not any(each.was_sent for each in detail.attempts)
    assert detail.last_sent is not None
    assert detail.last_sent.number == 1


async def test_a_detail_of_what_was_never_sent_has_no_version(
    world: World, log: PostgresDeliveries
) -> None:
    (delivery,) = await world.accept(event(), to=DESTINATIONS[:1])
    detail = await log.delivery(ENVIRONMENT, delivery.id)
    assert detail is not None
    assert (detail.attempts, detail.sent) == ((), None)
    assert await log.delivery(ENVIRONMENT, identity.event()) is None


@pytest.mark.parametrize("answered", [True, False])
async def test_an_inspection_is_recorded_in_its_final_state_and_counts_nowhere(
    world: World, log: PostgresDeliveries, answered: bool
) -> None:
    sample = event(origin=Origin.TEST)
    delivery = Delivery(
        delivery_id(sample.id, 1),
        sample,
        DESTINATIONS[0],
        DeliveryClass.STANDARD,
        origin=DeliveryOrigin.INSPECTION,
        attempt_count=1,
    )
    outcome = Outcome(1e9, 12, answered, 200 if answered else None, ((b"a", b"b"),), b"body")
    if not answered:
        outcome.category, outcome.message = ErrorCategory.DNS, "no such name"
    await log.record_inspection(delivery, Attempt(1, outcome, 3))
    detail = await log.delivery(ENVIRONMENT, delivery.id)
    assert detail is not None
    entry = detail.entry
    assert entry.status is (DeliveryStatus.DELIVERED if answered else DeliveryStatus.FAILED)
    assert (entry.attempt_count, entry.origin) == (1, DeliveryOrigin.INSPECTION)
    assert (entry.error_category, entry.last_error) == (outcome.category, outcome.message)
    assert [each.number for each in detail.attempts] == [1]
    assert (
        await log.deliveries(ENVIRONMENT, DeliveryFilter(statuses=(entry.status,)), None, 5)
    ).items
    assert await world.rows("destination_minutes") == []
    assert await world.rows("destination_backlog") == []


async def test_an_event_nobody_wanted_can_be_listed_by_its_deliveries(
    world: World, log: PostgresDeliveries
) -> None:
    lonely = event()
    await world.intake.accept(intake_group([lonely]))
    page = await log.deliveries(ENVIRONMENT, DeliveryFilter(events=(lonely.id,)), None, 10)
    assert (page.items, page.below) == ([], None)


async def test_a_settlement_without_an_answer_keeps_what_the_last_attempt_said(
    world: World, log: PostgresDeliveries
) -> None:
    (delivery,) = await world.accept(event(), to=DESTINATIONS[:1])
    await world.settle.settle(settle_group([failure(delivery)]))
    archived = unattempted(delivery, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED)
    await world.settle.settle(settle_group([archived]))
    entry = await log.entry(ENVIRONMENT, delivery.id)
    assert entry is not None
    assert (entry.status, entry.dlq_status) == (DeliveryStatus.FAILED, DlqStatus.DISCARDED)
    assert (entry.error_category, entry.response_status) == (ErrorCategory.HTTP_5XX, 503)
    assert entry.next_attempt_at_ms is None


async def test_a_failure_without_a_response_has_no_status(
    world: World, log: PostgresDeliveries
) -> None:
    (delivery,) = await world.accept(event(), to=DESTINATIONS[:1])
    timeout = settled(
        delivery,
        DeliveryStatus.RETRYING,
        category=ErrorCategory.TIMEOUT,
        message="timed out",
        next_attempt_at=2e9,
    )
    await world.settle.settle(settle_group([timeout]))
    entry = await log.entry(ENVIRONMENT, delivery.id)
    assert entry is not None
    assert (entry.response_status, entry.next_attempt_at_ms) == (None, 2_000_000_000_000)
