"""Steps of the wall clock, as actors in memory follow them. Nothing here awaits."""

from collections.abc import Iterable

from engine.actors.actor import DestinationActor


def follow(actors: Iterable[DestinationActor], by_s: float, now: float) -> None:
    """Let actors follow a step of the clock, which says `now` after it.

    All of them together, at some microseconds each: an actor must not compare instants of two clocks.
    """
    for actor in actors:
        actor.last_active += by_s
        actor.started_at += by_s
        if actor.machine is not None:
            actor.machine.clock_stepped(by_s, now)
            actor.wake()  # a retry can be due, and a snapshot is to be written
