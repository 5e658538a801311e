"""The limit on a workspace's attempts that wait for scripts."""

from engine.actors.attempts import Attempts
from engine.actors.script_limit import MOST, ScriptLimit
from engine.core.destination import Destination, Transform
from tests.actors.flights import a_flight
from tests.core.making import a_destination

SLOW = Transform("t", 1, "function transform(e) { return e; }")


class Actor:
    """An actor of one destination. If the destination has a script, every attempt that the actor begins
    waits for the script's result."""

    def __init__(self, attempts: Attempts, config: Destination) -> None:
        self.attempts = attempts
        self.config = config
        self.began = 0
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1

    def turn(self) -> bool:
        self.wakes = 0
        allowed = self.attempts.allowance(self)
        for _ in range(allowed):
            self.attempts.began(a_flight(f"{id(self)}-{self.began}"), self.config.workspace)
            self.began += 1
            if self.config.transform is not None:
                self.attempts.script_limit.entered(self.config.workspace)
        return self.attempts.used(self, allowed, allowed)


def scripted(attempts: Attempts, workspace: str) -> Actor:
    return Actor(attempts, a_destination(workspace=workspace, transform=SLOW))


def test_one_workspaces_scripts_leave_others_their_places() -> None:
    attempts = Attempts(1_000, lambda _workspace: False)
    greedy = [scripted(attempts, "greedy") for _ in range(20)]
    for actor in greedy:
        while actor.turn():
            pass
    assert sum(actor.began for actor in greedy) == MOST
    other, plain = scripted(attempts, "other"), Actor(attempts, a_destination(workspace="greedy"))
    assert other.turn()
    assert plain.turn()  # attempts of the same workspace without a script can begin
    assert not any(actor.wakes for actor in greedy)


def test_who_was_held_goes_on_in_order_and_nobody_is_forgotten() -> None:
    attempts = Attempts(100_000, lambda _workspace: False)
    actors = [scripted(attempts, "greedy") for _ in range(400)]
    for actor in actors:
        while actor.turn():
            pass
    for _ in range(400 * 64):
        attempts.script_limit.left("greedy")
        attempts.ended("greedy")
        for actor in actors:
            if actor.wakes and actor.turn():
                actor.wake()
        if all(actor.began for actor in actors):
            break
    assert all(actor.began for actor in actors)


def test_with_nothing_left_under_way_all_are_woken() -> None:
    attempts = Attempts(100_000, lambda _workspace: False)
    actors = [scripted(attempts, "w") for _ in range(500)]
    for actor in actors:
        while actor.turn():
            pass
    held = [actor for actor in actors if not actor.began]
    for _ in range(MOST):
        attempts.script_limit.left("w")  # the actors that this wakes have nothing to send
    assert all(actor.wakes == 1 for actor in held)


def test_who_leaves_is_not_woken() -> None:
    attempts = Attempts(1_000, lambda _workspace: False)
    first, late = scripted(attempts, "w"), scripted(attempts, "w")
    while first.turn():
        pass
    assert not late.turn()
    attempts.leave(late)
    for _ in range(MOST):
        attempts.script_limit.left("w")
    assert late.wakes == 0


def test_who_is_held_keeps_no_place_in_the_line() -> None:
    attempts = Attempts(8, lambda _workspace: False, portion=8)
    script_limit = attempts.script_limit
    waits, other = scripted(attempts, "w"), scripted(attempts, "other")
    while other.turn():
        pass
    assert not waits.turn()  # it waits in line, since no place is free
    for _ in range(MOST):
        script_limit.entered("w")
    last = scripted(attempts, "last")
    assert not last.turn()
    for _ in range(2):
        attempts.ended("other")
    assert waits.wakes == 1
    assert not waits.turn()
    assert (waits.began, last.wakes) == (0, 1)  # its place went to the next actor
    last.turn()
    assert last.began > 0


def test_counts_of_nobody_are_not_kept() -> None:
    script_limit = ScriptLimit(2)
    for _ in range(2):
        script_limit.entered("w")
    for _ in range(2):
        script_limit.left("w")
    assert (script_limit._counts, script_limit._full, script_limit._held) == ({}, set(), {})
