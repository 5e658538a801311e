"""Patterns of rules: the index finds exactly the patterns that match an event type, and pauses often
enough during the search (see `Steps`).

An input's first line is an event type, and the other lines are patterns. Each pattern is used twice:
unchanged, and with a unique last segment, so that repeated lines give different patterns.
"""

from itertools import pairwise

from engine.core.pattern_index import SLICE_STEPS, PatternIndex, Steps, names
from engine.drafts import _check_pattern
from engine.ingest.event_json import check_type
from engine.model.errors import Refusal
from tests.engine.patterns import compile_pattern
from tests.fuzz.door import Door

SEGMENTS_MOST = 256  # in one pattern


def check(data: bytes) -> None:
    first, *lines = data.decode("latin-1").split("\n")
    try:
        check_type(first)
    except Refusal:
        return
    patterns = [each for number, line in enumerate(lines) for each in read(line, number)]
    index: PatternIndex[int] = PatternIndex()
    for number, pattern in enumerate(patterns):
        index.put(str(number), [pattern], number)
    named = [number for number, pattern in enumerate(patterns) if names(pattern, first)]
    for number in {*named[:20], *range(min(20, len(patterns)))}:
        matched = compile_pattern(patterns[number]).fullmatch(first) is not None
        assert matched is (number in named), (first, patterns[number])
    slices = [0]
    steps = Steps(lambda: slices.append(steps.count))
    assert sorted(index.find(first, steps)) == named
    assert steps.count <= sum(each.count(".") + 2 for each in patterns)
    assert all(after - before <= SLICE_STEPS + SEGMENTS_MOST for before, after in pairwise(slices))
    for number in range(0, len(patterns), 2):
        index.remove(str(number))
    assert sorted(index.find(first)) == [each for each in named if each % 2]


def read(line: str, number: int) -> list[str]:
    found = []
    for each in (line, f"{line}.z{number}"):
        try:
            found.append(_check_pattern(each))
        except ValueError:
            continue
    return found


DEEP = ".".join(["a"] * 127).encode()
DOOR = Door(
    "patterns",
    check,
    ("engine.core.pattern_index", "engine.routing.router"),
    (
        b"order.created\norder.*\n*\norder.created\n*.created\nrefund.*",
        b"a.b.c.d\na.*.c.*\n*.b.*.d\na.b\na.b.c.d.e\n*.*.*.*",
        b"angarium.x\n*\nangarium.*\n*.x\nangarium.x",
        b"a..b.\na..*\n*.b.\na...\na.*.b.*",
        DEEP + b"\n" + DEEP + b"\n" + b"*." * 127 + b"*" + b"\n*." + DEEP[2:],
    ),
    (b"\n", b".", b"*", b".*", b"*.", b"a", b"a.a", b"\n*.a.", b"\na.*.", b".a.*.a.*", b"angarium", DEEP),
    most_lines=5_000,
)  # fmt: skip
