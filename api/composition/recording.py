"""The composition of what records outcomes: the recorder, and those who hear what is durable."""

from typing import TYPE_CHECKING

from engine.actors.attempts import Attempts
from engine.recording.announcer import Announcer
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from storage.database.profiles import SETTLE
from storage.recording.settle import PostgresSettle

if TYPE_CHECKING:
    from api.composition import Server


def recording_of(server: "Server", announcer: Announcer) -> tuple[Recorder, Attempts]:
    """Return the recorder, and the count of attempts, which it holds back while it cannot keep up."""
    connection = server.bridge.connection(SETTLE, server.ownership.renew_settle)
    outcomes = OutcomeQueue(server.settings.settle_group)
    attempts = Attempts(
        server.settings.max_in_flight, outcomes.holds, script_limit=server.script_limit
    )
    recorder = Recorder(
        PostgresSettle(connection, server.ownership),
        outcomes,
        server.clock.now,
        relieved=attempts.pass_on,
        replays=server.settled_replays,
        totals=server.throughput,
        announcer=announcer,
    )
    return recorder, attempts
