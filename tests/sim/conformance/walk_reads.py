"""Steps of the walk. Some of them read queues and deliveries. Others change the rows that are read."""

from typing import Any

from msgspec.structs import replace

from engine.core.vocabulary import DeliveryClass, DestinationStatus, ErrorCategory
from engine.log.delivery_log import DeliveryFilter
from tests.sim.conformance.walk import LANES, TYPES, World


async def read_queue(world: World) -> None:
    random = world.random
    seqs = sorted({row.seq for row in world.tables.deliveries.values()})
    lanes = [each for each in LANES if each is not None]
    chosen: dict[str, Any] = {"ordered": random.random() < 0.5}
    way = random.randrange(3)
    if way == 1:
        chosen["skip_lanes"] = random.sample(lanes, random.randrange(1, 3))
    if way == 2:
        chosen["only_lane"] = random.choice(lanes)
    classes = random.choice((list(DeliveryClass), [DeliveryClass.STANDARD], [DeliveryClass.REPLAY]))
    after = random.choice([0, *seqs])
    limit, size = random.choice((1, 3, 100)), random.choice((1, 60, 1 << 20))
    destination = random.choice(world.destinations)
    await world.twins.call(
        f"read queue {way} {limit} {size}",
        lambda ports: ports.backlog.read_queue(
            world.environment, destination, classes, after, limit, size, **chosen
        ),
    )


async def read_rest(world: World) -> None:
    """Read everything else that recovery and actors read."""
    random, twins, environment = world.random, world.twins, world.environment
    destination = random.choice(world.destinations)
    before, limit = world.now_ms + random.randrange(90_000), random.choice((1, 2, 100))
    seq = random.choice([0, *[row.seq for row in world.tables.deliveries.values()]])
    shards = random.choice((range(256), range(128)))
    await twins.call("backlog", lambda ports: ports.backlog.backlog(shards))
    await twins.call("due destinations", lambda ports: ports.backlog.due_destinations(before, 100))
    after = random.choice((-1, world.now_ms + random.randrange(90_000)))
    await twins.call(
        "read due",
        lambda ports: ports.backlog.read_due(environment, destination, before, limit, after),
    )
    await twins.call(
        "first retry", lambda ports: ports.backlog.first_retry(environment, destination)
    )
    await twins.call(
        "count waiting",
        lambda ports: ports.backlog.count_waiting(environment, destination, seq),
    )
    await twins.call("last seqs", lambda ports: ports.backlog.last_seqs(environment, destination))
    await twins.call(
        "read dead", lambda ports: ports.backlog.read_dead(environment, destination, limit)
    )
    waiting = [row.id for row in world.tables.deliveries.values()]
    named = random.sample(waiting, min(len(waiting), 5))
    await twins.call(
        "read named", lambda ports: ports.backlog.read_named(environment, destination, named)
    )
    some = random.sample(world.destinations, random.randrange(1, len(world.destinations) + 1))
    actors = [(environment, each) for each in some]
    await twins.call("read snapshots", lambda ports: ports.backlog.read_snapshots(actors))


async def read_dead(world: World) -> None:
    random = world.random
    rows = [row for row in world.tables.deliveries.values() if row.dead]
    some = [row.id for row in rows[:3]]
    which = random.choice(
        (
            DeliveryFilter(),
            DeliveryFilter(destinations=tuple(world.destinations[:1])),
            DeliveryFilter(destinations=tuple(world.destinations[:2]), event_types=TYPES[:1]),
            DeliveryFilter(ids=tuple(some)),
            DeliveryFilter(error_categories=(ErrorCategory.HTTP_5XX,), customers=("a",)),
            DeliveryFilter(destinations=()),
        )
    )
    after = random.choice((None, *some))
    limit = random.choice((1, 2, 50))
    environment = world.environment
    await world.twins.call("dead", lambda ports: ports.dead.dead(environment, which, after, limit))
    await world.twins.call("count dead", lambda ports: ports.dead.count(environment, which, after))


async def reconfigure(world: World) -> None:
    """Try to give a random destination a random status, unless it is archived. The stores refuse this if
    the version is not the next one. Only the newest destination can become archived. After this is tried,
    create a new destination."""
    random = world.random
    place = random.randrange(len(world.destinations))
    present = world.tables.destinations[world.environment, world.destinations[place]]
    status = random.choice((DestinationStatus.ACTIVE, DestinationStatus.DISABLED))
    if place == len(world.destinations) - 1 and random.random() < 0.3:
        status = DestinationStatus.ARCHIVED
    if present.status is DestinationStatus.ARCHIVED:
        return
    version = present.version + 1 + (random.random() < 0.1)
    record = replace(present, version=version, status=status, updated_at_ms=world.tick())
    audit = world.audit("destination")
    await world.twins.call("replace", lambda ports: ports.destinations.replace(record, audit))
    if record.status is DestinationStatus.ARCHIVED:
        await world.make_destination()


async def lose_event(world: World) -> None:
    rows = [row for row in world.tables.deliveries.values() if row.updated_at_ms is not None]
    if rows and world.random.random() < 0.2:
        await world.twins.remove_event(world.environment, world.random.choice(rows).event)
