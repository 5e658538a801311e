"""The cap on attempts in flight over all destinations: who may begin how many, and in which order."""

import pytest

from engine.actors.attempts import GRANT, TURN_SENDS, Attempts
from tests.core.making import a_destination


class Actor:
    """Who wants to send. `wakes` counts how often it was asked to come."""

    def __init__(self, attempts: Attempts, wants: int) -> None:
        self.attempts = attempts
        self.wants = wants
        self.config = a_destination()
        self.began = 0
        self.wakes = 0

    def wake(self) -> None:
        """Note the call."""
        self.wakes += 1

    def turn(self) -> bool:
        """Begin what is allowed."""
        allowed = self.attempts.allowance(self)
        count = min(allowed, self.wants)
        for _ in range(count):
            self.attempts.began(f"{id(self)}-{self.began}", 1)
            self.began += 1
        self.wants -= count
        return self.attempts.used(self, allowed, count)


def settle(actors: list[Actor]) -> None:
    """Give turns until nobody asks for one."""
    while any(actor.wakes for actor in actors):
        for actor in actors:
            if actor.wakes:
                actor.wakes = 0
                if actor.turn():
                    actor.wake()


class Congestion:
    """The recorder's word."""

    def __init__(self) -> None:
        self.now = False

    def __call__(self) -> bool:
        return self.now


def test_a_turn_begins_at_most_so_many_and_comes_again() -> None:
    attempts = Attempts(1_000, Congestion())
    actor = Actor(attempts, TURN_SENDS + 5)
    assert actor.turn()
    assert actor.began == TURN_SENDS
    assert not actor.turn()
    assert actor.began == TURN_SENDS + 5


def test_past_the_cap_actors_wait_in_line_and_are_woken_in_order() -> None:
    attempts = Attempts(10, Congestion())
    actors = [Actor(attempts, 6) for _ in range(4)]
    for actor in actors:
        actor.turn()
    assert [actor.began for actor in actors] == [6, 4, 0, 0]
    for freed in range(1, 4):
        attempts.ended()
        assert sum(actor.wakes for actor in actors) == freed
        actors[freed].turn()
    assert attempts.in_flight == 10
    assert [actor.began for actor in actors] == [6, 5, 1, 1]


def test_nobody_jumps_the_queue() -> None:
    attempts = Attempts(10, Congestion())
    first, second, third = (Actor(attempts, 10) for _ in range(3))
    first.turn()
    second.turn()
    attempts.ended()
    third.turn()
    settle([first, second, third])
    assert (first.began, second.began, third.began) == (10, 1, 0)


def test_what_becomes_free_is_shared_in_small_portions() -> None:
    attempts = Attempts(100, Congestion())
    greedy, *others = [Actor(attempts, 1_000) for _ in range(4)]
    while attempts.in_flight < 100:
        greedy.turn()
    greedy.turn()
    for actor in others:
        actor.turn()
    for _ in range(60):
        attempts.ended()
    for _ in range(4):
        for actor in (greedy, *others):
            if actor.wakes:
                actor.wakes = 0
                actor.turn()
    assert attempts.in_flight == 100
    assert all(actor.began >= GRANT for actor in others)


def test_a_place_that_is_not_needed_passes_to_the_next() -> None:
    attempts = Attempts(1, Congestion())
    busy, idle, waiting = Actor(attempts, 2), Actor(attempts, 1), Actor(attempts, 1)
    for actor in (busy, idle, waiting):
        actor.turn()
    busy.wants = idle.wants = 0  # what they wanted to send is gone
    attempts.ended()
    assert (busy.wakes, idle.wakes, waiting.wakes) == (1, 0, 0)
    busy.turn()
    assert (idle.wakes, waiting.wakes) == (1, 0)
    idle.turn()
    assert waiting.wakes == 1
    waiting.turn()
    assert waiting.began == 1


def test_an_actor_that_is_gone_passes_its_place_on() -> None:
    attempts = Attempts(1, Congestion())
    attempts.began("busy", 1)
    gone, waiting, leaving = (Actor(attempts, 1) for _ in range(3))
    for actor in (gone, waiting, leaving):
        actor.turn()
    attempts.leave(leaving)
    attempts.ended()
    assert (gone.wakes, waiting.wakes) == (1, 0)
    attempts.leave(gone)
    assert waiting.wakes == 1
    attempts.leave(waiting)
    assert leaving.wakes == 0
    late = Actor(attempts, 1)
    late.turn()
    assert late.began == 1


def test_nothing_begins_while_outcomes_wait_and_all_come_when_that_ends() -> None:
    congestion = Congestion()
    attempts = Attempts(100, congestion)
    actors = [Actor(attempts, 3) for _ in range(5)]
    congestion.now = True
    for actor in actors:
        actor.turn()
    assert attempts.in_flight == 0
    congestion.now = False
    attempts.pass_on()
    assert [actor.wakes for actor in actors] == [1] * 5
    for actor in actors:
        actor.turn()
    assert attempts.in_flight == 15


def test_nothing_begins_after_the_halt() -> None:
    attempts = Attempts(100, Congestion())
    attempts.halted = True
    actor = Actor(attempts, 3)
    actor.turn()
    attempts.pass_on()
    assert (actor.began, actor.wakes) == (0, 0)


def test_ids_are_known_until_they_are_recorded() -> None:
    attempts = Attempts(100, Congestion())
    attempts.began("a", 1)
    attempts.began("b", 2)
    attempts.ended()
    assert attempts.delivering(["a", "b", "c"]) == {"a", "b"}
    attempts.settling(1)
    attempts.recorded(["a"])
    assert attempts.delivering(["a", "b", "c"]) == {"b"}
    assert attempts.of(2) == {"b"}
    assert attempts.of(1) == set()


@pytest.mark.parametrize("limit", [1, 3, 64, 65, 200])
def test_the_cap_is_used_up_and_never_exceeded(limit: int) -> None:
    attempts = Attempts(limit, Congestion())
    actors = [Actor(attempts, 50) for _ in range(8)]
    for actor in actors:
        actor.wake()
    for ended in range(8 * 50):
        settle(actors)
        assert attempts.in_flight == min(limit, 8 * 50 - ended)
        attempts.ended()
    assert all(actor.began == 50 for actor in actors)
