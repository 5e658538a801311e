"""Look-ups of names: attempts for the same name share a look-up, workspaces share the threads fairly, and
answers are remembered briefly. A look-up never blocks the event loop."""

import socket
import threading
from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from engine.core.vocabulary import ErrorCategory
from engine.wire import resolver as resolver_module
from engine.wire.failure import WireError
from engine.wire.resolver import (
    FAILED_S,
    FOUND_S,
    THREADS,
    THREADS_WORKSPACE,
    Addresses,
    Resolution,
    Resolver,
    system_lookup,
)
from tests.patience import HANGS_S

HERE: Addresses = ((socket.AF_INET, "192.0.2.1"),)


class Names:
    def __init__(self, answer: Addresses | Exception = HERE, *, at_once: bool = True) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self._let = threading.Event()
        if at_once:
            self.let_go()

    def let_go(self) -> None:
        self._let.set()

    def __call__(self, host: str) -> Addresses:
        self.asked.append(host)
        assert self._let.wait(HANGS_S)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def until(condition: Callable[[], object]) -> None:
    with trio.fail_after(HANGS_S):
        while not condition():
            await trio.lowlevel.checkpoint()


async def ask(resolver: Resolver, host: str = "a.test", workspace: str = "w") -> Resolution:
    answers: list[Resolution] = []
    resolver.ask(host, workspace, answers.append)
    assert answers == []  # answers come later, never within the call
    await until(lambda: answers)
    return answers[0]


async def test_a_name_is_looked_up_once_for_all_who_wait() -> None:
    names = Names(at_once=False)
    resolver = Resolver(names)
    answers: list[Resolution] = []
    for workspace in ("w", "v", "w"):
        resolver.ask("a.test", workspace, answers.append)
    names.let_go()
    await until(lambda: len(answers) == 3)
    assert answers == [HERE] * 3
    assert names.asked == ["a.test"]
    assert resolver.threads == 0


@pytest.mark.parametrize(
    ("answer", "category", "words"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "DNS", "not known"),
        (UnicodeError("label empty"), "DNS", "not a name"),
        (OSError(24, "Too many open files"), "DNS", "could not be resolved"),
        ((), "DNS", "no addresses"),
    ],
)
async def test_a_name_that_fails_is_an_answer(
    answer: Addresses | Exception, category: str, words: str
) -> None:
    error = await ask(Resolver(Names(answer)))
    assert isinstance(error, WireError)
    assert error.category is ErrorCategory[category]
    assert words in error.message


async def test_the_system_refuses_names_with_empty_labels_in_words() -> None:
    error = await ask(Resolver(), "a..b")
    assert isinstance(error, WireError)
    assert error.category is ErrorCategory.DNS


async def test_numeric_notations_take_the_same_way() -> None:
    assert system_lookup("2130706433") == ((socket.AF_INET, "127.0.0.1"),)
    assert await ask(Resolver(), "0x7f.1") == ((socket.AF_INET, "127.0.0.1"),)
    assert await ask(Resolver(), "::1") == ((socket.AF_INET6, "::1"),)


@pytest.mark.parametrize(
    ("answer", "seconds"), [(HERE, FOUND_S), (socket.gaierror(-2, "unknown"), FAILED_S)]
)
async def test_an_answer_is_remembered_for_a_short_while(
    mock_clock: MockClock, answer: Addresses | Exception, seconds: float
) -> None:
    resolver = Resolver(Names(answer))
    assert resolver.known("a.test") is None
    found = await ask(resolver)
    mock_clock.jump(seconds - 0.1)
    assert resolver.known("a.test") == found
    mock_clock.jump(0.2)
    assert resolver.known("a.test") is None


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_module, "CACHE_NAMES", 3)
    resolver = Resolver(Names())
    for number in range(6):
        await ask(resolver, f"{number}.test")
    assert [resolver.known(f"{number}.test") for number in range(6)] == [None] * 3 + [HERE] * 3


async def test_a_workspace_holds_a_few_threads_only_and_others_go_on() -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    answers: list[Resolution] = []
    for number in range(3 * THREADS_WORKSPACE):
        resolver.ask(f"{number}.stuck", "greedy", answers.append)
    await until(lambda: len(stuck.asked) == THREADS_WORKSPACE)
    resolver.ask("a.test", "other", answers.append)
    await until(lambda: "a.test" in stuck.asked)
    assert resolver.threads == THREADS_WORKSPACE + 1
    stuck.let_go()
    await until(lambda: len(answers) == 3 * THREADS_WORKSPACE + 1)
    assert resolver.threads == 0


async def test_another_workspace_may_pay_for_a_name_that_waits_for_the_first() -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    answers: list[Resolution] = []
    for number in range(THREADS_WORKSPACE):
        resolver.ask(f"{number}.stuck", "greedy", answers.append)
    resolver.ask("shared.test", "greedy", answers.append)
    resolver.ask("shared.test", "other", answers.append)
    await until(lambda: "shared.test" in stuck.asked)
    stuck.let_go()
    await until(lambda: len(answers) == THREADS_WORKSPACE + 2)
    assert stuck.asked.count("shared.test") == 1


async def test_threads_are_bounded_over_all_workspaces() -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    answers: list[Resolution] = []
    for number in range(2 * THREADS):
        resolver.ask(f"{number}.test", f"w{number}", answers.append)
    await until(lambda: len(stuck.asked) == THREADS)
    assert resolver.threads == THREADS
    stuck.let_go()
    await until(lambda: len(answers) == 2 * THREADS)


async def test_who_gave_up_is_not_called_and_costs_no_thread() -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    answers: list[Resolution] = []
    waiters = [
        resolver.ask(f"{number}.test", "w", answers.append)
        for number in range(THREADS_WORKSPACE + 3)
    ]
    for waiter in waiters:
        waiter.cancel()
    stuck.let_go()
    await until(lambda: resolver.threads == 0)
    assert answers == []
    assert len(stuck.asked) == THREADS_WORKSPACE
    assert await ask(resolver, f"{THREADS_WORKSPACE}.test") == HERE


async def test_names_that_nobody_waits_for_any_more_are_forgotten_while_the_threads_hang() -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    for _ in range(3):  # attempts that give up, and their retries
        waiters = [resolver.ask(f"{number}.test", "w", print) for number in range(1_000)]
        waiters += [resolver.ask(f"{number}.test", "v", print) for number in range(1_000)]
        assert resolver.waiting == 1_000 - 2 * THREADS_WORKSPACE
        for waiter in waiters:
            waiter.cancel()
        assert resolver.waiting == 0
        assert not resolver._queue
    stuck.let_go()
    await until(lambda: resolver.threads == 0)
    assert len(stuck.asked) == 2 * THREADS_WORKSPACE


async def test_while_the_names_of_many_workspaces_hang_one_more_finds_a_thread() -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    for workspace in range(THREADS // THREADS_WORKSPACE):
        for number in range(2 * THREADS_WORKSPACE):
            resolver.ask(f"{number}.{workspace}.stuck", f"w{workspace}", print)
    await until(lambda: len(stuck.asked) == resolver.threads)
    resolver.ask("a.test", "other", print)
    await until(lambda: "a.test" in stuck.asked)
    stuck.let_go()
    await until(lambda: resolver.threads == 0)


async def test_while_all_threads_hang_an_ask_looks_at_nobody_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = Names(at_once=False)
    resolver = Resolver(stuck)
    for number in range(THREADS):
        resolver.ask(f"{number}.stuck", f"w{number}", print)
    answers: list[Resolution] = []
    looks: list[str] = []
    may_begin = resolver._may_begin

    def counted(workspace: str) -> bool:
        looks.append(workspace)
        return may_begin(workspace)

    monkeypatch.setattr(resolver, "_may_begin", counted)
    for number in range(100):
        resolver.ask(f"{number}.test", f"v{number}", answers.append)
    assert looks == []
    stuck.let_go()
    await until(lambda: len(answers) == 100)
    order = [each for each in stuck.asked if each.endswith(".test")]
    assert sorted(order) == sorted(f"{number}.test" for number in range(100))
    await until(lambda: resolver.threads == 0)  # a thread that hung can end last


async def test_a_thread_that_cannot_be_had_is_an_answer_and_costs_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolver = Resolver(Names())

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(trio.lowlevel, "start_thread_soon", refuse)
        error = await ask(resolver)
    assert isinstance(error, WireError)
    assert error.category is ErrorCategory.DNS
    assert resolver.threads == 0
    assert await ask(resolver, "b.test") == HERE
