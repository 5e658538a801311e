"""The most expensive known input of each of the fuzzer's doors (see `tests.fuzz.door`). For this input,
our code runs no more Python lines than the door's limit allows."""

import pytest

from api.queries import parameters
from tests.fuzz.dearest import SMALL, Recipe, Search, counted, read_recipe, recipes, work_of
from tests.fuzz.door import NAMES, door


@pytest.mark.parametrize("name", NAMES)
def test_the_dearest_input_of_a_door_is_within_its_bound(name: str) -> None:
    target = door(name)
    found = {each: work_of(target, each.of(target.largest)).most for each in recipes(target)}
    dear = max(found, key=lambda each: found[each])
    assert found[dear] <= target.most_lines, dear


@pytest.mark.parametrize("name", NAMES)
def test_the_search_finds_nothing_beyond_the_bound_of_a_door(name: str) -> None:
    target = door(name)
    for recipe in Search(target, seed=1).run(20):
        assert work_of(target, recipe.of(target.largest)).most <= target.most_lines, recipe


def test_only_our_code_and_what_it_calls_is_counted() -> None:
    assert counted(lambda: sum(range(10_000))).most == 0
    assert counted(lambda: read_recipe(b"a")).most == 0
    short = counted(lambda: parameters(b"a=b")).most
    assert 0 < short < counted(lambda: parameters(b"a=b&" * 20)).most


def test_the_search_climbs_and_repeats_itself() -> None:
    target = door("query")
    before = max(work_of(target, each.of(SMALL)).most for each in recipes(target))
    runs = [Search(target, seed=7).run(30) for _ in range(2)]
    assert runs[0] == runs[1]
    assert work_of(target, runs[0][0].of(SMALL)).most >= before


def test_a_recipe_is_kept_in_a_file_and_has_any_size() -> None:
    assert read_recipe(Recipe(b"{", b"[],", b"}").file()) == Recipe(b"{", b"[],", b"}")
    assert Recipe(b"{", b"[],", b"}").of(11) == b"{[],[],[],}"
