"""No step of the event loop runs more lines if there are more destinations.

The test has 42,000 destinations with actors in one environment. Code that visits all these destinations
without a pause would run at least 42,000 lines in one step. This is more than a step may run.
"""

from uuid import UUID

import msgspec
import trio

from api.metrics.exposition import Exposition
from api.table import ROUTES
from engine.actors.actor import DestinationActor
from engine.actors.lifecycle import ActorState
from tests.patience import HANGS_S, until
from tests.service.house import ServiceHouse
from tests.service.owned import Owner, Shelf, open_owners
from tests.service.receiver import Receiver
from tests.service.steps import counted_steps
from tests.service.test_steps import MOST_LINES
from tests.service.test_stream import listening
from tests.service.worst import NOBODY, queries

LIVE = 42_000
AT_ONCE = 500  # actors created between two steps of the loop
assert MOST_LINES < LIVE


async def bring_to_life(house: ServiceHouse, destination: str) -> None:
    models, directory = house.server.models, house.server.directory
    model = models.destinations[destination]
    for index in range(LIVE):
        identifier = str(UUID(int=UUID(NOBODY).int + index))
        copy = msgspec.structs.replace(model, id=identifier)
        models.put_destination(copy)
        directory._add(DestinationActor(directory._context, copy, 0, True)).start()
        if index % AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
    running = ActorState.RUNNING
    for each in tuple(directory.actors.values()):
        await until(lambda: each.state is running)  # noqa: B023  it is over before the next begins
    assert all(each.state is running for each in directory.actors.values())


async def walks(house: ServiceHouse, owner: Owner) -> dict[str, str]:
    """Let the server do each kind of work that visits all destinations, one kind after another. Return
    the kinds of work in which a step of the event loop ran too many lines of code."""
    found: dict[str, str] = {}
    server = house.server
    key = owner.api._headers["Authorization"].removeprefix("Bearer ")

    async def stream() -> None:
        async with listening(house, key, "?topics=health,throughput,deliveries,dlq") as listener:
            assert listener.status == 200
            await listener.hears("health")

    async def scrape() -> None:
        text, _ = await Exposition(server, {}).text("")
        assert b"angarium_" in text

    async def drain() -> None:
        assert await server.directory.drain(trio.current_time() + HANGS_S)

    async def passivate() -> None:
        server.directory._passivate_after_s = -1.0
        await server.directory.passivate_idle()
        await until(lambda: not server.directory.actors)

    async def gets() -> None:
        for route in ROUTES:
            if route.method == "GET" and "{" not in route.path and route.path != "/stream":
                answer = await owner.api("GET", route.path + next(queries(route)), check=False)
                assert answer.status < 500, (route.name, answer.body[:200])

    for walk in (gets, stream, scrape, drain, passivate):
        done = trio.Event()

        async def work() -> None:
            await walk()  # noqa: B023  it is over before the next begins
            done.set()  # noqa: B023

        async with trio.open_nursery() as nursery:
            with counted_steps() as steps:
                nursery.start_soon(work)
                await done.wait()
        if steps.most > MOST_LINES:
            found[walk.__name__] = f"{steps.most} lines in {steps.where}"
    return found


async def test_no_step_grows_with_the_number_of_live_destinations(
    house: ServiceHouse, receiver: Receiver
) -> None:
    owner = (await open_owners(house))["nobody"]
    await bring_to_life(house, await Shelf(house, receiver).kept(owner, "destinations"))
    # On a busy computer the work above can take so long that the server closes the owner's idle
    # connection. So the owner uses a new connection.
    owner.api = house.caller_with(owner.api._headers["Authorization"].removeprefix("Bearer "))
    assert await walks(house, owner) == {}
