"""Attempts that wait until they can open a connection. If another attempt releases a connection, the
first waiting attempt uses it."""

import resource
import threading
from typing import cast

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.core.records import Outcome
from engine.wire import idle as idle_module
from engine.wire import resolver as resolver_module
from engine.wire.connection import OutboundConnection
from engine.wire.origin import Origins, ReceiverOrigin
from engine.wire.resolver import Addresses, system_lookup
from engine.wire.target import parse_target
from tests.patience import HANGS_S
from tests.wire.street import (
    OK,
    Gate,
    Street,
    Visit,
    a_destination,
    answer_ok,
    open_street,
    until,
)


class Waiter:
    """A waiter in the queue of an origin. When an idle connection is offered to the waiter, the waiter
    leaves the queue. If `takes` is true, the waiter takes the connection."""

    def __init__(
        self, origin: ReceiverOrigin, told: list[str], name: str, *, takes: bool = True
    ) -> None:
        self._origin, self._told, self._name, self._takes = origin, told, name, takes
        origin.want(self)

    def offered(self) -> None:
        self._told.append(self._name)
        self._origin.leave(self)
        if self._takes:
            self._origin.idle.popitem()


def test_what_falls_idle_is_offered_in_the_order_of_their_coming() -> None:
    origin = Origins().of("w", parse_target("http://host.test/"))
    told: list[str] = []
    first = Waiter(origin, told, "first")
    for name in ("second", "third", "fourth"):
        Waiter(origin, told, name, takes=name != "second")
    origin.want(first)  # it already waits and keeps its place
    origin.offer()
    assert told == []
    origin.idle[cast(OutboundConnection, object())] = None
    origin.offer()
    assert told == ["first"]
    origin.idle[cast(OutboundConnection, object())] = None
    origin.offer()
    assert told == ["first", "second", "third"]
    origin.idle.update(
        dict.fromkeys((cast(OutboundConnection, object()), cast(OutboundConnection, object())))
    )
    origin.offer()
    assert told == ["first", "second", "third", "fourth"]
    assert origin.queue is None
    assert len(origin.idle) == 1
    origin.leave(first)  # it is no longer in the line


async def test_a_dead_connection_is_replaced_by_a_new_one_where_more_are_dead(
    street: Street,
) -> None:
    """When a receiver restarts, all idle connections to it die. If an attempt finds one of them dead, it
    opens a new connection instead of trying another idle connection."""
    gate = Gate()

    async def serve(visit: Visit) -> None:
        await visit.request()
        await gate.opened.wait()
        await visit.send(OK)
        await visit.request()
        if visit.number >= 3:
            await visit.send(OK)

    receiver = await street.open(serve)
    outcomes: list[Outcome] = []
    for name in ("a", "b", "c"):
        street.begin(a_destination(receiver.url, id=name), outcomes.append)
    await until(lambda: len(receiver.requests) == 3)
    gate.opened.set()
    await until(lambda: len(outcomes) == 3)
    assert street.client.statistics().idle == 3
    assert (await street.attempt(a_destination(receiver.url, id="d"))).success
    assert receiver.connections == 4
    assert street.client.statistics().replaced == 1


async def test_who_waits_for_its_turn_to_open_takes_what_another_leaves() -> None:
    """A workspace can open one connection at a time here. The attempt "a" has opened its connection. Then
    the attempt "stuck" begins a handshake with a silent receiver, which never ends. So the attempts "b"
    and "c" cannot open connections, and wait. When "a" ends, they use its connection."""
    gate = Gate()
    async with open_street(openings=2) as street:  # one workspace alone gets one of them
        receiver, silent = await street.open(gate.serve), await street.open(Visit.closed)
        outcomes: list[Outcome] = []
        street.begin(a_destination(receiver.url, id="a"), outcomes.append)
        await until(lambda: receiver.requests)
        stuck = a_destination(silent.url.replace("http:", "https:"), id="stuck")
        street.begin(stuck, outcomes.append)
        await until(lambda: silent.connections)
        for name in ("b", "c"):
            street.begin(a_destination(receiver.url, id=name), outcomes.append)
        await until(lambda: street.client.statistics().openings_waiting == 2)
        gate.opened.set()
        await until(lambda: len(outcomes) == 3)
        assert receiver.connections == 1
        found = street.client.statistics()
        assert (found.openings, found.openings_waiting, found.in_flight) == (1, 0, 1)


@pytest.mark.parametrize("how", ["opens", "has enough that open"])
async def test_who_waits_for_a_name_takes_what_another_leaves(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(resolver_module, "FOUND_S", 0.0)
    asked, go_on = list[str](), threading.Event()

    def lookup(host: str) -> Addresses:
        asked.append(host)
        if len(asked) > 1:
            go_on.wait(HANGS_S)
        return system_lookup("127.0.0.1")

    async with open_street(lookup=lookup, openings_destination=1) as street:
        gate = Gate()
        receiver = await street.open(gate.serve, host="slow.test")
        outcomes: list[Outcome] = []
        street.begin(a_destination(receiver.url, id="a"), outcomes.append)
        await until(lambda: receiver.requests)
        for _ in range(1 if how == "opens" else 4):
            street.begin(a_destination(receiver.url, id="b"), outcomes.append)
        await until(lambda: len(asked) == 2)
        gate.opened.set()
        try:
            await until(lambda: len(outcomes) == (2 if how == "opens" else 5))
        finally:
            go_on.set()
        assert all(outcome.success for outcome in outcomes)
        assert receiver.connections == 1


async def test_who_met_a_dead_connection_waits_for_a_new_one() -> None:
    """An attempt whose connection was dead gets only one further connection. A connection that another
    attempt releases could be dead too. The attempt therefore does not take it, and waits until it can
    open a new connection."""
    gate, dies = Gate(), trio.Event()

    async def serve(visit: Visit) -> None:
        if visit.number == 0:
            await visit.request()
            await visit.send(OK)
            await visit.request()
            await dies.wait()
        else:
            await gate.serve(visit)

    async with open_street(openings=2) as street:  # one workspace alone gets one of them
        receiver, silent = await street.open(serve), await street.open(Visit.closed)
        assert (await street.attempt(a_destination(receiver.url, id="a"))).success
        outcomes: list[Outcome] = []
        street.begin(a_destination(receiver.url, id="a"), outcomes.append)
        await until(lambda: len(receiver.requests) == 2)
        street.begin(a_destination(receiver.url, id="b"), outcomes.append)
        await until(lambda: len(receiver.requests) == 3)
        stuck = a_destination(silent.url.replace("http:", "https:"), id="stuck")
        street.begin(stuck, outcomes.append)
        await until(lambda: silent.connections)
        dies.set()
        await until(lambda: street.client.statistics().openings_waiting == 1)
        gate.opened.set()
        await until(lambda: len(outcomes) == 1)
        await wait_all_tasks_blocked()
        found = street.client.statistics()
        assert (found.replaced, found.openings_waiting, found.idle) == (1, 1, 1)


async def test_those_who_wait_no_more_are_in_no_line() -> None:
    lookups, go_on = list[str](), threading.Event()

    def lookup(host: str) -> Addresses:
        lookups.append(host)
        go_on.wait(HANGS_S)
        return system_lookup("127.0.0.1")

    async with open_street(lookup=lookup, openings_destination=1) as street:
        outcomes: list[Outcome] = []
        patient = a_destination("http://slow.test/", concurrency=2)
        street.begin(patient, outcomes.append)
        for _ in range(2):
            hasty = a_destination("http://slow.test/", concurrency=2, timeout_ms=50, version=2)
            street.begin(hasty, outcomes.append)
        (origin,) = street.client.wiring.origins._known.values()
        assert origin.queue is not None
        assert len(origin.queue) == 2  # the opening, and the queue for the attempts behind it
        try:
            await until(lambda: len(outcomes) == 2)
            assert len(origin.queue) == 1
        finally:
            go_on.set()
        await until(lambda: len(outcomes) == 3)
        assert origin.queue is None


async def test_an_idle_connection_is_used_however_many_are_being_opened_elsewhere() -> None:
    asked, go_on = list[str](), threading.Event()

    def lookup(host: str) -> Addresses:
        asked.append(host)
        if host == "slow.test":
            go_on.wait(HANGS_S)
        return system_lookup("127.0.0.1")

    async with open_street(lookup=lookup, openings_destination=1) as street:
        receiver = await street.open(answer_ok)
        assert (await street.attempt(a_destination(receiver.url, id="other"))).success
        outcomes: list[Outcome] = []
        street.begin(a_destination("http://slow.test/", id="d"), outcomes.append)
        await until(lambda: "slow.test" in asked)
        try:
            moved = a_destination(receiver.url, id="d", version=2)
            assert (await street.attempt(moved)).success
            assert receiver.connections == 1
        finally:
            go_on.set()
            await until(lambda: outcomes)


@pytest.mark.parametrize("how", ["reaches its deadline", "is forgotten with all"])
async def test_who_is_behind_one_for_another_origin_goes_when_that_leaves_unless_all_end(
    how: str,
) -> None:
    go_on = threading.Event()

    def lookup(host: str) -> Addresses:
        if host == "slow.test":
            go_on.wait(HANGS_S)
        return system_lookup("127.0.0.1")

    async with open_street(lookup=lookup, openings_destination=1) as street:
        receiver = await street.open(answer_ok)
        outcomes: list[Outcome] = []
        street.begin(a_destination("http://slow.test/", id="d"), outcomes.append)
        timeout_ms = 100 if how == "reaches its deadline" else 8_000
        ahead = a_destination("http://slow.test/", id="d", version=2, timeout_ms=timeout_ms)
        street.begin(ahead, outcomes.append)
        street.begin(a_destination(receiver.url, id="d", version=3), outcomes.append)
        try:
            assert (await street.attempt(a_destination(receiver.url, id="other"))).success
            if how == "reaches its deadline":
                await until(lambda: len(outcomes) == 2)
                assert [outcome.success for outcome in outcomes] == [False, True]
                assert receiver.connections == 1
            else:
                assert street.client.statistics().waiting == 2
                street.client.abort_all()
                assert street.client.statistics().waiting == 0
                await until(lambda: receiver.open == 0)
                assert len(receiver.requests) == 1
                assert outcomes == []
        finally:
            go_on.set()


async def test_a_connection_that_its_own_have_no_use_for_goes_where_a_descriptor_is_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(idle_module, "IDLE_S", 600.0)
    share = 1 / resource.getrlimit(resource.RLIMIT_NOFILE)[0] + 1e-9
    async with open_street(share=share) as street:
        gate = Gate()
        old = await street.open(gate.serve)
        new, elsewhere = await street.open(answer_ok), await street.open(answer_ok)
        outcomes: list[Outcome] = []
        street.begin(a_destination(old.url, id="d", concurrency=1), outcomes.append)
        await until(lambda: old.requests)
        street.begin(a_destination(elsewhere.url), outcomes.append)
        await until(lambda: street.client.statistics().descriptors_waiting == 1)
        street.begin(a_destination(new.url, id="d", concurrency=1, version=2), outcomes.append)
        gate.opened.set()
        await until(lambda: len(outcomes) == 3)
        assert all(outcome.success for outcome in outcomes)
