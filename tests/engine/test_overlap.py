"""The number of filtered rules that one event type can match, compared with an exhaustive search."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.control.overlap import too_many_at_once
from tests.engine.patterns import compile_pattern

SEGMENTS = ("a", "b", "*")
patterns = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3).map(".".join)
rules = st.lists(patterns, min_size=1, max_size=2)
TYPES = [
    ".".join(parts) for length in range(1, 6) for parts in itertools.product("abz", repeat=length)
]


def most(new: list[str], others: dict[str, list[str]]) -> int:
    """For each event type that the new rule matches, count the rules that match, including the new rule.
    Return the largest of these numbers."""

    def met(given: list[str], event_type: str) -> bool:
        return any(compile_pattern(each).fullmatch(event_type) for each in given)

    return max(
        (
            1 + sum(met(each, event_type) for each in others.values())
            for event_type in TYPES
            if met(new, event_type)
        ),
        default=0,
    )


@settings(max_examples=150, deadline=None)
@given(rules, st.lists(rules, max_size=6), st.integers(1, 5))
def test_it_is_exact(new: list[str], others: list[list[str]], at_most: int) -> None:
    by_rule = {str(number): each for number, each in enumerate(others)}
    assert too_many_at_once(new, by_rule, at_most) is (most(new, by_rule) > at_most)


def test_own_types_and_others_never_meet() -> None:
    others = {str(number): ["angarium.*"] for number in range(5)}
    assert not too_many_at_once(["*"], others, 3)
    assert too_many_at_once(["angarium.key.rotated"], others, 3)


def test_many_patterns_that_meet_nowhere_are_told_apart() -> None:
    others = {str(number): [f"t{number}.{part}" for part in range(100)] for number in range(999)}
    assert not too_many_at_once(["*"], others, 20)
    assert not too_many_at_once([f"t{number}.x" for number in range(100)], others, 20)


def test_a_search_that_would_take_too_long_says_yes() -> None:
    words = "abcdefghij"
    others = {
        f"{number}": [
            ".".join(word if place == number % 10 else "*" for place in range(10)) + ".end"
            for word in words
        ]
        for number in range(25)
    }
    assert too_many_at_once(["*"], others, 24)
