"""Filters. Each text is either compiled, or refused with a reason. A compiled filter gives the same
results as the CEL library."""

import re
from typing import Any

import orjson

from engine.filters import EvaluationError, Facts, FilterError, compile_filter
from engine.filters.compiler import FilterCompiler
from engine.filters.parser import parse
from engine.filters.program import SOURCE_BYTES
from engine.filters.scope import EVENT_STEPS
from tests.engine.test_filters_equal import (
    FAILED,
    differs_by_intent,
    of_library,
    same,
)
from tests.fuzz.door import Door

PAYLOADS: tuple[dict[str, Any], ...] = (
    {"a": 1, "b": "text", "c": True, "l": [1, 2.5, "x"], "m": {"a": None}},
    {"a": -0.0, "b": "", "c": None, "l": [], "m": {"a": [2**63 - 1, -(2**63)]}},
)
# A filter that contains one of these texts is not compared with the library. The library does not know
# these functions and literals, or treats them otherwise than CEL does: see docs/api/filters.md.
ASIDE = ("matches", "size", "timestamp", "duration", "bytes", 'b"', "b'", "uint", "type", "dyn")

# The library ignores `!!` and `--`, even before a value for which `!` or `-` is an error. Angarium
# applies both signs. So a filter that contains `!!` or `--` is not compared with the library.
_TWICE = re.compile(r"!\s*!|-\s*-")


def check(data: bytes) -> None:
    source = data.decode("utf-8", "replace")
    try:
        compile_filter(source)
    except FilterError as error:
        str(error).encode("utf-8", "replace")
        return
    assert len(source.encode()) <= SOURCE_BYTES
    evaluate = FilterCompiler(source).compile(parse(source))
    for payload in PAYLOADS:
        facts = Facts({"eventType": "a.b", "payload": payload})
        try:
            mine = evaluate(facts)
        except EvaluationError:
            mine = FAILED
        assert 0 <= facts.steps <= EVENT_STEPS
        if not _compared(source, payload, mine):
            continue
        its = of_library(source, payload)
        assert same(mine, its), (source, payload, mine, its)


def _compared(source: str, payload: dict[str, Any], mine: Any) -> bool:
    if _TWICE.search(source):
        return False
    if any(word in source for word in ASIDE) or "payload" not in source.replace(" ", ""):
        return False
    if any(each in source for each in ("eventType", "metadata", "customer", "source", "occurred")):
        return False
    return not differs_by_intent(source, orjson.dumps(payload), mine)


DOOR = Door(
    "filter",
    check,
    ("engine.filters",),
    (
        b"event.payload.a > 0 && event.payload.b == 'text'",
        b"event.payload.l.exists(x, x == 2.5) || has(event.payload.m.a)",
        b'event.payload.b.matches("^t[a-z]{1,3}$")',
        b"event.payload.m['a'] != null ? event.payload.c : !event.payload.c",
        b"event.payload.l.map(x, x).filter(x, x == 1).size() == 1",
        b"event.payload.b.startsWith('te') && 'x' in event.payload.l",
        b"-event.payload.a * 2 + 3 % 2 - 1 / 1 <= 0x10 // end",
        rb'event.payload.b in ["\u00e9\x41\101", r"\n", """a"b"""]',
        b"event.payload.a == 1u || event.payload.a == .5e3",
        b"event.eventType.contains('a') && has(event.metadata)",
    ),
    (
        b"event.payload.", b".exists(x, ", b".all(x, ", b".map(x, ", b"has(", b"&&", b"||", b"==", b"in",
        b"?", b":", b"[", b"]", b"{", b"}", b'"', b"'''", b"\\U0010ffff", b"\\ud800", b"1e999", b"0x",
        b"9223372036854775808", b"-", b"!", b"u", b"null", b"true", b".matches(", b"(?i)", b"[[:alpha:]]",
        b"{1,9}", b"\xd9\xa3", b"string(", b"int(", b"double(", b"//", b"\n",
    ),
    largest=SOURCE_BYTES,
)  # fmt: skip
