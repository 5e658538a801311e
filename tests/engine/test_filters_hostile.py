"""Hostile filters and payloads: each evaluation ends within a bounded amount of work.

Work is counted in calls (Python's and C's), not in time. The worst case takes some 2 ms.
"""

import sys
from typing import Any

import pytest

from engine.filters import EvaluationError, Facts, FilterError, compile_filter
from engine.filters.program import SOURCE_BYTES
from engine.filters.scope import EVENT_STEPS, STEPS

CALLS = 60_000  # including built-in functions: each some 50 ns
LONG = 250_000  # an event has 256 KiB


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"x": value}
    return value


PAYLOAD: dict[str, Any] = {
    "text": "a" * LONG,
    "line": "a" * 4_000,
    "wide": "é" * 4_000,
    "numbers": list(range(40_000)),
    "rows": [[1] * 200] * 200,
    "objects": [{"a": "x" * 20, "b": number} for number in range(4_000)],
    "texts": ["a" * 4_000] * 60,
    "keys": {str(number): number for number in range(15_000)},
    "deep": nested(60),
    "n": 1,
}


def filled(part: str, between: str = " && ") -> str:
    return between.join([part] * ((SOURCE_BYTES + len(between)) // (len(part) + len(between))))


HOSTILE = {
    "a long list": "event.payload.numbers.all(x, x >= 0)",
    "lists compared": filled("event.payload.numbers == event.payload.numbers"),
    "lists searched": filled("!(-1 in event.payload.numbers)"),
    "objects compared": filled("event.payload.objects == event.payload.objects"),
    "a depth compared": filled("event.payload.deep == event.payload.deep"),
    "a list by itself": "event.payload.numbers.exists(x, event.payload.numbers.exists(y, x + y < 0))",
    "a list in itself": "event.payload.numbers.all(x, x in event.payload.numbers)",
    "rows and columns": "event.payload.rows.all(x, x.all(y, y == 1))",
    "macros in a chain": "event.payload.numbers" + ".map(x, x)" * 8 + ".size() > 0",
    "texts doubled": "[event.payload.line]" + ".map(x, x + x)" * 8 + ".size() == 1",
    "lists doubled": "[event.payload.rows]" + ".map(x, x + x)" * 8 + ".size() == 1",
    "a list of lists": f"event.payload.numbers.map(x, [{', '.join(['x'] * 200)}]).size() > 0",
    "maps made": "event.payload.numbers.map(x, {'a': x, 'b': [x, x, x]}).size() > 0",
    "texts compared": filled("event.payload.text <= event.payload.text"),
    "texts searched": filled("!event.payload.text.contains('aaaaaaaaaaaaaaab')"),
    "lines searched": filled(f"!event.payload.line.contains('{'a' * 99}b')"),
    "texts joined": filled("event.payload.text + 'x' != event.payload.text"),
    "all keys": "event.payload.keys.all(k, event.payload.keys[k] >= 0)",
    "a wide plain one": filled("event.payload.n == 1"),
    "a wide failing one": filled("event.payload.none == 1", " || "),
    "backtracking": filled("event.payload.line.matches('^(a|aa|aaa)+b')"),
    "quantifiers": "event.payload.line.matches('(.*.*.*.*.*.*.*.*)b')",
    "repetitions": filled("event.payload.line.matches('[^a-z].{50}')", " || "),
    "classes": "event.payload.line.matches('(\\\\w{10}){10}x')",
    "unicode": "event.payload.wide.matches('(.{20}){3}x')",
    "case": f"event.payload.line.matches('(?i){'k' * 200}')",
    "alternatives": f"event.payload.line.matches('{'|'.join(['abc'] * 60)}')",
    "a pattern in a macro": "event.payload.texts.exists(x, x.matches('(a*)*b'))",
    "a text too long for a pattern": "event.payload.text.matches('a')",
    "conversions": filled("string(event.payload.n) == '1'"),
    "times": filled("timestamp('2026-01-01T00:00:00Z') == timestamp('2026-01-01T00:00:00Z')"),
    "types": filled("type(event.payload.numbers) == list"),
    "objects for the library": filled("event.payload.objects != [1u]"),
    "a macro in a macro in each": " && ".join(
        ["event.payload.rows.all(x, x.all(y, y == 1))"] * 4
    ),
}  # fmt: skip


def calls_of(source: str) -> int:
    facts = Facts({"payload": PAYLOAD, "eventType": "t"})
    compiled = compile_filter(source)
    calls = 0

    def count(frame: Any, kind: str, argument: Any) -> None:
        nonlocal calls
        calls += kind in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        compiled.matches(facts)
    except EvaluationError:
        pass
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_filter_ends_within_bounds(name: str) -> None:
    source = HOSTILE[name]
    assert len(source.encode()) <= SOURCE_BYTES
    assert calls_of(source) < CALLS


def test_all_filters_of_an_event_share_its_steps_and_plain_ones_need_none() -> None:
    facts = Facts({"payload": PAYLOAD})
    part = "event.payload.numbers.all(x, x >= 0)"
    greedy = compile_filter(" || ".join([f"!{part}"] * 8))
    modest = compile_filter("event.payload.rows[0].all(x, x == 1)")
    plain = compile_filter("event.payload.n == 1")
    for left in (EVENT_STEPS - STEPS, EVENT_STEPS - 2 * STEPS):
        with pytest.raises(EvaluationError, match="too much to look at"):
            greedy.matches(facts)
        # The first filter used up its own share, and the others did not start.
        assert facts.steps == left
    assert modest.matches(facts)
    with pytest.raises(EvaluationError):
        greedy.matches(facts)
    with pytest.raises(EvaluationError):
        modest.matches(facts)
    assert plain.matches(facts)


@pytest.mark.parametrize("depth", [33, 100, 500, 900])
def test_no_nesting_reaches_the_end_of_the_stack(depth: int) -> None:
    for opening, closing in (
        "()",
        "[]",
        ("!", ""),
        ("-", ""),
        ("true ? ", " : true"),
        ("size(", ")"),
    ):
        source = opening * depth + "true" + closing * depth
        with pytest.raises(FilterError):
            compile_filter(source[: SOURCE_BYTES * 2])
