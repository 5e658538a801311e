"""No step of the event loop runs many lines of code, for any route and any amount of data."""

import re
from collections.abc import Callable
from uuid import UUID

import msgspec
import pytest
import trio

from api.metrics.exposition import Exposition
from api.routes import Route
from api.table import ROUTES
from engine.actors.lifecycle import Dormant
from engine.recording.throughput import Traffic
from engine.runtime.slices import worked_off
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse
from tests.service.owned import Owner, Shelf, fails_where_dead, open_owners
from tests.service.receiver import Receiver
from tests.service.steps import counted_steps
from tests.service.test_answer_sizes import Crowd, target_of
from tests.service.test_stream import listening
from tests.service.worst import NOBODY, bodies, queries

MOST_LINES = 40_000  # in one step: 4 ms without counting, of the 20 ms that a step may take
DESTINATIONS = 10_000  # in one environment: more than one step can visit
ENVIRONMENTS = 10_000
ROWS = 1_000  # in each table: as many as the largest page has
RULES = 3_000  # rules that name the type of one event


def fill(house: ServiceHouse, owner: Owner, destination: str, rule: str) -> None:
    server, number = house.server, owner.number
    models, directory = server.models, server.directory
    model, named = models.destinations[destination], models.rules[rule]
    for index in range(DESTINATIONS):
        identifier = str(UUID(int=UUID(NOBODY).int + index))
        models.put_destination(msgspec.structs.replace(model, id=identifier))
        directory._rest(identifier, Dormant(number, 1, 1))
        if index < RULES:
            patterns = ("many.of.type",)
            copy = msgspec.structs.replace(
                named, id=identifier, destination=identifier, event_types=patterns
            )
            models.put_rule(copy)
    for index in range(ENVIRONMENTS):
        server.throughput.totals[1_000_000 + index] = Traffic(1, 1, 1, 1)


async def ask(house: ServiceHouse, owner: Owner, shelf: Shelf, route: Route) -> int:
    asked = 0
    if route.path == "/stream":
        key = owner.api._headers["Authorization"].removeprefix("Bearer ")
        for query in queries(route):
            async with listening(house, key, query) as listener:
                assert listener.status == 200
                if not asked:
                    await listener.hears("health")
            asked += 1
        return asked
    changes = route.method != "GET" and route.body is None
    path = re.sub(r"{\w+}", NOBODY, route.path) if changes else await target_of(route, shelf, owner)
    for query in queries(route):
        answer = await owner.api(route.method, path + query, check=False)
        assert answer.status < 500, (route.name, query[:200], answer.body[:200])
        asked += 1
    for body in bodies(route):
        answer = await owner.api(route.method, path, body=body, check=False)
        assert answer.status < 500, (route.name, body[:200], answer.body[:200])
        asked += 1
    return asked


async def test_no_step_of_any_route_runs_many_lines_with_its_worst_input(
    house: ServiceHouse, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.answer = fails_where_dead
    owner = (await open_owners(house))["nobody"]
    shelf = Shelf(house, receiver)
    destination = await shelf.kept(owner, "destinations")
    shelf._kept[owner, "events"] = await shelf.event(owner, "many.of.type")
    rule = await shelf.kept(owner, "routing-rules")
    order = sorted(ROUTES, key=lambda route: route.method != "GET")
    for route in order:
        await target_of(route, shelf, owner)  # before there are many objects
    monkeypatch.setattr("tests.service.test_answer_sizes.COPIES", ROWS)
    await Crowd(house, owner, shelf).multiply()
    fill(house, owner, destination, rule)
    found: dict[str, str] = {}
    for route in order:
        with counted_steps() as steps:
            assert await ask(house, owner, shelf, route), route.name
        if steps.most > MOST_LINES:
            found[route.name] = f"{steps.most} lines in {steps.where}"
    assert found == {}


async def test_no_step_of_a_scrape_runs_many_lines(house: ServiceHouse, receiver: Receiver) -> None:
    owner = (await open_owners(house))["nobody"]
    shelf = Shelf(house, receiver)
    rule = await shelf.kept(owner, "routing-rules")
    fill(house, owner, await shelf.kept(owner, "destinations"), rule)
    exposition, done = Exposition(house.server, {}), trio.Event()

    async def scrape() -> None:
        text, _ = await exposition.text("")
        assert b"angarium_events_accepted_total" in text
        done.set()

    async with trio.open_nursery() as nursery:
        with counted_steps() as steps, trio.fail_after(HANGS_S):
            nursery.start_soon(scrape)
            await done.wait()
    assert steps.most <= MOST_LINES, steps.where


async def test_lines_of_each_step_are_counted() -> None:
    async def work(count: int) -> None:
        for _ in range(3):
            for _ in range(count):
                pass
            await trio.lowlevel.checkpoint()
        done.set()

    for count in (100, 1_000):
        done = trio.Event()
        async with trio.open_nursery() as nursery:
            with counted_steps() as steps:
                nursery.start_soon(work, count)
                await done.wait()
        assert count < steps.most < 3 * count + 200, steps.where


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_each_route_has_its_worst_inputs(route: Route) -> None:
    """`tests.service.worst` must know the longest value of every parameter. If a new parameter is missing
    there, this test fails."""
    assert list(queries(route))
    assert route.body is None or list(bodies(route))


async def test_lines_are_counted_in_work_that_paused_in_an_earlier_step() -> None:
    def work(pause: Callable[[], None]) -> None:
        pause()
        for _ in range(MOST_LINES):
            pass

    with counted_steps() as counter:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worked_off, work)
    assert counter.most >= MOST_LINES
