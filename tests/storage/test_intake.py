"""The intake statement: whole groups, one winner per key, order, reruns and ownership."""

import itertools

import pytest
from asyncpg.exceptions import PostgresError

from engine.core.records import Delivery, Event
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryKind,
    DeliveryOrigin,
    Origin,
    Priority,
)
from engine.model.identity import shard_of
from engine.ports import (
    ContentionError,
    NewCustomer,
    OwnershipLostError,
    PoisonError,
    StoreAwayError,
)
from storage.database.bridge import Bridge
from storage.intake.statement import accept_statement
from tests.storage.world import (
    ENVIRONMENT,
    World,
    deliveries_of,
    event,
    identity,
    intake_group,
)

A, B = sorted(identity.other() for _ in range(2))


def full_event() -> Event:
    """Return an event with all fields, and hostile bytes where bytes are allowed."""
    return event(
        origin=Origin.FILE,
        metadata=b'{"\x00":1}',
        source="shop",
        customer="c-1",
        correlation_id="k-1",
        request_id="r-1",
        attachments=b"[\xff]",
        payload=b'{"\x00":"\xc3\xa9"}',
        file=identity.other(),
    )


async def test_every_field_of_an_event_and_its_deliveries_is_written(world: World) -> None:
    full, plain = full_event(), event()
    delivery = Delivery(
        identity.other(),
        full,
        A,
        DeliveryClass.REPLAY,
        "c:c-1",
        0,
        Priority.CRITICAL,
        DeliveryKind.FILE,
        DeliveryOrigin.REPLAY,
        "c-1",
        replay_of=identity.other(),
        replay_job=identity.other(),
    )
    deliveries = [delivery, *deliveries_of(plain, A, B)]
    acceptance = await world.intake.accept(intake_group([full, plain], deliveries))
    assert acceptance.lost == {}
    rows = {str(row["id"]): row for row in await world.rows("events")}
    row = rows[full.id]
    for name in (
        "environment", "type", "occurred_at_ms", "payload", "metadata", "source", "customer",
        "correlation_id", "request_id", "attachments", "origin",
    ):  # fmt: skip
        assert row[name] == getattr(full, name), name
    assert (str(row["file"]), row["deliveries"]) == (full.file, 1)
    assert rows[plain.id]["deliveries"] == 2
    assert rows[plain.id]["source"] is None
    found = {str(row["id"]): row for row in await world.rows("deliveries")}
    row = found[delivery.id]
    assert str(row["event"]) == full.id
    assert (row["event_type"], row["environment"]) == (full.type, ENVIRONMENT)
    assert (row["class"], row["lane"], row["priority"]) == (3, "c:c-1", 3)
    assert (row["kind"], row["origin"], row["customer"]) == (2, 2, "c-1")
    assert (str(row["replay_of"]), str(row["replay_job"])) == (
        delivery.replay_of,
        delivery.replay_job,
    )
    assert (row["status"], row["attempt_count"], row["trouble"]) == (0, 0, None)
    seqs = [found[each.id]["seq"] for each in deliveries]
    assert seqs == [acceptance.base, acceptance.base + 1, acceptance.base + 2]


@pytest.mark.parametrize("numbers", [(0, 1, 2, 0, 1), (1, 1, 1, 1, 1)])
async def test_rows_that_differ_in_every_column_are_written_as_they_are(
    world: World, numbers: tuple[int, ...]
) -> None:
    """If a column has the same value in all rows, the statement gets this value only once. This test has
    different values in each column, so the statement gets arrays.

    `numbers`: the number of deliveries of each event. If every event has exactly one delivery, the
    statement uses the same arrays for the events' rows and for the deliveries' rows.
    """
    events = [
        event(environment=place, type=f"t{place}", customer=f"c{place}", occurred_at_ms=place)
        for place in range(1, 6)
    ]
    deliveries = [
        each
        for number, one in enumerate(events)
        for each in deliveries_of(
            one,
            *(A, B)[: numbers[number]],
            queue=DeliveryClass(number % 4),
            priority=number % 3 + 1,
        )
    ]
    await world.put(deliveries, events)
    rows = {str(row["id"]): row for row in await world.rows("events")}
    for number, one in enumerate(events):
        row = rows[one.id]
        assert (row["environment"], row["type"], row["customer"]) == (
            one.environment,
            one.type,
            one.customer,
        )
        assert row["deliveries"] == numbers[number]
    found = {str(row["id"]): row for row in await world.rows("deliveries")}
    assert len(found) == len(deliveries)
    for each in deliveries:
        row = found[each.id]
        assert (row["environment"], str(row["event"]), str(row["destination"])) == (
            each.event.environment,
            each.event.id,
            each.destination,
        )
        assert (row["class"], row["priority"], row["seq"]) == (each.queue, each.priority, each.seq)
        assert (row["event_type"], row["lane"]) == (each.event.type, each.lane)


async def test_an_event_without_deliveries_is_accepted(world: World) -> None:
    lonely = event()
    await world.intake.accept(intake_group([lonely]))
    assert [row["deliveries"] for row in await world.rows("events")] == [0]


async def test_deliveries_of_events_that_were_accepted_before_are_accepted(world: World) -> None:
    """A replay is such a delivery."""
    one = event()
    await world.accept(one, to=[A])
    again = Delivery(identity.other(), one, A, DeliveryClass.REPLAY, origin=DeliveryOrigin.REPLAY)
    group = intake_group([], [again])
    acceptance = await world.intake.accept(group)
    rows = {str(row["id"]): row for row in await world.rows("deliveries")}
    assert rows[again.id]["seq"] == acceptance.base
    group.again = True
    assert await world.intake.accept(group) == acceptance
    assert len(await world.rows("deliveries")) == 2


async def test_seqs_rise_from_group_to_group_and_within_each(world: World) -> None:
    deliveries = [
        delivery for _ in range(5) for delivery in await world.accept(event(), event(), to=[A])
    ]
    seqs = [delivery.seq for delivery in deliveries]
    assert seqs == sorted(set(seqs))
    assert all(seq >> 20 for seq in seqs)


async def test_customers_are_opened_once_and_dirty_destinations_noted_at_the_base(
    world: World,
) -> None:
    first = NewCustomer(ENVIRONMENT, "c-1", identity.other())
    one = event(customer="c-1")
    acceptance = await world.intake.accept(
        intake_group([one], deliveries_of(one, A), customers=[first], dirty=[B, A])
    )
    second = NewCustomer(ENVIRONMENT, "c-1", identity.other())
    await world.intake.accept(intake_group([event()], customers=[second], dirty=[A]))
    accounts = await world.rows("customer_accounts")
    assert [(row["external_id"], str(row["id"])) for row in accounts] == [("c-1", first.id)]
    backlog = {str(row["destination"]): row for row in await world.rows("destination_backlog")}
    assert {key: row["low_seq"] for key, row in backlog.items()} == {
        A: acceptance.base,
        B: acceptance.base,
    }
    assert backlog[A]["shard"] == shard_of(A)


async def test_forgotten_backlog_rows_are_gone_and_unknown_ones_are_no_error(world: World) -> None:
    await world.intake.accept(intake_group([event()], dirty=[A, B]))
    await world.intake.forget_backlog([(ENVIRONMENT, B), (ENVIRONMENT, identity.other())])
    assert [str(row["destination"]) for row in await world.rows("destination_backlog")] == [A]


async def test_rows_are_forgotten_also_before_any_event_has_come(world: World) -> None:
    await world.intake.accept(intake_group([event()], dirty=[A]))
    started_anew = await World(world.bridge).take()
    await started_anew.intake.forget_backlog([(ENVIRONMENT, A)])
    assert await world.rows("destination_backlog") == []


# --- unwritable groups and ownership


async def test_a_group_with_something_unwritable_is_refused_whole(world: World) -> None:
    bad = event(customer="nul\x00")
    with pytest.raises(PoisonError):
        await world.intake.accept(intake_group([event(), bad]))
    surrogate = event(source="\ud800")
    with pytest.raises(PoisonError):
        await world.intake.accept(intake_group([event(), surrogate]))
    assert await world.rows("events") == []
    assert (await world.intake.accept(intake_group([event()]))).lost == {}


async def test_a_group_with_too_many_deliveries_for_its_seqs_is_refused(world: World) -> None:
    one = event()
    deliveries = deliveries_of(one, A) * (1 << 20)
    with pytest.raises(ValueError, match="at most"):
        await world.intake.accept(intake_group([one], deliveries))


async def test_who_was_replaced_writes_nothing(world: World, bridge: Bridge) -> None:
    await world.accept(event(), to=[A])
    successor = await World(bridge).take()
    with pytest.raises(OwnershipLostError):
        await world.accept(event(), to=[A])
    assert len(await world.rows("events")) == 1
    await successor.accept(event(), to=[A])
    assert len(await world.rows("events")) == 2


async def test_who_was_replaced_forgets_no_backlog_row_that_its_successor_relies_on(
    world: World, bridge: Bridge
) -> None:
    await world.intake.accept(intake_group([event()], dirty=[A]))
    successor = await World(bridge).take()
    one = event()
    await successor.intake.accept(intake_group([one], deliveries_of(one, A)))
    with pytest.raises(OwnershipLostError):
        await world.intake.forget_backlog([(ENVIRONMENT, A)])
    assert [str(row["destination"]) for row in await world.rows("destination_backlog")] == [A]


async def test_a_statement_of_an_older_epoch_of_ones_own_is_run_again(world: World) -> None:
    await world.accept(event(), to=[A])
    # Another connection renewed the epoch, and the answer was lost.
    world.ownership.intake_epoch -= 1
    with pytest.raises(ContentionError):
        await world.accept(event(), to=[A])
    assert len(await world.rows("events")) == 1
    await world.accept(event(), to=[A])
    assert len(await world.rows("events")) == 2


async def test_a_database_that_cannot_be_reached_was_surely_not_written_to(world: World) -> None:
    await world.intake_connection.aclose()
    with pytest.raises(StoreAwayError) as caught:
        await world.intake.accept(intake_group([event()]))
    assert caught.value.maybe_written is False


async def test_every_variant_of_the_statement_is_valid_sql(world: World) -> None:
    await world.intake_connection.ensure()
    flags = ("uniform", "claims", "rare_events", "rare_deliveries", "opened", "paired")
    for chosen in itertools.product((False, True), repeat=len(flags)):
        sql = accept_statement(**dict(zip(flags, chosen, strict=True)))
        try:
            await world.intake_connection.execute(f"PREPARE tried AS {sql}; DEALLOCATE tried")
        except PostgresError as error:  # pragma: no cover - tells which one
            pytest.fail(f"{chosen}: {error}")
