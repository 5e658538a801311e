"""Steps of the wall clock, as destinations with and without an actor follow them. Nothing here awaits."""

from engine.actors.directory import Directory

# A step back by less lets no retry wait much longer than its schedule says.
SLEPT_OVER_S = 60.0


def follow(directory: Directory, by_s: float, now: float) -> None:
    """Let destinations follow a step of the clock, which says `now` after it.

    All actors together, at some microseconds each: an actor must not compare instants of two clocks. A
    destination without an actor follows when its next machine is made.
    """
    directory.steps.add(by_s, now)
    for actor in directory.actors.values():
        actor.last_active += by_s
        actor.started_at += by_s
        if actor.machine is not None:
            actor.machine.clock_stepped(by_s, now)
            actor.wake()  # a retry can be due, and a snapshot is to be written
    if by_s < -SLEPT_OVER_S:
        for destination in directory.sleeping():
            directory.awaken(destination)  # its machine limits the waits to the schedule's
