"""Steps of the wall clock, as an actor follows them. Nothing here awaits."""

from typing import Protocol

from engine.core.machine import DestinationMachine


class Following(Protocol):
    """An actor, as far as its instants go. They are seconds since the epoch, as the clock said them after
    the first `stepped_s` seconds of its steps."""

    machine: DestinationMachine | None
    last_active: float
    started_at: float
    stepped_s: float


def catch_up(actor: Following, total_s: float, now: float) -> None:
    """Move an actor's instants by the steps that it has not followed. `total_s`: all steps together."""
    by_s, actor.stepped_s = total_s - actor.stepped_s, total_s
    actor.last_active += by_s
    actor.started_at += by_s
    if actor.machine is not None:
        actor.machine.clock_stepped(by_s, now)
