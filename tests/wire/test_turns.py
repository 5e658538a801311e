"""Resources that all workspaces share: workspaces that wait are served in turn, and no workspace can take
all of a resource."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.runtime.timers import Timers
from engine.wire.descriptors import Descriptors
from engine.wire.openings import REST, Handshakes, Openings


class Nobody:
    """Implements `Idle` with the given numbers of connections."""

    def __init__(self, descriptors: list[Descriptors], idle: dict[str, int]) -> None:
        self._descriptors = descriptors
        self.idle = idle

    def __len__(self) -> int:
        return sum(self.idle.values())

    def evict(self, workspace: str | None) -> bool:
        whose = workspace if self.idle.get(workspace or "") else next(iter(self.idle), None)
        if whose is None:
            return False
        self.idle[whose] -= 1
        if not self.idle[whose]:
            del self.idle[whose]
        self._descriptors[0].give(whose)
        return True


class Wanting:
    def __init__(self) -> None:
        self.got = 0

    def granted(self) -> None:
        self.got += 1

    placed = granted


def descriptors_of(limit: int, **idle: int) -> Descriptors:
    made: list[Descriptors] = []
    found = Descriptors(limit, Timers(lambda _error: None), Nobody(made, {}))
    made.append(found)
    for workspace, count in idle.items():
        for _ in range(count):
            assert found.take(workspace)
    found._idle = Nobody(made, dict(idle))
    return found


def test_a_workspace_leaves_descriptors_to_others() -> None:
    descriptors = descriptors_of(9)
    assert sum(descriptors.take("greedy") for _ in range(20)) == 6 == descriptors.most
    assert descriptors.take("other")
    waiting = Wanting()
    descriptors.wait(waiting, "greedy")
    assert not descriptors.take("greedy")
    descriptors.give("other")
    assert waiting.got == 0  # six are its share
    descriptors.give("greedy")
    assert waiting.got == 1
    assert descriptors.used == 6


def test_idle_connections_count_as_free_and_make_room() -> None:
    descriptors = descriptors_of(6, quiet=4)
    assert descriptors.used == 4
    assert sum(descriptors.take("busy") for _ in range(4)) == 4
    assert descriptors.evicted == 2
    assert descriptors.used == 6


def test_who_has_more_than_an_equal_part_makes_room_among_its_own() -> None:
    descriptors = descriptors_of(6, small=1, large=3)
    descriptors.take("large"), descriptors.take("large")
    assert descriptors.used == 6
    assert descriptors.take("large")
    assert descriptors._held._of == {"small": 1, "large": 5}


def test_of_those_who_wait_for_descriptors_each_workspace_gets_one_in_turn() -> None:
    descriptors = descriptors_of(4)
    for workspace in ("a", "b", "c", "d"):
        assert descriptors.take(workspace)
    greedy, other = [Wanting() for _ in range(3)], Wanting()
    for each in greedy:
        descriptors.wait(each, "greedy")
    descriptors.wait(other, "other")
    descriptors.give("a")
    descriptors.give("b")
    assert [each.got for each in greedy] == [1, 0, 0]
    assert other.got == 1
    descriptors.leave(greedy[1], "greedy")
    assert descriptors.waiting == 1


def test_however_many_are_served_of_idle_connections_nobody_is_lost() -> None:
    descriptors = descriptors_of(3_000)
    for _ in range(1_800):
        assert descriptors.take("waiting")
    idle: dict[str, int] = {}
    for workspace in ("b", "c", "d", "e", "f", "g", "h", "i"):
        while descriptors.used < 2_999 and descriptors.take(workspace):
            idle[workspace] = idle.get(workspace, 0) + 1
    assert descriptors.used == 2_999
    crowd = [Wanting() for _ in range(600)]
    for each in crowd:
        descriptors.wait(each, "waiting")
    descriptors._idle = Nobody([descriptors], idle)
    # The first waiter gets the free descriptor. For each further waiter, an idle connection is evicted,
    # and the waiter gets the descriptor of that connection.
    descriptors.give("waiting")
    served = sum(each.got for each in crowd)
    assert served + descriptors.waiting == 600
    assert served > 150
    assert descriptors.used == sum(descriptors._held._of.values()) == 3_000


def test_a_workspace_whose_receivers_hang_leaves_places_for_connections_to_others() -> None:
    openings = Openings(8)
    stuck = sum(openings.take("stuck") for _ in range(20))
    assert stuck == 4
    more = sum(openings.take("stuck too") for _ in range(20))
    assert more == 2
    waiting = Wanting()
    openings.wait(waiting, "stuck")
    assert openings.take("healthy")
    openings.give("healthy")
    assert waiting.got == 0
    openings.give("stuck")
    assert waiting.got == 0  # it has three of six, and three remain
    openings.give("stuck")
    assert waiting.got == 1
    openings.wait(waiting, "stuck")
    openings.leave(waiting, "stuck")
    assert openings.waiting == 0


def test_a_place_that_is_given_back_costs_the_same_however_many_workspaces_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    openings, crowd, looks = Openings(4), [Wanting() for _ in range(1_000)], list[str]()
    for number in range(4):
        assert openings.take(f"first {number}")
    for number, each in enumerate(crowd):
        openings.wait(each, f"{number}")
    may = openings._may

    def counted(workspace: str) -> bool:
        looks.append(workspace)
        return may(workspace)

    monkeypatch.setattr(openings, "_may", counted)
    for number in range(4):
        openings.give(f"first {number}")
    assert [each.got for each in crowd] == [1] * 4 + [0] * 996
    assert len(looks) == 4


class Step:
    """A handshake whose step takes some of the clock's time."""

    def __init__(self, name: str, log: list[str], clock: list[float], cost: float = 0.5) -> None:
        self._name, self._log, self._clock, self._cost = name, log, clock, cost

    def shake(self) -> None:
        self._log.append(self._name)
        self._clock[0] += self._cost


async def test_handshakes_take_turns_and_leave_most_of_the_time_to_others(
    mock_clock: MockClock,
) -> None:
    errors: list[Exception] = []
    timers, spent, log = Timers(errors.append), [0.0], list[str]()
    handshakes = Handshakes(timers, lambda: spent[0])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        for name in ("a1", "a2", "a3"):
            handshakes.ask(Step(name, log, spent), "a")
        handshakes.ask(Step("b1", log, spent), "b")
        gone = Step("gone", log, spent)
        handshakes.ask(gone, "b")
        handshakes.leave(gone, "b")
        await wait_all_tasks_blocked()
        assert log == ["a1"]  # immediately, and alone
        for expected in (["a1", "b1"], ["a1", "b1", "a2"], ["a1", "b1", "a2", "a3"]):
            mock_clock.jump(0.5 * REST - 0.01)
            await wait_all_tasks_blocked()
            assert log == expected[:-1]
            mock_clock.jump(0.02)
            await wait_all_tasks_blocked()
            assert log == expected
        # The pace also applies after a pause in the line.
        handshakes.ask(Step("late", log, spent), "c")
        await wait_all_tasks_blocked()
        assert log[-1] == "a3"
        mock_clock.jump(0.5 * REST)
        await wait_all_tasks_blocked()
        assert log[-1] == "late"
        assert (handshakes.steps, handshakes.waiting) == (5, 0)
        nursery.cancel_scope.cancel()
    assert errors == []
