"""The index of patterns: it agrees with each single pattern, and looks at no more nodes
than necessary."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.core import pattern_index
from engine.core.pattern_index import SLICE_STEPS, PatternIndex, Steps, names
from tests.engine.patterns import compile_pattern

SEGMENTS = st.sampled_from(["", "a", "b", "ab", "angarium", "*"])
PATTERNS = st.lists(SEGMENTS, min_size=1, max_size=5).map(".".join).filter(bool)
TYPES = PATTERNS.map(lambda each: each.replace("*", "c"))


class Indexed(RuleBasedStateMachine):
    """Compares the index with a table of the same entries."""

    def __init__(self) -> None:
        super().__init__()
        self.index: PatternIndex[int] = PatternIndex()
        self.table: dict[str, tuple[list[str], int]] = {}
        self.changes = 0

    @rule(identifier=st.sampled_from("ABCD"), patterns=st.lists(PATTERNS, min_size=1, max_size=4))
    def put(self, identifier: str, patterns: list[str]) -> None:
        self.changes += 1
        self.index.put(identifier, patterns, self.changes)
        self.table[identifier] = patterns, self.changes

    @rule(identifier=st.sampled_from("ABCD"))
    def remove(self, identifier: str) -> None:
        self.index.remove(identifier)
        self.table.pop(identifier, None)

    @rule(event_type=TYPES)
    def find(self, event_type: str) -> None:
        expected = sorted(
            entry
            for patterns, entry in self.table.values()
            if any(compile_pattern(each).fullmatch(event_type) for each in patterns)
        )
        assert sorted(self.index.find(event_type)) == expected

    @invariant()
    def no_node_is_idle(self) -> None:
        assert len(self.index) == len(self.table)
        root = self.index._root
        below = [root.star, *root.literals.values()]
        nodes = 0
        while below:
            node = below.pop()
            if node is not None:
                nodes += 1
                children = [*node.literals.values(), *([node.star] if node.star else [])]
                assert not node.bare or len(children) > 1
                below += children
        assert nodes <= 2 * sum(len(patterns) for patterns, _ in self.table.values())


TestIndexed = Indexed.TestCase


@given(st.lists(PATTERNS, min_size=1, max_size=12), st.lists(TYPES, min_size=1, max_size=12))
def test_the_index_finds_what_each_pattern_names(patterns: list[str], types: list[str]) -> None:
    index: PatternIndex[str] = PatternIndex()
    for number, pattern in enumerate(patterns):
        index.put(str(number), [pattern], pattern)
    for event_type in types:
        expected = sorted(each for each in patterns if names(each, event_type))
        assert sorted(index.find(event_type)) == expected


def test_rules_that_cannot_match_take_no_step() -> None:
    counts = []
    for many in (1_000, 20_000):
        index: PatternIndex[int] = PatternIndex()
        for number in range(many):
            index.put(str(number), [f"t{number}.*", f"*.u{number}.x", f"order.v{number}"], number)
        index.put("mine", ["order.created", "*.created"], -1)
        steps = Steps()
        assert index.find("order.created", steps) == [-1]
        counts.append(steps.count)
    assert counts[0] == counts[1] <= 10


def dearest(patterns: int) -> list[str]:
    """Return patterns of 127 segments. The first 126 segments match the event type of the test, and the
    last segment does not. So a search must walk the whole tree."""
    return [
        ".".join("*" if number >> bit & 1 else "a" for bit in range(14))
        + ".a" * 111
        + f".z{number}"
        for number in range(patterns)
    ]


def test_no_slice_of_a_look_up_is_long_and_all_of_them_are_no_more_than_the_patterns() -> None:
    index: PatternIndex[int] = PatternIndex()
    patterns = dearest(10_000)
    for number in range(0, len(patterns), 100):
        index.put(str(number), patterns[number : number + 100], number)
    at: list[int] = []
    steps = Steps(lambda: at.append(steps.count))
    assert index.find(".".join(["a"] * 126), steps) == []
    assert steps.count <= sum(pattern.count(".") + 1 for pattern in patterns)
    assert len(at) >= steps.count // (SLICE_STEPS + 128)
    assert max(after - before for before, after in pairwise(at)) <= (SLICE_STEPS + 128)


def test_a_look_up_that_pauses_finds_what_no_change_touches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pattern_index, "SLICE_STEPS", 1)
    index: PatternIndex[str] = PatternIndex()
    changes: Any = iter(
        [
            lambda: index.put("split", ["a.*.c.x", "a.b.y"], "split"),
            lambda: index.remove("other"),
            lambda: index.put("again", ["a.*.c.d.z"], "again"),
            lambda: index.remove("split"),
        ]
        * 20
    )
    for _ in range(4):
        index.put("kept", ["a.*.c.d", "*.b.c.*", "a.b.c.d", "a.*"], "kept")
        index.put("other", ["a.b.c.e", "a.*.q"], "other")
        assert index.find("a.b.c.d", Steps(lambda: next(changes)())) == ["kept"]
