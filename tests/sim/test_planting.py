"""Planting a bug: what may change about a function without the bug losing its place, and what may not."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from tests.sim.mutants.planting import Mutant, Owner, mutant

SOURCE = '''
class Till:
    """What is taken and what is given back."""

    def take(self, coins, price):
        if coins and price:  # either may be none
            return sum(coins) - price
        return 0

    def give(self, coins):
        total = 0
        while coins:
            total += coins.pop()
        return total


def purchase(till, coins, price):
    return till.take(coins, price)
'''


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ModuleType]:
    """A module that says `SOURCE`."""
    with opened(SOURCE, tmp_path) as module:
        yield module


@contextmanager
def opened(source: str, folder: Path) -> Iterator[ModuleType]:
    """Have a module that says so."""
    path = folder / "shop.py"
    path.write_text(source)
    module = ModuleType("shop")
    with mock.patch.dict(sys.modules, {"shop": module}):
        exec(compile(source, str(path), "exec"), module.__dict__)
        yield module


def planned(owner: Owner, name: str, old: str, new: str) -> Mutant:
    return mutant("a mutant", "It does something else.", (owner, name, old, new))


DEAR = "sum(coins) - price", "sum(coins) + price"


def extracted(receiver: str) -> str:
    return SOURCE.replace("sum(coins) - price", f"{receiver}left(coins, price)")


@pytest.mark.parametrize(
    "source",
    [
        SOURCE,
        SOURCE.replace(
            "sum(coins) - price", "(\n{0}sum(coins)  # given\n{0}- price)".format(" " * 16)
        ),
        SOURCE.replace("coins", "pieces").replace("price", "cost"),
        extracted("") + "\n\ndef left(coins, price):\n    return sum(coins) - price\n",
        extracted("Till.").replace(
            "    def give", "    def left(coins, price): return sum(coins) - price\n    def give"
        ),
    ],
    ids=["as it was", "other layout", "other locals", "in another function", "in another method"],
)
def test_a_bug_keeps_its_place(source: str, tmp_path: Path) -> None:
    with opened(source, tmp_path) as shop:
        with planned(shop.Till, "take", *DEAR).planted():
            assert shop.purchase(shop.Till(), [5, 5], 3) == 13
        assert shop.purchase(shop.Till(), [5, 5], 3) == 7


def test_a_head_keeps_what_is_below_it(shop: ModuleType) -> None:
    till = shop.Till()
    with planned(shop.Till, "take", "if coins and price:", "if price:").planted():
        assert till.take([], 3) == -3
        assert till.take([5], 0) == 0
    doubled = "total = 1\nwhile coins: ..."
    with planned(shop.Till, "give", "while coins:", doubled).planted():
        assert till.give([5, 2]) == 8
    with planned(shop.Till, "give", "total += coins.pop()", "total += 1\ncoins.clear()").planted():
        assert till.give([5, 2]) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sum(coins) * price", "0"),  # nowhere
        ("coins", "price"),  # more than once
        ("sum(coins) - price", "sum(coins) - prize"),  # names nothing
    ],
)
def test_a_bug_without_a_place_is_not_planted(shop: ModuleType, old: str, new: str) -> None:
    with pytest.raises(LookupError), planned(shop.Till, "take", old, new).planted():
        pass
