"""Reads of events: pages, filters, and payloads with their exact bytes."""

import itertools

import pytest
from msgspec import structs

from engine.core.records import Event
from engine.core.vocabulary import Origin
from engine.log.delivery_log import EventEntry, EventFilter
from engine.model.identity import created_at_ms
from storage.log import walk
from storage.log.events import PostgresEvents
from tests.storage.world import ENVIRONMENT, World, claim, event, identity, intake_group


@pytest.fixture
def log(world: World) -> PostgresEvents:
    return PostgresEvents(world.bridge.pool)


async def every_page(log: PostgresEvents, which: EventFilter, limit: int) -> list[EventEntry]:
    entries: list[EventEntry] = []
    below = None
    while True:
        page = await log.events(ENVIRONMENT, which, below, limit)
        entries += page.items
        below = page.below
        if below is None:
            return entries


@pytest.mark.parametrize("examined", [5, 2_000])
async def test_every_combination_of_filters_lists_what_passes_newest_first(
    world: World, log: PostgresEvents, monkeypatch: pytest.MonkeyPatch, examined: int
) -> None:
    monkeypatch.setattr(walk, "EXAMINED", examined)
    monkeypatch.setattr(walk, "FIRST", 3)
    accepted = [
        event(type=f"t{number % 2}", customer=customer, origin=origin)
        for number, customer, origin in itertools.product(
            range(4), (None, "a", "b"), (Origin.API, Origin.FILE)
        )
    ]
    await world.intake.accept(intake_group(accepted))
    accepted.sort(key=lambda each: each.id, reverse=True)
    middle = created_at_ms(accepted[len(accepted) // 2].id)
    for type_, customer, origin, from_ms, to_ms in itertools.product(
        (None, "t1", "t9"), (None, "a"), (None, Origin.FILE), (None, middle), (None, middle)
    ):
        which = EventFilter(
            types=None if type_ is None else (type_, "t7"),
            customers=None if customer is None else (customer,),
            origin=origin,
            from_ms=from_ms,
            to_ms=to_ms,
        )
        expected = [
            each.id
            for each in accepted
            if type_ in (None, each.type)
            and customer in (None, each.customer)
            and origin in (None, each.origin)
            and (from_ms is None or created_at_ms(each.id) >= from_ms)
            and (to_ms is None or created_at_ms(each.id) < to_ms)
        ]
        assert [entry.id for entry in await every_page(log, which, 7)] == expected, which


async def test_events_are_found_by_what_their_sender_called_them(
    world: World, log: PostgresEvents
) -> None:
    def named(number: int) -> Event:
        return event(correlation_id=f"c{number % 3}", request_id=f"r{number % 2}")

    reached = [named(number) for number in range(8)]
    await world.accept(*reached, to=[identity.other()])
    missed = [named(number) for number in range(8)]
    await world.intake.accept(intake_group(missed))
    everything = sorted((*reached, *missed), key=lambda each: each.id, reverse=True)
    ids = {each.id for each in missed}
    for which, passes in (
        (EventFilter(correlation_ids=("c1",)), lambda each: each.correlation_id == "c1"),
        (EventFilter(request_ids=("r1",)), lambda each: each.request_id == "r1"),
        (EventFilter(undelivered=True), lambda each: each.id in ids),
        (EventFilter(undelivered=False), lambda each: each.id not in ids),
        (
            EventFilter(undelivered=True, correlation_ids=("c0",)),
            lambda each: each.id in ids and each.correlation_id == "c0",
        ),
    ):
        expected = [each.id for each in everything if passes(each)]
        assert [entry.id for entry in await every_page(log, which, 3)] == expected, which


async def test_the_event_that_holds_a_key_comes_at_once_however_many_came_after_it(
    world: World, log: PostgresEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "EXAMINED", 5)
    first = event(idempotency_key="held")
    await world.intake.accept(intake_group([first], claims=[claim(first, "held")]))
    await world.intake.accept(intake_group([event() for _ in range(20)]))
    page = await log.events(ENVIRONMENT, EventFilter(idempotency_keys=("held",)), None, 20)
    assert [entry.id for entry in page.items] == [first.id]


async def test_more_rows_are_examined_for_a_page_on_request(
    world: World, log: PostgresEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "EXAMINED", 5)
    monkeypatch.setattr(walk, "FIRST", 3)
    wanted = event(type="rare")
    await world.intake.accept(intake_group([wanted]))
    await world.intake.accept(intake_group([event(type="common") for _ in range(20)]))
    which = EventFilter(types=("rare",))
    page = await log.events(ENVIRONMENT, which, None, 2)
    assert page.items == []
    assert page.below is not None
    page = await log.events(ENVIRONMENT, structs.replace(which, examine=30), None, 2)
    assert [entry.id for entry in page.items] == [wanted.id]


async def test_an_event_is_read_as_it_was_received(world: World, log: PostgresEvents) -> None:
    full = event(
        payload=b'{"b": 1,\n "a":\t123456789012345678901234567890, "a":"\\u0000"}',
        metadata=b"{ }",
        attachments=b"[ ]",
        source="s",
        customer="c",
        correlation_id="k",
        request_id="r",
        origin=Origin.FILE,
        file=identity.other(),
    )
    await world.accept(full, to=[identity.other(), identity.other()])
    detail = await log.event(ENVIRONMENT, full.id)
    assert detail is not None
    assert detail.event() == full
    assert detail.entry.deliveries == 2


async def test_another_environment_sees_nothing(world: World, log: PostgresEvents) -> None:
    one = event()
    await world.accept(one)
    assert await log.event(ENVIRONMENT + 1, one.id) is None
    assert (await log.events(ENVIRONMENT + 1, EventFilter(), None, 10)).items == []
