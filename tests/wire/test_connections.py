"""Connections to receivers: when the client keeps, replaces and closes them, and how it limits their
number."""

import gc

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.records import Outcome
from engine.core.vocabulary import DeliveryOrigin
from engine.core.vocabulary import ErrorCategory as Error
from engine.wire import connection as connection_module
from engine.wire.idle import IDLE_S
from engine.wire.target import parse_target
from tests.wire.street import (
    OK,
    Gate,
    Street,
    Visit,
    a_destination,
    answer_ok,
    answering,
    closing_after,
    open_street,
    until,
)


async def test_a_connection_is_used_again(street: Street) -> None:
    receiver = await street.open(answer_ok)
    destination = a_destination(receiver.url)
    for _ in range(5):
        assert (await street.attempt(destination)).success
    assert receiver.connections == 1
    assert street.client.statistics().reused == 4


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        OK + b"x",
        OK + OK,
        b"HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nok",
    ],
    ids=["close", "http 1.0", "a byte more", "an answer more", "no content with content"],
)
async def test_a_connection_that_should_not_be_used_again_is_not(
    street: Street, answer: bytes
) -> None:
    receiver = await street.open(answering(answer))
    destination = a_destination(receiver.url)
    for _ in range(3):
        assert (await street.attempt(destination)).success
    assert receiver.connections == 3
    assert street.client.statistics().idle == 0


async def test_nothing_of_an_attempt_waits_for_the_garbage_collector(street: Street) -> None:
    closing = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"
    receiver = await street.open(answering(closing))
    gone = await street.open(closing_after(b""))
    destinations = [a_destination(each.url) for each in (receiver, gone)]
    refused = a_destination("http://127.0.0.1:1/")
    gc.collect()
    gc.disable()
    try:
        assert (await street.attempt(destinations[0])).success
        for each in (destinations[1], refused):
            assert (await street.attempt(each)).category is Error.CONNECTION
        await wait_all_tasks_blocked()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        ours = [each for each in gc.garbage if type(each).__module__.startswith("engine.")]
        assert ours == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def test_a_byte_that_nobody_asked_for_closes_an_idle_connection(street: Street) -> None:
    go_on = trio.Event()

    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(OK)
        if visit.number == 0:
            await go_on.wait()
            await visit.send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
            await visit.closed()

    receiver = await street.open(serve)
    destination = a_destination(receiver.url)
    assert (await street.attempt(destination)).success
    assert street.client.statistics().idle == 1
    go_on.set()
    await until(lambda: street.client.statistics().idle == 0)
    assert (await street.attempt(destination)).success
    assert receiver.connections == 2


async def test_an_idle_connection_that_ends_is_forgotten(street: Street) -> None:
    receiver = await street.open(closing_after(OK))
    assert (await street.attempt(a_destination(receiver.url))).success
    await until(lambda: street.client.statistics().descriptors == 0)
    assert street.client.statistics().idle == 0


async def test_idle_connections_are_closed_after_a_while(
    street: Street, mock_clock: MockClock
) -> None:
    receivers = [await street.open(answer_ok) for _ in range(3)]
    for receiver in receivers:
        assert (await street.attempt(a_destination(receiver.url))).success
    assert street.client.statistics().idle == 3
    mock_clock.jump(IDLE_S)
    await until(lambda: all(receiver.open == 0 for receiver in receivers))
    assert street.client.statistics().descriptors == 0
    assert (await street.attempt(a_destination(receivers[0].url))).success


async def test_an_old_connection_is_not_kept(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "AGE_S", 0.0)
    receiver = await street.open(answer_ok)
    for _ in range(2):
        assert (await street.attempt(a_destination(receiver.url))).success
    assert receiver.connections == 2


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_reused_connection_that_is_dead_is_replaced_within_the_attempt(
    street: Street, how: str
) -> None:
    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(OK)
        await visit.request()
        if visit.number == 0 and how == "reset":
            visit.reset()
        elif visit.number > 0:
            await visit.send(OK)

    receiver = await street.open(serve)
    destination = a_destination(receiver.url)
    assert (await street.attempt(destination)).success
    assert (await street.attempt(destination, number=7)).success
    assert receiver.connections == 2
    assert receiver.requests[1] == receiver.requests[2]  # the same attempt, byte for byte
    assert street.client.statistics().replaced == 1


async def test_it_is_replaced_once_only(street: Street) -> None:
    async def serve(visit: Visit) -> None:
        if visit.number == 0:
            await visit.request()
            await visit.send(OK)
        await visit.request()

    receiver = await street.open(serve)
    destination = a_destination(receiver.url)
    assert (await street.attempt(destination)).success
    outcome = await street.attempt(destination)
    assert outcome.category is Error.CONNECTION
    assert receiver.connections == 2


async def test_one_that_ends_within_its_answer_is_not_replaced(street: Street) -> None:
    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(OK)
        await visit.request()
        await visit.send(b"H")

    receiver = await street.open(serve)
    destination = a_destination(receiver.url)
    assert (await street.attempt(destination)).success
    assert (await street.attempt(destination)).category is Error.PROTOCOL
    assert receiver.connections == 1


async def test_no_more_connections_than_the_destination_takes_and_the_rest_in_turn(
    street: Street,
) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    destination = a_destination(receiver.url, concurrency=2)
    outcomes: list[Outcome] = []
    for number in range(1, 8):
        street.begin(destination, outcomes.append, number=number)
    await until(lambda: len(receiver.requests) == 2)
    await wait_all_tasks_blocked()
    assert receiver.connections == 2
    assert street.client.statistics().waiting == 5
    gate.opened.set()
    await until(lambda: len(outcomes) == 7)
    assert all(outcome.success for outcome in outcomes)
    assert receiver.connections == 2
    numbers = [
        int(request.split(b"angarium-attempt: ")[1].split(b"\r")[0])
        for request in receiver.requests
    ]
    assert sorted(numbers[2:]) == list(range(3, 8))


async def test_waiting_counts_against_the_timeout(street: Street) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    outcomes: list[Outcome] = []
    street.begin(a_destination(receiver.url, concurrency=1), outcomes.append)
    for _ in range(2):
        street.begin(a_destination(receiver.url, concurrency=1, timeout_ms=100), outcomes.append)
    await until(lambda: len(outcomes) == 2)
    assert {outcome.category for outcome in outcomes} == {Error.TIMEOUT}
    assert all("free connection" in (outcome.message or "") for outcome in outcomes)
    assert street.client.statistics().waiting == 0
    gate.opened.set()
    await until(lambda: len(outcomes) == 3)
    assert outcomes[2].success
    assert len(receiver.requests) == 1


async def test_a_test_of_a_destination_does_not_wait_for_its_deliveries(street: Street) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    destination = a_destination(receiver.url, concurrency=1)
    outcomes: list[Outcome] = []
    street.begin(destination, outcomes.append)
    street.begin(destination, outcomes.append, origin=DeliveryOrigin.INSPECTION)
    await until(lambda: len(receiver.requests) == 2)
    gate.opened.set()
    await until(lambda: len(outcomes) == 2)
    assert street.client.statistics().idle == 1


async def test_a_raised_concurrency_lets_waiting_ones_go(street: Street) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    outcomes: list[Outcome] = []
    for _ in range(3):
        street.begin(a_destination(receiver.url, concurrency=1), outcomes.append)
    street.begin(a_destination(receiver.url, concurrency=4, version=2), outcomes.append)
    await until(lambda: len(receiver.requests) == 4)
    gate.opened.set()
    await until(lambda: len(outcomes) == 4)


async def test_one_that_waits_while_the_target_changes_goes_where_it_was_made_for(
    street: Street,
) -> None:
    gate = Gate()
    old, new = await street.open(gate.serve), await street.open(answer_ok)
    secret = ((b"authorization", b"of the old receiver"),)
    before = a_destination(old.url, id="d", concurrency=1, headers=secret)
    outcomes: list[Outcome] = []
    for _ in range(2):
        street.begin(before, outcomes.append)
    await until(lambda: old.requests)
    after = a_destination(new.url, id="d", version=2, concurrency=1)
    street.begin(after, outcomes.append)
    gate.opened.set()
    await until(lambda: len(outcomes) == 3)
    assert [len(old.requests), len(new.requests)] == [2, 1]
    assert b"authorization" not in new.requests[0]


async def test_a_new_version_with_the_same_target_keeps_its_connections(street: Street) -> None:
    receiver = await street.open(answer_ok)
    assert (await street.attempt(a_destination(receiver.url))).success
    changed = a_destination(
        receiver.url, version=2, headers=((b"x-new", b"1"),), target=parse_target(receiver.url)
    )
    assert (await street.attempt(changed)).success
    assert receiver.connections == 1
    assert b"x-new: 1" in receiver.requests[1]


async def test_queues_of_quiet_destinations_are_forgotten(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.wire.client.QUEUES_KEPT", 4)
    receiver = await street.open(closing_after(OK))
    for number in range(20):
        assert (await street.attempt(a_destination(receiver.url, id=str(number)))).success
        await until(lambda: street.client.statistics().descriptors == 0)
    assert street.client.statistics().queues <= 5


async def test_shutting_down_closes_everything_and_reports_nothing(street: Street) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    healthy = await street.open(answer_ok)
    assert (await street.attempt(a_destination(healthy.url))).success
    outcomes: list[Outcome] = []
    for _ in range(3):
        street.begin(a_destination(receiver.url, concurrency=2), outcomes.append)
    await until(lambda: len(receiver.requests) == 2)
    street.client.abort_all()
    street.begin(a_destination(receiver.url), outcomes.append)
    gate.opened.set()
    await until(lambda: receiver.open == 0 and healthy.open == 0)
    assert outcomes == []
    statistics = street.client.statistics()
    assert statistics.in_flight == statistics.descriptors == statistics.idle == 0


async def test_a_destination_is_met_with_a_few_new_connections_at_a_time() -> None:
    async with open_street(openings_destination=2) as street:
        gate = Gate()
        receiver = await street.open(gate.serve)
        outcomes: list[Outcome] = []
        config = a_destination(receiver.url, concurrency=8)
        for _ in range(8):
            street.begin(config, outcomes.append)
        assert street.client.statistics().waiting == 6
        await until(lambda: receiver.connections == 8)
        assert street.client.statistics().openings == 0
        gate.opened.set()
        await until(lambda: len(outcomes) == 8)
        assert all(outcome.success for outcome in outcomes)
