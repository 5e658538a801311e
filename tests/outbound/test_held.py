"""The limit on the memory that attempts use. If there is no room for an attempt's bytes, the attempt
waits for its turn. It does not fail."""

from collections.abc import Callable
from functools import partial

from engine.outbound.held import HeldBytes, HeldStatistics


class Askers:
    def __init__(self, most: int, share: int) -> None:
        self.held = HeldBytes(most, share)
        self.let_in: list[str] = []

    def ask(self, name: str, size: int) -> None:
        """A name's first letter is its workspace."""
        self.held.ask(name[0], size, partial(self.let_in.append, name))


def test_what_fits_is_let_in_at_once_and_what_does_not_when_there_is_room() -> None:
    askers = Askers(10, 6)
    for name in ("a1", "a2", "a3"):
        askers.ask(name, 3)
    assert askers.let_in == ["a1", "a2"]
    assert askers.held.statistics() == HeldStatistics(6, 1)
    askers.held.change("a", 3, 1)  # the body is smaller than requested
    assert askers.let_in == ["a1", "a2"]
    askers.held.change("a", 1, 0)
    assert askers.let_in == ["a1", "a2", "a3"]
    for _ in range(2):
        askers.held.change("a", 3, 0)
    assert askers.held.statistics() == HeldStatistics(0, 0)


def test_one_workspace_leaves_room_for_the_others_and_they_take_turns() -> None:
    askers = Askers(10, 4)
    for name in ("a1", "a2", "a3", "b1", "c1", "c2", "b2", "b3"):
        askers.ask(name, 2)
    assert askers.let_in == ["a1", "a2", "b1", "c1", "c2"]  # ten bytes in total
    askers.held.change("a", 2, 0)
    askers.held.change("b", 2, 0)
    askers.held.change("c", 2, 0)
    assert askers.let_in[5:] == ["a3", "b2", "b3"]


def test_who_needs_much_is_not_overtaken_for_ever_by_who_needs_little() -> None:
    askers = Askers(10, 10)
    askers.ask("a", 8)
    askers.ask("b", 8)
    askers.ask("c", 1)
    assert askers.let_in == ["a"]
    askers.held.change("a", 8, 0)
    assert askers.let_in == ["a", "b", "c"]


def test_more_than_all_room_is_let_in_alone() -> None:
    askers = Askers(10, 6)
    askers.ask("a1", 50)
    askers.ask("b1", 1)
    assert askers.let_in == ["a1"]
    askers.held.change("a", 50, 0)
    assert askers.let_in == ["a1", "b1"]


def test_who_is_let_in_may_ask_and_give_back_at_once() -> None:
    held = HeldBytes(4, 4)
    order: list[int] = []

    def one_after_another(left: int) -> Callable[[], None]:
        def go() -> None:
            order.append(left)
            if left:
                held.ask("w", 4, one_after_another(left - 1))
            held.change("w", 4, 0)

        return go

    held.ask("w", 4, one_after_another(5_000))  # deeper than Python's stack
    assert order == list(range(5_000, -1, -1))
    assert held.statistics() == HeldStatistics(0, 0)
