"""Outcomes wait in a line per workspace: one workspace's crowd delays no other workspace."""

import pytest

from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import DeliveryClass, DeliveryStatus
from engine.recording.group import QueuedOutcome as Waiting
from engine.recording.outcome_queue import GROUP_BYTES, GROUP_OWNERS, RUN, OutcomeQueue
from tests.engine.fakes import Owner

GROUP = 100


def settled(name: str, body: bytes = b"") -> Settlement:
    delivery = Delivery(name, Event("e", 1, "t", 0, b"{}"), "d", DeliveryClass.STANDARD)
    outcome = Outcome(0.0, 1, True, 200, body=body)
    return Settlement(delivery, DeliveryStatus.DELIVERED, Attempt(1, outcome, 1), 0)


def names(taken: list[Waiting]) -> list[str]:
    return [settlement.delivery.id for settlement, _ in taken]


@pytest.fixture
def queue() -> OutcomeQueue:
    return OutcomeQueue(GROUP)


def test_of_one_workspace_outcomes_are_taken_in_their_order(queue: OutcomeQueue) -> None:
    owners = [Owner(), Owner()]
    for number in range(150):
        queue.add([settled(str(number))], owners[number % 2])
    first = queue.take()
    assert names(first) == [str(number) for number in range(GROUP)]
    assert len(queue) == 50
    queue.give_back(first)
    assert names(queue.take()) == names(first)
    assert names(queue.take()) == [str(number) for number in range(GROUP, 150)]
    assert not queue
    assert queue.take() == []


def test_ten_thousand_of_one_workspace_go_ahead_of_nobody(queue: OutcomeQueue) -> None:
    crowd = Owner("crowd")
    for number in range(10_000):
        queue.add([settled(str(number))], crowd)
    queue.add([settled("a"), settled("b")], Owner("healthy"))
    taken = names(queue.take())
    assert len(taken) == GROUP
    assert taken[RUN : RUN + 2] == ["a", "b"]
    del taken[RUN : RUN + 2]
    assert taken == [str(number) for number in range(GROUP - 2)]


def test_what_is_given_back_is_taken_first_in_its_order(queue: OutcomeQueue) -> None:
    for name in ("x", "y"):
        queue.add([settled(f"{name}{number}") for number in range(80)], Owner(name))
    taken = queue.take()
    queue.add([settled("z")], Owner("z"))
    queue.give_back(taken)
    assert len(queue) == 161
    rest: list[str] = []
    while queue:
        rest += names(queue.take())
    for name in ("x", "y"):
        mine = [each for each in rest if each.startswith(name)]
        assert mine == [f"{name}{number}" for number in range(80)]


def test_only_who_has_most_of_what_waits_is_held(queue: OutcomeQueue) -> None:
    crowd, healthy = Owner("crowd"), Owner("healthy")
    queue.add([settled("c")] * (2 * GROUP), crowd)
    queue.add([settled("h")], healthy)
    assert queue.held == set()
    queue.add([settled("c")], crowd)
    queue.add([settled("h")] * 9, healthy)
    assert queue.held == {"crowd"}
    while len(queue) > GROUP // 2:
        assert not queue.relieve()
        queue.take()
    assert queue.relieve()
    assert queue.held == set()
    assert not queue.relieve()


def test_two_that_share_what_waits_are_both_held(queue: OutcomeQueue) -> None:
    owners = [Owner("a"), Owner("b")]
    for _ in range(GROUP + 1):
        for owner in owners:
            queue.add([settled("x")], owner)
    assert queue.held == {"a", "b"}


def test_a_commit_is_bounded_in_bytes_and_in_destinations() -> None:
    queue = OutcomeQueue(1_000)
    large = settled("large", bytes(GROUP_BYTES // 2))
    queue.add([large] * 3, Owner())
    assert len(queue.take()) == 2
    assert len(queue.take()) == 1
    for _ in range(GROUP_OWNERS + 1):
        queue.add([settled("x"), settled("y")], Owner())
    assert len(queue.take()) == 2 * GROUP_OWNERS - 1  # the last owner's second outcome waits
    assert len(queue.take()) == 3
