"""What is told of actors: frozen records for health, throughput and statistics. Data only."""

from msgspec import Struct

from engine.core.health import Health


class ActorReport(Struct, frozen=True, kw_only=True):
    """A destination's actor at one instant. Instants are seconds since the epoch.

    `state` is STARTING, RUNNING, RESTARTING or AT_REST (no actor is in memory: nothing to do).
    """

    state: str
    restarts: int
    mailbox: int
    started_at: float | None
    snapshot_at: float | None


class DestinationReport(Struct, frozen=True, kw_only=True):
    """Health of one destination, and how its actor does. Without a machine, `health` says what the
    last snapshot that is in memory knew; it is None for a destination that nobody knows."""

    health: Health | None
    pending: int
    in_flight: int  # sent and not yet recorded
    actor: ActorReport


AT_REST = ActorReport(state="AT_REST", restarts=0, mailbox=0, started_at=None, snapshot_at=None)


class Totals(Struct, frozen=True):
    """What waits (RETRYING too) and what is in flight, over an environment."""

    pending: int
    in_flight: int


class DirectoryStatistics(Struct, frozen=True, kw_only=True):
    """The actors of this process. `restarts` counts since the start, the rest is now."""

    actors: int
    dormant: int
    dirty: int
    in_flight: int
    held_deliveries: int
    held_bytes: int
    restarts: int
    activations: int
    passivations: int
