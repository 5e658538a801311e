"""The time limit of a statement on the short path to PostgreSQL. If no answer comes within this time, the
statement fails. The tests use a virtual clock."""

import socket
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from storage.database.crossing import Crossing

LIMIT_S = 10.0


class Answer:
    """The future that the driver awaits."""

    def __init__(self) -> None:
        self.given_up = False

    def __await__(self) -> Generator["Answer", None, None]:
        yield self

    def remove_done_callback(self, _: object) -> None:
        """Do nothing, because no callback was added."""

    def cancel(self) -> None:
        self.given_up = True

    def done(self) -> bool:
        return True


class Driver:
    """Stands for a connection of the driver. It has only those attributes of a connection that the short
    path (`storage.database.crossing`) uses. `ours`: the client's end of the socket."""

    def __init__(self, ours: socket.socket) -> None:
        self._ours = ours
        self._transport = self._protocol = self
        self.ended: Callable[[object], object] = print

    def _on_waiter_completed(self) -> None: ...

    def pause_reading(self) -> None: ...

    def get_extra_info(self, _: str) -> socket.socket:
        return self._ours

    def is_closing(self) -> bool:
        return False

    def data_received(self, _: bytes) -> None: ...

    def add_termination_listener(self, listener: Callable[[object], object]) -> None:
        self.ended = listener


class Tasks:
    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    def run_trio_task(self, task: Callable[[], Coroutine[Any, Any, None]]) -> Any:
        scope = trio.CancelScope()

        async def cancellable() -> None:
            with scope:
                await task()

        self._nursery.start_soon(cancellable)
        return scope


@contextmanager
def crossing(nursery: trio.Nursery) -> Iterator[tuple[Crossing, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        raw: Any = Driver(ours)
        yield Crossing(Tasks(nursery), raw, LIMIT_S), theirs
        raw.ended(raw)


async def statement(answer: Answer) -> str:
    await answer
    return "rows"


@pytest.mark.parametrize("begun_s", [0.0, 7.0, 10.0, 1234.5])
async def test_a_statement_without_an_answer_is_given_up_at_its_limit(
    begun_s: float, autojump_clock: MockClock
) -> None:
    answer = Answer()
    async with trio.open_nursery() as nursery:
        with crossing(nursery) as (crossed, _):
            await trio.sleep(begun_s)
            began = trio.current_time()
            with pytest.raises(TimeoutError, match="no answer within 10 s"):
                await crossed.run(statement(answer))
            assert trio.current_time() - began == pytest.approx(LIMIT_S)
    assert answer.given_up


async def test_statements_one_after_another_have_the_limit_each(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        with crossing(nursery) as (crossed, server):

            async def answers() -> None:
                while True:
                    await trio.sleep(0.7 * LIMIT_S)
                    server.send(b".")

            nursery.start_soon(answers)
            for _ in range(5):
                assert await crossed.run(statement(Answer())) == "rows"
            nursery.cancel_scope.cancel()


async def test_a_caller_that_is_cancelled_has_its_answer_first(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        with crossing(nursery) as (crossed, server), trio.CancelScope() as scope:

            async def cancels() -> None:
                await trio.sleep(1)
                scope.cancel()
                await trio.sleep(1)
                server.send(b".")

            nursery.start_soon(cancels)
            assert await crossed.run(statement(Answer())) == "rows"
            assert trio.current_time() >= 2
