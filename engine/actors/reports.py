"""Reports about actors: frozen records for health, throughput and statistics."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from engine.actors.checkpoint import Checkpoint
from engine.actors.crash_recovery import CrashRecovery
from engine.actors.lifecycle import ActorState
from engine.core.destination import Destination
from engine.core.health import Health
from engine.core.machine import DestinationMachine

HealthOf = Callable[[DestinationMachine | None, Destination, bytes | None, int], Health]


class ActorReport(Struct, frozen=True, kw_only=True):
    """A destination's actor at one instant. Instants are seconds since the epoch.

    `state` is STARTING, RUNNING, RESTARTING or AT_REST. AT_REST means that no actor is in memory.
    """

    state: str
    restarts: int
    mailbox: int
    started_at: float | None
    snapshot_at: float | None


class DestinationReport(Struct, frozen=True, kw_only=True):
    """The health of one destination and the state of its actor. `health` is None for an unknown
    destination."""

    health: Health | None
    pending: int
    in_flight: int  # sent and not yet recorded
    actor: ActorReport


class Reporting(Protocol):
    """The actor that a report is about."""

    config: Destination
    state: ActorState
    recovery: CrashRecovery
    started_at: float
    checkpoint: Checkpoint
    in_flight: int

    @property
    def pending(self) -> int:
        """The number of deliveries that wait, as far as is known."""


def report_of(
    actor: Reporting, machine: DestinationMachine | None, mailbox: int, health_of: HealthOf
) -> DestinationReport:
    """Return the state of a destination and its actor. `mailbox`: the number of waiting messages."""
    pending, snapshot = actor.pending, actor.checkpoint.snapshot
    health = health_of(machine, actor.config, snapshot, pending)
    return DestinationReport(
        health=health,
        pending=pending,
        in_flight=health.in_flight if machine is not None else actor.in_flight,
        actor=ActorReport(
            state=actor.state.shown,
            restarts=actor.recovery.restarts,
            mailbox=mailbox,
            started_at=actor.started_at,
            snapshot_at=actor.checkpoint.snapshot_at,
        ),
    )


AT_REST = ActorReport(state="AT_REST", restarts=0, mailbox=0, started_at=None, snapshot_at=None)


class Totals(Struct, frozen=True):
    """Counts over an environment: deliveries that wait (RETRYING too), and deliveries in flight."""

    pending: int
    in_flight: int


class DirectoryStatistics(Struct, frozen=True, kw_only=True):
    """Numbers about the actors of this process. `restarts`, `activations` and `passivations` count
    since the start."""

    actors: int
    dormant: int
    dirty: int
    in_flight: int
    held_deliveries: int
    held_bytes: int
    restarts: int
    activations: int
    passivations: int
