"""Connections are shared only within a workspace, by destinations with the same origin."""

import gc

import pytest
from trio.testing import wait_all_tasks_blocked

from engine.core.records import Outcome
from engine.core.vocabulary import DeliveryOrigin
from engine.wire import idle as idle_module
from engine.wire.origin import Origins
from engine.wire.target import parse_target
from tests.wire.street import (
    OK,
    Gate,
    Street,
    Visit,
    a_destination,
    answer_ok,
    until,
)


def test_an_origin_is_workspace_scheme_host_and_port() -> None:
    origins = Origins()
    one = origins.of("w", parse_target("https://Example.com/a?b"))
    assert origins.of("w", parse_target("https://example.com:443/c")) is one
    others = [
        origins.of("v", parse_target("https://example.com/a?b")),
        origins.of("w", parse_target("http://example.com:443/a?b")),
        origins.of("w", parse_target("https://example.com:444/a?b")),
        origins.of("w", parse_target("https://www.example.com/a?b")),
    ]
    assert len({id(each) for each in (one, *others)}) == len(origins) == 5
    assert (one.workspace, one.tls, one.host, one.port) == ("w", True, "example.com", 443)


def test_an_origin_that_nobody_knows_is_gone() -> None:
    origins, gone = Origins(), parse_target("http://gone.test/")
    gc.disable()
    try:
        origin = origins.of("w", gone)
        assert origins.of("w", gone) is origin
        del origin
        assert len(origins) == 0
    finally:
        gc.enable()


async def test_destinations_of_a_workspace_share_the_connections_to_an_origin(
    street: Street,
) -> None:
    receiver = await street.open(answer_ok)
    for name in ("a", "b", "c"):
        headers = ((b"authorization", b"of " + name.encode()),)
        url = receiver.url.replace("/hook", f"/{name}")
        assert (await street.attempt(a_destination(url, id=name, headers=headers))).success
    assert receiver.connections == 1
    assert street.client.statistics().reused == 2
    for own, request in zip((b"a", b"b", b"c"), receiver.requests, strict=True):
        assert request.startswith(b"POST /%b HTTP/1.1\r\n" % own)
        assert request.count(b"authorization: ") == request.count(b"authorization: of %b\r" % own)


async def test_workspaces_share_no_connection(street: Street) -> None:
    receiver = await street.open(answer_ok)
    for _ in range(2):
        for name in ("a", "b"):
            config = a_destination(receiver.url, id=name, workspace=name)
            assert (await street.attempt(config)).success
    assert receiver.connections == 2
    assert street.client.statistics().reused == 2


async def test_a_destination_that_moved_leaves_its_connection_to_others(street: Street) -> None:
    gate = Gate()
    old, new = await street.open(gate.serve), await street.open(answer_ok)
    outcomes: list[Outcome] = []
    street.begin(a_destination(old.url, id="d"), outcomes.append)
    await until(lambda: old.requests)
    assert (await street.attempt(a_destination(new.url, id="d", version=2))).success
    gate.opened.set()
    await until(lambda: outcomes)
    assert outcomes[0].success
    assert (await street.attempt(a_destination(old.url, id="other"))).success
    assert (await street.attempt(a_destination(new.url, id="d", version=2))).success
    assert [old.connections, new.connections] == [1, 1]


async def test_what_is_left_at_a_former_target_rests_no_longer_than_others(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_module, "IDLE_S", 0.05)
    old, new = await street.open(answer_ok), await street.open(answer_ok)
    assert (await street.attempt(a_destination(old.url, id="d"))).success
    assert (await street.attempt(a_destination(new.url, id="d", version=2))).success
    await until(lambda: old.open == 0)
    assert [old.connections, new.connections] == [1, 1]


async def test_one_that_waits_while_the_target_changes_takes_no_connection_of_the_new(
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
    assert (await street.attempt(a_destination(new.url, id="other"))).success
    street.begin(a_destination(new.url, id="d", version=2, concurrency=3), outcomes.append)
    await until(lambda: len(old.requests) == 2 and len(outcomes) == 1)
    gate.opened.set()
    await until(lambda: len(outcomes) == 3)
    assert len(new.requests) == 2
    assert all(b"authorization" not in request for request in new.requests)
    assert all(b"authorization" in request for request in old.requests)


async def test_a_destination_sends_no_more_at_once_than_it_may_however_many_are_idle(
    street: Street,
) -> None:
    first, then = Gate(), Gate()

    async def serve(visit: Visit) -> None:
        await visit.request()
        await first.opened.wait()
        await visit.send(OK)
        await then.serve(visit)

    receiver = await street.open(serve)
    outcomes: list[Outcome] = []
    for number in range(4):
        street.begin(a_destination(receiver.url, id=str(number), concurrency=1), outcomes.append)
    await until(lambda: len(receiver.requests) == 4)
    first.opened.set()
    await until(lambda: len(outcomes) == 4)
    assert street.client.statistics().idle == 4
    for _ in range(4):
        street.begin(a_destination(receiver.url, id="0", concurrency=1), outcomes.append)
    await until(lambda: len(receiver.requests) == 5)
    await wait_all_tasks_blocked()
    assert len(receiver.requests) == 5
    found = street.client.statistics()
    assert (found.in_flight, found.waiting, found.idle) == (4, 3, 3)
    then.opened.set()
    await until(lambda: len(outcomes) == 8)
    assert street.client.statistics().in_flight == 0


@pytest.mark.parametrize("concurrency", [1, 2])
async def test_after_a_lowered_concurrency_no_more_are_left_than_it_says(
    street: Street, concurrency: int
) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    outcomes: list[Outcome] = []
    for _ in range(4):
        street.begin(a_destination(receiver.url, concurrency=4), outcomes.append)
    await until(lambda: len(receiver.requests) == 4)
    lowered = a_destination(receiver.url, concurrency=concurrency, version=2)
    street.begin(lowered, outcomes.append)
    gate.opened.set()
    await until(lambda: len(outcomes) == 5)
    assert street.client.statistics().idle == concurrency


async def test_a_test_of_a_destination_prepares_nothing_that_stays(street: Street) -> None:
    receiver = await street.open(answer_ok)
    destination = a_destination(receiver.url)
    assert (await street.attempt(destination, origin=DeliveryOrigin.INSPECTION)).success
    found = street.client.statistics()
    assert (found.queues, found.idle, found.in_flight) == (0, 0, 0)
    assert (await street.attempt(destination)).success
    assert (await street.attempt(destination, origin=DeliveryOrigin.INSPECTION)).success
    found = street.client.statistics()
    assert (found.queues, found.idle, found.in_flight) == (1, 1, 0)
    assert receiver.connections == 2


async def test_what_is_prepared_goes_when_its_actor_leaves(street: Street) -> None:
    receiver = await street.open(answer_ok)
    assert (await street.attempt(a_destination(receiver.url, id="d"))).success
    assert street.client.statistics().queues == 1
    street.client.forget("d")
    street.client.forget("nobody")
    assert street.client.statistics().queues == 0
    assert (await street.attempt(a_destination(receiver.url, id="d"))).success
    assert receiver.connections == 1


async def test_what_was_begun_for_nobodys_queue_is_ended_with_the_client(street: Street) -> None:
    gate = Gate()
    receiver = await street.open(gate.serve)
    outcomes: list[Outcome] = []
    street.begin(a_destination(receiver.url), outcomes.append, origin=DeliveryOrigin.INSPECTION)
    await until(lambda: receiver.requests)
    street.begin(a_destination(receiver.url), outcomes.append, origin=DeliveryOrigin.INSPECTION)
    street.client.abort_all()
    gate.opened.set()
    await until(lambda: receiver.open == 0)
    assert outcomes == []
    assert street.client.statistics().in_flight == 0
