"""The dispatcher's turns: fair between actors and workspaces, and bounded in time."""

import trio

from engine.actors.dispatcher import SLICE_S, Dispatcher
from tests.core.making import a_destination


class Ticking:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Worker:
    def __init__(
        self,
        name: str,
        dispatcher: Dispatcher,
        log: list[str],
        turns: int = 1,
        workspace: str = "w",
    ) -> None:
        self.name = name
        self.config = a_destination(workspace=workspace)
        self.left = turns
        self.breaks = False
        self.errors: list[Exception] = []
        self._dispatcher = dispatcher
        self._log = log

    def turn(self) -> None:
        self._log.append(self.name)
        self.left -= 1
        if self.breaks:
            raise ValueError(self.name)
        if self.left > 0:
            self._dispatcher.enqueue(self)

    def crashed(self, error: Exception) -> None:
        self.errors.append(error)


async def test_actors_take_turns_and_a_busy_one_goes_to_the_tail(nursery: trio.Nursery) -> None:
    log: list[str] = []
    dispatcher = Dispatcher(Ticking())
    for name, turns in (("a", 3), ("b", 1), ("c", 2)):
        dispatcher.enqueue(Worker(name, dispatcher, log, turns))
    nursery.start_soon(dispatcher.run)
    await trio.testing.wait_all_tasks_blocked()
    assert "".join(log) == "abcaca"
    nursery.cancel_scope.cancel()


async def test_a_thousand_of_one_workspace_are_no_reason_to_wait_in_another(
    nursery: trio.Nursery,
) -> None:
    log: list[str] = []
    dispatcher = Dispatcher(Ticking())
    for _ in range(1_000):
        dispatcher.enqueue(Worker("a", dispatcher, log, workspace="crowd"))
    dispatcher.enqueue(Worker("b", dispatcher, log, 3, "healthy"))
    dispatcher.enqueue(Worker("c", dispatcher, log, 1, "another"))
    assert dispatcher.statistics().waiting == 1_002
    nursery.start_soon(dispatcher.run)
    await trio.testing.wait_all_tasks_blocked()
    assert "".join(log) == "abcabab" + "a" * 997
    for name in "ab":  # their queues were empty, so they start from the beginning
        dispatcher.enqueue(Worker(name, dispatcher, log, 2, name))
    await trio.testing.wait_all_tasks_blocked()
    assert "".join(log[-4:]) == "abab"
    assert dispatcher.statistics().waiting == 0
    nursery.cancel_scope.cancel()


async def test_other_tasks_run_after_two_milliseconds_of_turns(nursery: trio.Nursery) -> None:
    log: list[str] = []
    clock = Ticking()
    dispatcher = Dispatcher(clock)

    class Slow(Worker):
        def turn(self) -> None:
            clock.now += SLICE_S / 4
            super().turn()

    async def neighbour() -> None:
        while len(log) < 13:
            log.append("|")
            await trio.lowlevel.checkpoint()

    dispatcher.enqueue(Slow("a", dispatcher, log, 12))
    nursery.start_soon(dispatcher.run)
    nursery.start_soon(neighbour)
    await trio.testing.wait_all_tasks_blocked()
    stretches = [len(stretch) for stretch in "".join(log).split("|")]
    assert max(stretches) <= 8  # two slices can meet, since trio shuffles tasks
    assert dispatcher.statistics().yields >= 2
    nursery.cancel_scope.cancel()


async def test_an_exception_in_a_turn_concerns_that_actor_alone(nursery: trio.Nursery) -> None:
    log: list[str] = []
    dispatcher = Dispatcher(Ticking())
    workers = [Worker(name, dispatcher, log) for name in "abc"]
    workers[1].breaks = True
    for worker in workers:
        dispatcher.enqueue(worker)
    nursery.start_soon(dispatcher.run)
    await trio.testing.wait_all_tasks_blocked()
    assert "".join(log) == "abc"
    assert [len(worker.errors) for worker in workers] == [0, 1, 0]
    nursery.cancel_scope.cancel()


async def test_who_sleeps_is_woken_by_the_first_of_many(nursery: trio.Nursery) -> None:
    log: list[str] = []
    dispatcher = Dispatcher(Ticking())
    nursery.start_soon(dispatcher.run)
    for _ in range(3):
        await trio.testing.wait_all_tasks_blocked()
        for name in "ab":
            dispatcher.enqueue(Worker(name, dispatcher, log))
    await trio.testing.wait_all_tasks_blocked()
    assert "".join(log) == "ababab"
    await dispatcher.wait_idle()
    assert dispatcher.statistics().waiting == 0
    nursery.cancel_scope.cancel()


async def test_a_dispatcher_is_idle_while_no_actor_waits_for_a_turn(nursery: trio.Nursery) -> None:
    dispatcher = Dispatcher(Ticking())
    idle = [dispatcher.idle]
    dispatcher.enqueue(Worker("b", dispatcher, [], workspace="other"))
    idle.append(dispatcher.idle)
    nursery.start_soon(dispatcher.run)
    await trio.testing.wait_all_tasks_blocked()
    assert [*idle, dispatcher.idle] == [True, False, True]
    nursery.cancel_scope.cancel()
