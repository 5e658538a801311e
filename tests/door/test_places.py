"""Places: a request needs a place before the application handles the request. The tests show how callers
share the places, and what happens to requests that get no place."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from api.door.limits import LIMITS
from api.door.places import STARTS, Place, Places, account_of
from engine.model.errors import Refusal
from tests.door.house import Client, House, open_house, post
from tests.patience import until

GET = b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Crowd:
    def __init__(self, places: Places, nursery: trio.Nursery) -> None:
        self.places = places
        self.nursery = nursery
        self.order: list[str] = []
        self.refused: list[str] = []
        self.told: set[tuple[int, int | None]] = set()
        self.working: dict[str, list[Place]] = {}

    def ask(self, account: str, times: int = 1) -> None:
        for _ in range(times):
            self.nursery.start_soon(self._ask, account)

    async def _ask(self, account: str) -> None:
        try:
            place = await self.places.take(account)
        except Refusal as refusal:
            self.told.add((refusal.status, refusal.retry_after_s))
            self.refused.append(account)
        else:
            self.order.append(account)
            self.working.setdefault(account, []).append(place)

    @property
    def held(self) -> dict[str, int]:
        return {account: len(places) for account, places in self.working.items() if places}


@pytest.fixture
def make(nursery: trio.Nursery) -> Callable[..., Crowd]:
    def make(*arguments: Any) -> Crowd:
        places = Places(*arguments)
        nursery.start_soon(places.run)
        return Crowd(places, nursery)

    return make


async def test_an_account_has_no_more_places_than_it_leaves_free(
    make: Callable[..., Crowd], autojump_clock: MockClock
) -> None:
    crowd = make(12)
    crowd.ask("greedy", 40)
    await wait_all_tasks_blocked()
    assert crowd.held == {"greedy": 6}
    crowd.ask("second", 40)
    await wait_all_tasks_blocked()
    assert crowd.held == {"greedy": 6, "second": 3}
    crowd.ask("third")
    await wait_all_tasks_blocked()
    assert crowd.held == {"greedy": 6, "second": 3, "third": 1}


async def test_places_that_come_back_go_round_by_account(
    make: Callable[..., Crowd], autojump_clock: MockClock
) -> None:
    crowd = make(2)
    crowd.ask("greedy", 50)
    await wait_all_tasks_blocked()
    for account in ("a", "b", "a"):
        crowd.ask(account)
    await wait_all_tasks_blocked()
    for _ in range(5):
        for places in crowd.working.values():
            while places:
                places.pop().give_back()
        await wait_all_tasks_blocked()
    assert Counter(crowd.order[:6]) == {"greedy": 3, "a": 2, "b": 1}


async def test_few_begin_between_two_passes_of_the_loop(
    make: Callable[..., Crowd], autojump_clock: MockClock
) -> None:
    crowd = make(256)
    ticks: list[int] = []

    class Ticks(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            ticks.append(len(crowd.order))

    crowd.ask("one", 100)
    trio.lowlevel.add_instrument(instrument := Ticks())
    await wait_all_tasks_blocked()
    trio.lowlevel.remove_instrument(instrument)
    assert len(crowd.order) == 100
    assert max(later - earlier for earlier, later in pairwise(ticks)) <= STARTS


async def test_too_many_that_wait_are_refused_and_others_still_wait(
    make: Callable[..., Crowd], autojump_clock: MockClock
) -> None:
    crowd = make(2, 20)
    crowd.ask("greedy", 50)
    await wait_all_tasks_blocked()
    # The queue has room for 20 requests, and one caller can fill only half of it. So ten of the 50
    # requests are queued, and 40 are refused. Then one of the ten gets a place, and nine still wait.
    assert (crowd.held["greedy"], len(crowd.refused)) == (1, 40)
    assert crowd.told == {(503, 1)}
    crowd.ask("other")
    await wait_all_tasks_blocked()
    assert crowd.held == {"greedy": 1, "other": 1}
    crowd.working["greedy"].pop().give_back()
    await wait_all_tasks_blocked()
    assert crowd.held["greedy"] == 1
    assert crowd.places.statistics().waiting == 8


async def test_who_waited_too_long_is_refused(
    make: Callable[..., Crowd], autojump_clock: MockClock
) -> None:
    crowd = make(2)
    crowd.ask("a", 5)
    await trio.sleep(6)
    assert (crowd.held, crowd.refused) == ({"a": 1}, ["a"] * 4)
    assert crowd.places.statistics().waiting == 0
    crowd.working["a"].pop().give_back()
    crowd.ask("a")
    await wait_all_tasks_blocked()
    assert crowd.held == {"a": 1}


async def test_one_that_is_cancelled_keeps_no_place(
    make: Callable[..., Crowd], nursery: trio.Nursery
) -> None:
    crowd = make(2)
    crowd.ask("a")
    await wait_all_tasks_blocked()

    async def ask(scope: trio.CancelScope) -> None:
        with scope:
            await crowd.places.take("a")

    waiting, given = trio.CancelScope(), trio.CancelScope()
    nursery.start_soon(ask, waiting)
    await wait_all_tasks_blocked()
    waiting.cancel()
    await wait_all_tasks_blocked()
    assert crowd.places.statistics().waiting == 0
    nursery.start_soon(ask, given)
    await wait_all_tasks_blocked()
    crowd.working["a"].pop().give_back()
    given.cancel()
    crowd.places._give(1)  # as `run` does, before the cancelled task continues
    await wait_all_tasks_blocked()
    assert crowd.places.statistics().held == 0


def test_nobody_is_known_by_the_network_of_an_address() -> None:
    same = {
        account_of(None, host) for host in ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:0:1::")
    }
    others = {account_of(None, host) for host in ("2001:db8:0:1::1", "192.0.2.1", "192.0.2.2", "")}
    assert (len(same), len(others), same & others) == (1, 4, set())


async def hang(_scope: Any, receive: Callable[[], Awaitable[Any]], _send: Any) -> None:
    if _scope["type"] == "http":
        while (await receive())["type"] != "http.disconnect":
            pass


async def connect_from(house: House, host: str) -> Client:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1], local_address=host)
    house.streams.append(stream)
    return Client(stream)


async def test_a_crowd_of_one_address_leaves_places_to_others_and_ingestion_needs_none() -> None:
    async with open_house(app=hang) as house:
        places = house.door.places
        crowd = [await connect_from(house, "127.0.0.1") for _ in range(300)]
        for client in crowd:
            await client.send(GET)

        def all_have_asked() -> bool:
            present = places.statistics()
            return present.held + present.waiting + present.refused >= 300

        # The door gives free places to a few waiting requests at a time.
        await until(lambda: all_have_asked() and places.statistics().held == 128)
        other = await connect_from(house, "127.0.0.2")
        await other.send(GET)
        await until(lambda: places.statistics().held == 129)
        assert (await house.ask(post())).status == 202
        for client in [*crowd, other]:
            await client.reset()
        await house.settled()
        assert places.statistics().held == 0


async def test_a_place_is_given_back_when_the_answer_begins() -> None:
    large = b"x" * 8_000_000
    held: list[int] = []

    async def app(scope: Any, _receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        if scope["type"] == "http":
            held.append(house.door.places.statistics().held)
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": large})

    async with open_house(app=app) as house:
        slow = await house.connect()
        await slow.send(GET)
        await until(lambda: house.door.statistics().passing == 1 and len(held) == 1)
        await until(lambda: house.door.places.statistics().held == 0)
        assert held == [1]
        assert (await slow.response()).body == large


async def test_a_connection_is_a_strangers_until_its_caller_is_known() -> None:
    async with open_house() as house:
        client = await house.connect()
        (connection,) = await accepted(house)
        assert not connection.known
        for request, status, known in (
            (post(), 202, True),
            (post(key=None), 401, False),
            (post(), 202, True),
            (post(key=b"garbage"), 401, False),
        ):
            await client.send(request)
            assert (await client.response()).status == status
            assert connection.known is known


async def accepted(house: House) -> list[Any]:
    await until(lambda: house.door.statistics().connections > 0)
    return list(house.door._channels)


async def test_idle_strangers_are_closed_before_known_callers() -> None:
    async with open_house(limits=replace(LIMITS, connections=8)) as house:
        known = await house.connect()
        await known.send(post())
        assert (await known.response()).status == 202
        crowd = [await house.connect() for _ in range(12)]
        for client in crowd[-4:]:
            await client.send(post(key=None))
            assert (await client.response()).status == 401
        await known.send(post())
        assert (await known.response()).status == 202
