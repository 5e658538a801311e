"""The supervision library: the order of starts and stops, restarts, limits, and the state at the end."""

import itertools
from collections.abc import Awaitable, Callable

import pytest
import trio

from engine.actors.supervisor import Child, GivenUpError, Group, Restart, Supervisor
from engine.ports import OwnershipLostError

Run = Callable[..., Awaitable[object]]


class Journal:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def steady(self, name: str) -> Run:
        async def run() -> None:
            self.lines.append(f"{name} starts")
            try:
                await trio.sleep_forever()
            finally:
                self.lines.append(f"{name} stops")

        return run

    def breaking(self, name: str, times: int) -> Run:
        """Return a child that breaks `times` times, then keeps running."""
        left = times

        async def run() -> None:
            nonlocal left
            self.lines.append(f"{name} starts")
            if left > 0:
                left -= 1
                raise ValueError(name)
            await trio.sleep_forever()

        return run

    def returning(self, name: str) -> Run:
        async def run() -> None:
            self.lines.append(f"{name} starts")

        return run


async def test_children_start_in_order_and_stop_in_reverse(nursery: trio.Nursery) -> None:
    journal = Journal()
    supervisor = Supervisor([Child(name=name, run=journal.steady(name)) for name in "abc"])
    await nursery.start(supervisor.run)
    await trio.testing.wait_all_tasks_blocked()
    supervisor.stop()
    await trio.testing.wait_all_tasks_blocked()
    assert journal.lines == [
        "a starts", "b starts", "c starts", "c stops", "b stops", "a stops",
    ]  # fmt: skip


async def test_told_to_stop_before_all_have_started_it_says_so(nursery: trio.Nursery) -> None:
    journal = Journal()

    async def slow(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await trio.sleep_forever()

    supervisor = Supervisor(
        [
            Child(name="a", run=journal.steady("a")),
            Child(name="slow", run=slow),
            Child(name="c", run=journal.steady("c")),
        ]
    )
    told: list[bool] = []

    async def start() -> None:
        told.append(await nursery.start(supervisor.run))

    nursery.start_soon(start)
    await trio.testing.wait_all_tasks_blocked()
    supervisor.stop()
    await trio.testing.wait_all_tasks_blocked()
    assert told == [False]
    assert journal.lines == ["a starts", "a stops"]


async def test_cancellation_from_outside_stops_in_reverse_order_too() -> None:
    journal = Journal()
    supervisor = Supervisor([Child(name=name, run=journal.steady(name)) for name in "ab"])
    async with trio.open_nursery() as nursery:
        await nursery.start(supervisor.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert journal.lines[-2:] == ["b stops", "a stops"]


async def test_the_next_child_starts_when_the_one_before_has_announced_itself(
    nursery: trio.Nursery,
) -> None:
    journal = Journal()
    may_announce = trio.Event()

    async def slow(task_status: trio.TaskStatus[None]) -> None:
        await may_announce.wait()
        journal.lines.append("slow is ready")
        task_status.started()
        await trio.sleep_forever()

    supervisor = Supervisor(
        [Child(name="slow", run=slow), Child(name="next", run=journal.steady("next"))]
    )
    nursery.start_soon(supervisor.run)
    await trio.testing.wait_all_tasks_blocked()
    assert journal.lines == []
    may_announce.set()
    await trio.testing.wait_all_tasks_blocked()
    assert journal.lines == ["slow is ready", "next starts"]
    nursery.cancel_scope.cancel()


async def test_cancellation_reaches_a_child_that_never_announces_itself() -> None:
    async def stuck(task_status: trio.TaskStatus[None]) -> None:
        await trio.sleep_forever()

    with trio.move_on_after(0.01) as scope:
        await Supervisor([Child(name="stuck", run=stuck)]).run()
    assert scope.cancelled_caught


async def test_a_child_that_breaks_while_it_starts_is_waited_for(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    starts = 0

    async def shaky(task_status: trio.TaskStatus[None]) -> None:
        nonlocal starts
        starts += 1
        if starts < 3:
            raise OSError("not yet")
        task_status.started()
        await trio.sleep_forever()

    supervisor = Supervisor([Child(name="shaky", run=shaky)])
    await nursery.start(supervisor.run)
    assert starts == 3
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("restart", "returns", "starts"),
    [
        (Restart.PERMANENT, True, 4),
        (Restart.PERMANENT, False, 4),
        (Restart.TRANSIENT, True, 1),
        (Restart.TRANSIENT, False, 4),
        (Restart.TEMPORARY, True, 1),
        (Restart.TEMPORARY, False, 1),
    ],
)
async def test_restart_strategies(
    autojump_clock: trio.testing.MockClock, restart: Restart, returns: bool, starts: int
) -> None:
    journal = Journal()
    run = journal.returning("x") if returns else journal.breaking("x", 1_000)
    child = Child(name="x", run=run, restart=restart, restarts=3)
    with trio.move_on_after(100):
        if starts == 1:
            await Supervisor([child]).run()
        else:
            with pytest.raises(GivenUpError) as given_up:
                await Supervisor([child]).run()
            assert given_up.value.child == "x"
            assert returns or isinstance(given_up.value.__cause__, ValueError)
    assert len(journal.lines) == starts


async def test_siblings_never_notice_a_restart(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    journal = Journal()
    supervisor = Supervisor(
        [
            Child(name="calm", run=journal.steady("calm")),
            Child(name="shaky", run=journal.breaking("shaky", 2)),
        ]
    )
    await nursery.start(supervisor.run)
    await trio.sleep(5)
    assert journal.lines == ["calm starts", *["shaky starts"] * 3]
    calm, shaky = supervisor.statistics()
    assert (calm.state, calm.restarts) == ("RUNNING", 0)
    assert (shaky.state, shaky.restarts, shaky.last_error) == ("RUNNING", 2, "ValueError('shaky')")
    nursery.cancel_scope.cancel()


async def test_restarts_back_off_and_old_ones_are_forgotten(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    at: list[float] = []

    async def run() -> None:
        at.append(trio.current_time())
        if len(at) == 4:
            await trio.sleep(61)  # it ran well for long, so earlier failures no longer count
        if len(at) < 7:
            raise ValueError

        await trio.sleep_forever()

    child = Child(name="x", run=run, restarts=3, within_s=60, backoff_s=1, most_backoff_s=3)
    await nursery.start(Supervisor([child]).run)
    await trio.sleep(200)
    gaps = [round(later - earlier, 3) for earlier, later in itertools.pairwise(at)]
    assert gaps == [1, 2, 3, 62, 2, 3]
    nursery.cancel_scope.cancel()


async def test_giving_up_stops_the_others_first(
    autojump_clock: trio.testing.MockClock,
) -> None:
    journal = Journal()
    children = [
        Child(name="calm", run=journal.steady("calm")),
        Child(name="broken", run=journal.breaking("broken", 100), restarts=1),
        Child(name="late", run=journal.steady("late")),
    ]
    with pytest.raises(GivenUpError, match="broken broke 2 times"):
        await Supervisor(children).run()
    assert journal.lines[-2:] == ["late stops", "calm stops"]


async def test_a_child_that_another_process_has_replaced_is_not_started_again() -> None:
    starts = 0

    async def replaced() -> None:
        nonlocal starts
        starts += 1
        raise OwnershipLostError("another server has taken over")

    with pytest.raises(GivenUpError) as given_up:
        await Supervisor([Child(name="intake", run=replaced)]).run()
    assert isinstance(given_up.value.__cause__, OwnershipLostError)
    assert starts == 1


async def test_when_another_has_taken_over_no_child_waits_for_the_end_of_the_next(
    autojump_clock: trio.testing.MockClock,
) -> None:
    told = {"first": trio.Event(), "second": trio.Event()}

    def ending_after(name: str, other: str) -> Run:
        async def run() -> None:
            try:
                await trio.sleep_forever()
            finally:
                told[name].set()
                with trio.CancelScope(shield=True):
                    await told[other].wait()

        return run

    async def replaced() -> None:
        raise OwnershipLostError("another server has taken over")

    children = [
        Child(name="first", run=ending_after("first", "second")),
        Child(name="second", run=ending_after("second", "first")),
        Child(name="intake", run=replaced),
    ]
    with trio.fail_after(60), pytest.raises(GivenUpError):
        await Supervisor(children).run()


async def test_what_children_wait_for_in_vain_is_failed_when_another_has_taken_over(
    autojump_clock: trio.testing.MockClock,
) -> None:
    statement = trio.Event()  # a database that does not answer

    async def writing() -> None:
        with trio.CancelScope(shield=True):
            await statement.wait()

    async def replaced() -> None:
        raise OwnershipLostError("another server has taken over")

    children = [Child(name="settling", run=writing), Child(name="intake", run=replaced)]
    with trio.fail_after(60), pytest.raises(GivenUpError):
        await Supervisor(children, on_lost=statement.set).run()


async def test_what_another_cause_ends_may_finish_its_statements() -> None:
    lost = 0

    async def stuck() -> None:
        raise ValueError("broken")

    def on_lost() -> None:
        nonlocal lost
        lost += 1

    with pytest.raises(GivenUpError):
        await Supervisor([Child(name="stuck", run=stuck, restarts=0)], on_lost=on_lost).run()
    assert lost == 0


async def test_a_child_whose_state_others_wait_for_ends_the_process_at_its_first_break() -> None:
    journal = Journal()
    children = [
        Child(name="calm", run=journal.steady("calm")),
        Child(name="dispatcher", run=journal.breaking("dispatcher", 1), group=Group.PROCESS),
    ]
    with pytest.raises(GivenUpError, match="dispatcher broke 1 times"):
        await Supervisor(children).run()
