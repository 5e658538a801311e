"""The intake's queue: each environment has its own line, and no line delays another."""

import random

from engine.core.records import Event
from engine.intake.queue import IntakeQueue
from engine.model.identity import Identity
from engine.submission.submission import Submission

IDENTITY = Identity()


def make(environment: int, events: int = 1, size: int = 100) -> Submission:
    made = [Event(IDENTITY.event(), environment, "t", 0, b"{}") for _ in range(events)]
    return Submission(made, [], [], size * events, lambda _: None)


def filled(*submissions: Submission, most: int = 10_000, size: int = 1_000_000) -> IntakeQueue:
    queue = IntakeQueue(most, size)
    for each in submissions:
        assert queue.put(each)
    return queue


def test_one_of_each_line_is_taken_in_turn_and_each_line_keeps_its_order() -> None:
    first = [make(1) for _ in range(5)]
    other = [make(2) for _ in range(2)]
    queue = filled(*first, *other)
    expected = [first[0], other[0], first[1], other[1], first[2]]
    assert queue.gather(5, 1_000_000) == expected
    assert queue.gather(5, 1_000_000) == first[3:]
    assert not queue
    assert (queue.events, queue.weight, queue.size) == (0, 0, 0)


def test_a_batch_that_fills_a_group_holds_up_no_single_event_and_comes_next() -> None:
    batches = [make(1, 100) for _ in range(3)]
    single, late = make(2), make(2)
    queue = filled(*batches, single)
    assert queue.gather(100, 1_000_000) == [batches[0]]
    assert queue.put(late)
    # The single event did not fit before, so it comes first.
    assert queue.gather(100, 1_000_000) == [single, late]
    assert queue.gather(100, 1_000_000) == [batches[1]]
    assert queue.gather(100, 1_000_000) == [batches[2]]


def test_a_group_ends_before_it_has_more_bytes_than_it_may_have() -> None:
    submissions = [make(environment, size=100) for environment in (1, 2, 3, 4)]
    queue = filled(*submissions)
    assert queue.gather(100, 300) == submissions[:3]
    assert queue.gather(100, 99) == submissions[3:], "the first of a group may be larger by itself"


def test_lines_that_are_held_up_stay() -> None:
    heavy, light = make(1, 10), make(2)
    queue = filled(heavy, light)
    assert queue.others({1})
    assert not queue.others({1, 2})
    assert queue.gather(100, 1_000_000, without={1}) == [light]
    assert queue.gather(100, 1_000_000) == [heavy]


class Counting(frozenset[int]):
    """An empty set of excluded environments that counts its look-ups."""

    asked = 0

    def __contains__(self, environment: object) -> bool:
        self.asked += 1
        return False


def test_a_group_costs_what_it_takes_however_many_environments_wait() -> None:
    queue = filled(*(make(environment) for environment in [*range(5_000)] * 2))
    taken = []
    for _ in range(100):
        left_out = Counting()
        taken += queue.gather(100, 1_000_000, left_out)
        assert left_out.asked <= 100
    assert [each.events[0].environment for each in taken] == [*range(5_000)] * 2
    assert not queue


def test_a_batch_that_is_larger_than_a_group_waits_for_one_round_at_most() -> None:
    queue = filled(*(make(environment) for environment in range(20)))
    huge = make(99, 50)
    assert queue.put(huge)
    groups = 0
    while huge not in queue.gather(10, 1_000_000):
        groups += 1
        for environment in range(20):  # the other environments always have submissions
            assert queue.put(make(environment))
    assert groups == 2


def test_a_line_leaves_room_for_others() -> None:
    queue = IntakeQueue(100, 1_000_000)
    assert sum(queue.put(make(1)) for _ in range(200)) == 81
    assert queue.put(make(2))
    assert not queue.put(make(1))
    by_size = IntakeQueue(1_000_000, 1_000)
    assert sum(by_size.put(make(1, size=10)) for _ in range(200)) == 81
    assert by_size.put(make(2, size=10))


def test_when_nothing_waits_there_is_room_for_any() -> None:
    queue = IntakeQueue(100, 1_000)
    for alone in (make(1, 100, size=10), make(1, 101, size=1), make(1, 2, size=501)):
        assert queue.put(alone)
        assert not queue.put(make(1))
        assert not queue.put(make(2))
        assert queue.gather(10, 100) == [alone]
        assert not queue
        assert queue.weight == queue.size == 0


def test_nothing_is_lost_or_turned_around_in_any_order_of_calls() -> None:
    chance = random.Random(7)
    queue = IntakeQueue(400, 40_000)
    given: dict[int, list[Submission]] = {}
    taken: dict[int, list[Submission]] = {}
    for _ in range(3_000):
        if chance.random() < 0.6:
            environment = chance.randrange(5)
            submission = make(environment, chance.choice((1, 1, 1, 20)))
            if queue.put(submission):
                given.setdefault(environment, []).append(submission)
        else:
            without = {each for each in range(5) if chance.random() < 0.2}
            group = queue.gather(30, 3_000, without)
            assert len(group) == 1 or sum(len(each.events) for each in group) <= 30
            for each in group:
                taken.setdefault(each.events[0].environment, []).append(each)
        waiting = [each for line in queue._queue._queues.values() for each in line]
        assert queue.weight == sum(each.weight for each in waiting)
        assert queue.size == sum(each.size for each in waiting)
        assert queue.events == sum(len(each.events) for each in waiting)
    for each in queue.clear():
        taken.setdefault(each.events[0].environment, []).append(each)
    assert taken == given
