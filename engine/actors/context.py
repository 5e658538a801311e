"""The context of all actors: the services of their process, and the history of the wall clock's steps
(the times when the clock was set)."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import structlog
from msgspec import structs

from engine.actors.attempts import Attempts, broken
from engine.actors.awaited import Awaited
from engine.actors.checkpoint import Recording
from engine.actors.dispatcher import Dispatcher
from engine.actors.lifecycle import Departure
from engine.actors.mailbox import Flight
from engine.actors.memory import Memory
from engine.actors.readers import Readers
from engine.actors.script_limit import Member
from engine.actors.snapshots import Snapshots
from engine.core.clock_history import ClockHistory
from engine.core.commands import Commands, MemoryLimits
from engine.core.destination import Destination
from engine.core.health import Health, Hold, HoldReason
from engine.core.machine import DestinationMachine
from engine.core.snapshot import decode
from engine.model.trace import log_fields
from engine.ports import Sender
from engine.runtime.timers import Timers

log = structlog.get_logger("angarium.actors")


class Clocked(Protocol):
    """The part of an actor that changes when the wall clock steps."""

    machine: DestinationMachine | None
    last_active: float
    started_at: float
    stepped_s: float  # the clock steps that this actor has followed


class Context:
    """The services that all actors share. An actor calls `retired` when the actor leaves memory, and
    `gone` when the actor's state machine decides that the destination must be disabled."""

    __slots__ = (
        "attempts", "awaited", "crashes", "dispatcher", "gone", "jitter", "limits", "make_machine",
        "mark_after", "memory", "now", "readers", "recorder", "retired", "sender", "snapshots", "steps",
        "timers",
    )  # fmt: skip

    def __init__(
        self,
        *,
        now: Callable[[], float],
        jitter: Callable[[], float],
        limits: MemoryLimits,
        make_machine: Callable[..., DestinationMachine],
        timers: Timers,
        sender: Sender,
        recorder: Recording,
        dispatcher: Dispatcher,
        readers: Readers,
        attempts: Attempts,
        memory: Memory,
        mark_after: int,
        gone: Callable[[Destination, Commands], None],
        retired: Callable[[Destination, Departure], None],
    ) -> None:
        self.now = now
        self.jitter = jitter
        self.limits = limits
        self.make_machine = make_machine
        self.timers = timers
        self.sender = sender
        self.recorder = recorder
        self.dispatcher = dispatcher
        self.readers = readers
        self.attempts = attempts
        self.memory = memory
        self.gone = gone
        self.retired = retired
        self.snapshots = Snapshots()
        self.steps = ClockHistory()
        self.awaited = Awaited()
        self.mark_after = mark_after
        self.crashes = 0  # of all actors

    def now_of(self, actor: Clocked) -> float:
        """Return the present instant. If the wall clock was set forward or back, first shift the instants
        that the actor and its state machine remember."""
        now = self.now()
        if actor.stepped_s != self.steps.total_s:
            by_s, actor.stepped_s = self.steps.total_s - actor.stepped_s, self.steps.total_s
            actor.last_active += by_s
            actor.started_at += by_s
            if actor.machine is not None:
                actor.machine.clock_stepped(by_s, now)
        return now

    def fail(self, flight: Flight, error: Exception) -> None:
        """Fail an attempt because `Sender.send` raised. A timer passes the failure to the actor later,
        because the actor is still in its turn and takes no outcome there. If the request is sent after
        all, its outcome is ignored."""
        delivery = flight.delivery
        log.error(
            "attempt.not_begun", delivery=delivery.id, exc_info=error,
            **log_fields(delivery.event.trace),
        )  # fmt: skip
        outcome = broken(self.now(), 0.0, "the service failed to begin the attempt")
        self.timers.call_later(0, partial(flight, outcome))

    def give_places_back(self, actor: Member) -> None:
        """Give back the places of an actor that drops its state machine. Never raises. If an error leaves
        a granted place with the actor, the actor gives the place back in the first turn of its next state
        machine."""
        try:
            self.attempts.leave(actor)
        except Exception:  # a barrier: the actor begins again
            log.exception("places.not_given_back", destination=actor.config.id)

    def machine_of(
        self, config: Destination, snapshot: bytes | None, now: float
    ) -> DestinationMachine:
        """Return a new state machine that begins with `snapshot`. If the wall clock was set forward or
        back since `snapshot` was taken, the snapshot's instants are shifted by the same amount."""
        known = decode(snapshot) if self.steps else None
        by_s = 0.0 if known is None else self.steps.since(known.taken_at, now)
        machine = self.make_machine(config, self.limits, now - by_s, self.jitter, snapshot)
        if by_s:
            machine.clock_stepped(by_s, now)
        return machine

    def health(
        self,
        machine: DestinationMachine | None,
        config: Destination,
        snapshot: bytes | None,
        pending: int,
    ) -> Health:
        """Return the health of a destination."""
        now = self.now()
        if machine is not None:
            health = machine.health(now)
        else:
            machine = self.machine_of(config, snapshot, now)
            health = structs.replace(machine.health(now, pending), stored=pending)
        if health.hold is None and self.attempts.congested(config.workspace):
            return structs.replace(health, hold=Hold(HoldReason.STORE))
        return health
