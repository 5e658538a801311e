"""The limit on the attempts in flight of all destinations together: how many attempts each destination
can begin, and which destination comes first."""

import pytest
import trio
from trio.testing import MockClock

from engine.actors.attempts import (
    GRANT,
    LOOK_EVERY_S,
    PORTION,
    TURN_SENDS,
    UNHEARD_S,
    Attempts,
)
from engine.core.vocabulary import ErrorCategory
from engine.runtime.clock import Clock
from tests.actors.flights import Heard, a_flight
from tests.core.making import a_destination, a_success

WORKSPACE = "w"


class Actor:
    """An actor that wants to send. `wakes` counts its wake-ups."""

    def __init__(self, attempts: Attempts, wants: int, workspace: str = WORKSPACE) -> None:
        self.attempts = attempts
        self.wants = wants
        self.config = a_destination(workspace=workspace)
        self.began = 0
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1

    def turn(self) -> bool:
        allowed = self.attempts.allowance(self)
        count = min(allowed, self.wants)
        for _ in range(count):
            self.attempts.began(a_flight(f"{id(self)}-{self.began}"), self.config.workspace)
            self.began += 1
        self.wants -= count
        return self.attempts.used(self, allowed, count)


def settle(actors: list[Actor]) -> None:
    while any(actor.wakes for actor in actors):
        for actor in actors:
            if actor.wakes:
                actor.wakes = 0
                if actor.turn():
                    actor.wake()


class Congestion:
    """The recorder's answer: the congested workspaces."""

    def __init__(self, *workspaces: str) -> None:
        self.now = set(workspaces)

    def __call__(self, workspace: str) -> bool:
        return workspace in self.now


def of_one(limit: int, congested: Congestion) -> Attempts:
    """Return an `Attempts` that allows a single workspace to use the whole limit."""
    return Attempts(limit, congested, portion=limit)


def test_a_turn_begins_at_most_so_many_and_comes_again() -> None:
    attempts = of_one(1_000, Congestion())
    actor = Actor(attempts, TURN_SENDS + 5)
    assert actor.turn()
    assert actor.began == TURN_SENDS
    assert not actor.turn()
    assert actor.began == TURN_SENDS + 5


def test_past_the_cap_actors_wait_in_line_and_are_woken_in_order() -> None:
    attempts = of_one(10, Congestion())
    actors = [Actor(attempts, 6) for _ in range(4)]
    for actor in actors:
        actor.turn()
    assert [actor.began for actor in actors] == [6, 4, 0, 0]
    for freed in range(1, 4):
        attempts.ended(WORKSPACE)
        assert sum(actor.wakes for actor in actors) == freed
        actors[freed].turn()
    assert attempts.in_flight == 10
    assert [actor.began for actor in actors] == [6, 5, 1, 1]


def test_nobody_jumps_the_queue() -> None:
    attempts = of_one(10, Congestion())
    first, second, third = (Actor(attempts, 10) for _ in range(3))
    first.turn()
    second.turn()
    attempts.ended(WORKSPACE)
    third.turn()
    settle([first, second, third])
    assert (first.began, second.began, third.began) == (10, 1, 0)


def test_what_becomes_free_is_shared_in_small_portions() -> None:
    attempts = of_one(100, Congestion())
    greedy, *others = [Actor(attempts, 1_000) for _ in range(4)]
    while attempts.in_flight < 100:
        greedy.turn()
    greedy.turn()
    for actor in others:
        actor.turn()
    for _ in range(60):
        attempts.ended(WORKSPACE)
    for _ in range(4):
        for actor in (greedy, *others):
            if actor.wakes:
                actor.wakes = 0
                actor.turn()
    assert attempts.in_flight == 100
    assert all(actor.began >= GRANT for actor in others)


def test_a_place_that_is_not_needed_passes_to_the_next() -> None:
    attempts = of_one(1, Congestion())
    busy, idle, waiting = Actor(attempts, 2), Actor(attempts, 1), Actor(attempts, 1)
    for actor in (busy, idle, waiting):
        actor.turn()
    busy.wants = idle.wants = 0
    attempts.ended(WORKSPACE)
    assert (busy.wakes, idle.wakes, waiting.wakes) == (1, 0, 0)
    busy.turn()
    assert (idle.wakes, waiting.wakes) == (1, 0)
    idle.turn()
    assert waiting.wakes == 1
    waiting.turn()
    assert waiting.began == 1


def test_who_wants_none_any_more_passes_its_place_on() -> None:
    attempts = of_one(1, Congestion())
    first, second = Actor(attempts, 1), Actor(attempts, 1)
    first.turn()  # it began all attempts that it was granted, and may want more
    second.turn()
    attempts.ended(WORKSPACE)
    assert (first.wakes, second.wakes) == (1, 0)
    assert not attempts.used(first, None, 0)
    assert second.wakes == 1
    second.turn()
    assert second.began == 1


def test_an_actor_that_is_gone_passes_its_place_on() -> None:
    attempts = of_one(1, Congestion())
    attempts.began(a_flight("busy"), "w")
    gone, waiting, leaving = (Actor(attempts, 1) for _ in range(3))
    for actor in (gone, waiting, leaving):
        actor.turn()
    attempts.leave(leaving)
    attempts.ended(WORKSPACE)
    assert (gone.wakes, waiting.wakes) == (1, 0)
    attempts.leave(gone)
    assert waiting.wakes == 1
    attempts.leave(waiting)
    assert leaving.wakes == 0
    late = Actor(attempts, 1)
    late.turn()
    assert late.began == 1


def test_nothing_begins_while_outcomes_wait_and_all_come_when_that_ends() -> None:
    congestion = Congestion(WORKSPACE)
    attempts = of_one(100, congestion)
    actors = [Actor(attempts, 3) for _ in range(5)]
    for actor in actors:
        actor.turn()
    assert attempts.in_flight == 0
    congestion.now.clear()
    attempts.pass_on()
    assert [actor.wakes for actor in actors] == [1] * 5
    for actor in actors:
        actor.turn()
    assert attempts.in_flight == 15


def test_outcomes_of_one_workspace_that_wait_keep_no_other_from_sending() -> None:
    congestion = Congestion("crowd")
    attempts = Attempts(10, congestion)
    crowd, healthy = Actor(attempts, 3, "crowd"), Actor(attempts, 12, "healthy")
    for actor in (crowd, healthy):
        actor.turn()
    assert (crowd.began, healthy.began) == (0, 8)
    attempts.ended("healthy")  # the free place goes to an actor that waits and may begin
    assert (crowd.wakes, healthy.wakes) == (0, 1)
    congestion.now.clear()
    attempts.pass_on()
    assert crowd.wakes == 1


def test_nothing_begins_after_the_halt() -> None:
    attempts = of_one(100, Congestion())
    attempts.halted = True
    actor = Actor(attempts, 3)
    actor.turn()
    attempts.pass_on()
    assert (actor.began, actor.wakes) == (0, 0)


def test_a_workspace_has_whole_turns_while_much_is_free() -> None:
    attempts = Attempts(1_000, Congestion())
    greedy = Actor(attempts, 1_000)
    while attempts.allowance(greedy) == TURN_SENDS:
        before = greedy.began
        greedy.turn()
        assert greedy.began - before == TURN_SENDS
    assert attempts.in_flight > 1_000 // 2
    greedy.turn()
    assert attempts.in_flight <= 800  # the workspace's share


def test_an_actor_that_waits_or_holds_a_place_has_no_whole_turn() -> None:
    congestion = Congestion(WORKSPACE)
    attempts = Attempts(1_000, congestion)
    waiting, other = Actor(attempts, 1), Actor(attempts, 1, "other")
    waiting.turn()
    assert attempts.allowance(waiting) == 0
    assert attempts.allowance(other) == TURN_SENDS
    congestion.now.clear()
    attempts.pass_on()
    assert (waiting.wakes, attempts.waiting) == (1, 0)
    assert 0 < attempts.allowance(waiting) < TURN_SENDS
    waiting.turn()
    assert attempts.allowance(waiting) == TURN_SENDS


def test_the_congested_and_the_halted_may_begin_nothing() -> None:
    congestion = Congestion(WORKSPACE)
    attempts = Attempts(1_000, congestion)
    crowd, other = Actor(attempts, 1), Actor(attempts, 1, "other")
    assert (attempts.allowance(crowd), attempts.allowance(other)) == (0, TURN_SENDS)
    attempts.halted = True
    assert attempts.allowance(other) == 0


def test_ids_are_known_until_they_are_recorded() -> None:
    attempts = of_one(100, Congestion())
    attempts.began(a_flight("a"), "w")
    attempts.began(a_flight("b", 2), "w")
    attempts.ended(WORKSPACE)
    assert attempts.delivering(["a", "b", "c"]) == {"a", "b"}
    attempts.settling(1)
    attempts.recorded(["a"])
    assert attempts.delivering(["a", "b", "c"]) == {"b"}
    assert attempts.of(2) == {"b"}
    assert attempts.of(1) == set()


@pytest.mark.parametrize("limit", [1, 3, 64, 65, 200])
def test_the_cap_is_used_up_and_never_exceeded(limit: int) -> None:
    attempts = of_one(limit, Congestion())
    actors = [Actor(attempts, 50) for _ in range(8)]
    for actor in actors:
        actor.wake()
    for ended in range(8 * 50):
        settle(actors)
        assert attempts.in_flight == min(limit, 8 * 50 - ended)
        attempts.ended(WORKSPACE)
    assert all(actor.began == 50 for actor in actors)


# --- workspaces, over any number of destinations and environments


def crowd(attempts: Attempts, workspace: str, destinations: int, each: int = 2) -> list[Actor]:
    actors = [Actor(attempts, each, workspace) for _ in range(destinations)]
    for actor in actors:
        actor.wake()
    settle(actors)
    return actors


def begun(actors: list[Actor]) -> int:
    return sum(actor.began for actor in actors)


def test_a_crowd_of_destinations_leaves_others_their_places_at_once() -> None:
    attempts = Attempts(1_000, Congestion())
    greedy = crowd(attempts, "greedy", 2_000)
    assert begun(greedy) == 1_000 * PORTION // (PORTION + 1)
    assert attempts.waiting > 1_000
    for number in range(10):
        other = Actor(attempts, 8, f"small-{number}")
        other.turn()
        assert (other.began, other.wakes) == (8, 0)  # it began at once, although actors wait
    attempts.ended("greedy")
    assert begun(greedy) == 800  # its share has shrunk, so the freed place is not granted to it
    assert not any(actor.wakes for actor in greedy)


def test_greedy_workspaces_come_to_have_as_much_and_leave_some() -> None:
    attempts = Attempts(1_000, Congestion())
    sizes = {"first": 3_000, "second": 300, "third": 1_500}
    actors = {name: crowd(attempts, name, count, 50) for name, count in sizes.items()}
    held = {name: begun(each) for name, each in actors.items()}
    assert held["first"] == 800
    everybody = [actor for each in actors.values() for actor in each]
    for _ in range(3_000):
        oldest = max(held, key=held.__getitem__)  # the largest workspace ends most often
        attempts.ended(oldest)
        before = {name: begun(each) for name, each in actors.items()}
        settle(everybody)
        held[oldest] -= 1
        for name, each in actors.items():
            held[name] += begun(each) - before[name]
    assert sum(held.values()) == attempts.in_flight
    assert max(held.values()) - min(held.values()) <= 2 * GRANT
    late = Actor(attempts, 8, "late")
    late.turn()
    assert late.began == 8


def test_of_what_is_free_at_the_cap_workspaces_are_granted_in_turn() -> None:
    attempts = of_one(100, Congestion())
    greedy = crowd(attempts, "greedy", 200)
    other = crowd(attempts, "other", 1, 5)
    assert (attempts.in_flight, begun(other)) == (100, 0)
    attempts.ended("greedy")
    attempts.ended("greedy")
    settle(greedy + other)
    assert begun(other) == 1
    assert begun(greedy) == 101


def test_places_granted_are_kept_for_whom_they_were_granted_to() -> None:
    attempts = of_one(10, Congestion())
    greedy = crowd(attempts, "greedy", 10)
    attempts.ended("greedy")  # a waiting actor is granted the place, but has had no turn yet
    other = Actor(attempts, 1, "other")
    other.turn()
    assert (other.began, attempts.in_flight) == (0, 9)
    settle(greedy)
    assert attempts.in_flight == 10


def test_an_attempt_that_nobody_ends_fails_after_its_deadline() -> None:
    heard, attempts = Heard(), of_one(100, Congestion())
    lost, ending = a_flight("lost", actor=heard), a_flight("ending", actor=heard)
    for flight in (lost, ending):
        attempts.began(flight, WORKSPACE)
    attempts.end_unheard(0.0, 1_000.0)
    attempts.end_unheard(UNHEARD_S - 1, 1_000.0 + UNHEARD_S - 1)
    ending(a_success())
    assert heard.flights == [ending]
    attempts.end_unheard(UNHEARD_S, 1_000.0 + UNHEARD_S)
    assert heard.flights == [ending, lost]
    assert lost.outcome is not None
    assert (lost.outcome.category, lost.outcome.unsent) == (ErrorCategory.INTERNAL, True)
    assert lost.outcome.started_at == 1_000.0
    lost(a_success())  # a later outcome is not counted
    assert not lost.outcome.success


def test_the_next_attempt_of_a_delivery_has_a_deadline_of_its_own() -> None:
    heard, attempts = Heard(), of_one(100, Congestion())
    attempts.began(a_flight("d", actor=heard), WORKSPACE)
    attempts.end_unheard(0.0, 0.0)
    attempts.began(a_flight("d", actor=heard), WORKSPACE)
    attempts.end_unheard(UNHEARD_S, UNHEARD_S)
    assert not heard.flights
    attempts.end_unheard(2 * UNHEARD_S, 2 * UNHEARD_S)
    assert len(heard.flights) == 1


async def test_a_place_that_was_not_granted_is_granted_by_the_next_check(
    autojump_clock: MockClock,
) -> None:
    congested = Congestion(WORKSPACE)
    attempts = of_one(10, congested)
    actor = Actor(attempts, 1)
    actor.turn()
    assert (actor.began, attempts.waiting) == (0, 1)
    congested.now.clear()  # and the call that says so broke
    with trio.move_on_after(LOOK_EVERY_S + 1):
        await attempts.watch(Clock())
    settle([actor])
    assert (actor.began, attempts.waiting) == (1, 0)
