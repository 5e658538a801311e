"""The replay jobs' side of the composition: their runner, made of the server's parts."""

from typing import TYPE_CHECKING

from engine.replay.runner import ReplayRunner
from storage.database.connection import Connection
from storage.replays.running import READERS, REPLAYING, PostgresReplays

if TYPE_CHECKING:
    from api.composition import Server


def replays_of(server: "Server", intake: Connection) -> ReplayRunner:
    """Return what runs replay jobs; `intake` is the intake's connection."""
    pool = server.bridge.make_pool(REPLAYING, READERS)
    return ReplayRunner(
        PostgresReplays(pool, intake, server.ownership),
        server.intake.entries,
        server.models.destinations.get,
        server.identity,
        server.clock.now,
        server.own_events.announce,
        lambda: server.intake.statistics().events,
        server.settled_replays,
    )
