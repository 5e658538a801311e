"""The planting of bugs: the tests change the source of a function, and the place of a bug in the function
is still found."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

from tests.sim.mutants.planting import DROPPED, Mutant, Owner, mutant

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
    with opened(SOURCE, tmp_path) as module:
        yield module


@contextmanager
def opened(source: str, folder: Path) -> Iterator[ModuleType]:
    path = folder / "shop.py"
    path.write_text(source)
    module = ModuleType("shop")
    with mock.patch.dict(sys.modules, {"shop": module}):
        exec(compile(source, str(path), "exec"), module.__dict__)
        yield module


def planned(owner: Owner, name: str, place: str, new: str) -> Mutant:
    return mutant("a mutant", "It does something else.", (owner, name, place, new))


DEAR = "sum sum", "HERE + 6"  # the difference that has a call of `sum` in it


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
    with planned(shop.Till, "take", "if price", "price").planted():
        assert till.take([], 3) == -3
        assert till.take([5], 0) == 0
    with planned(shop.Till, "give", "while coins", "total = 1\nHERE").planted():
        assert till.give([5, 2]) == 8
    with planned(shop.Till, "give", "add pop", "total += 1\ncoins.clear()").planted():
        assert till.give([5, 2]) == 1
    with planned(shop.Till, "give", "while coins", "HERE and total < 1").planted():
        assert till.give([5, 2]) == 2
    with planned(shop.Till, "give", "while coins", DROPPED).planted():
        assert till.give([5, 2]) == 0


def test_a_place_can_be_told_by_a_name_that_it_lacks(shop: ModuleType) -> None:
    with planned(shop.Till, "give", "set total -coins", "total = 3").planted():
        assert shop.Till().give([5, 2]) == 10


@pytest.mark.parametrize(
    ("place", "new"),
    [
        ("call len", "0"),  # nowhere
        ("name coins", "price"),  # more than once
        ("sum sum", "prize"),  # names nothing
    ],
)
def test_a_bug_without_a_place_is_not_planted(shop: ModuleType, place: str, new: str) -> None:
    with pytest.raises(LookupError), planned(shop.Till, "take", place, new).planted():
        pass
