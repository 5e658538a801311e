"""Filters: which fields of an event a filter sees, and which filters are refused. The error says at which
position of the filter the fault is."""

import subprocess
import sys
from typing import Any

import pytest

from engine.core.records import Event
from engine.filters import EvaluationError, FilterError, compile_filter, facts_of

PAYLOAD = (
    b'{"total": 129.5, "n": 5, "country": "DE", "tags": ["new", "vip"], "on": true, "no": null,'
    b' "items": [{"sku": "A-1", "qty": 2}, {"sku": "B-9", "qty": 7}], "customer": {"tier": "gold"},'
    b' "at": "2026-03-01T12:00:00Z", "big": 123456789012345678901234567890, "twice": 1, "twice": 2,'
    b' "lone": "\\ud800", "kind-of": 1}'
)


def event(payload: bytes = PAYLOAD, **fields: Any) -> Event:
    return Event("e", 1, "order.created", 1_772_366_400_000, payload, **fields)


def outcome(source: str, seen: Event) -> bool | str:
    compiled = compile_filter(source)
    try:
        return compiled.matches(facts_of(seen, compiled.fields))
    except EvaluationError as error:
        return str(error)


TRUE = [
    "event.payload.total > 100 && event.payload.country in ['DE', 'FR']",
    "event.eventType == 'order.created'",
    "event['eventType'].startsWith('order.')",
    "event.occurredAt == '2026-03-01T12:00:00.000Z'",
    "timestamp(event.occurredAt) == timestamp(event.payload.at)",
    "timestamp(event.payload.at).getFullYear() == 2026",
    "timestamp(event.payload.at) + duration('24h') > timestamp('2026-03-02T00:00:00Z')",
    "!has(event.source) && !has(event.metadata) && !has(event.customerExternalId)",
    "has(event.payload.no) && event.payload.no == null && !has(event.payload.other)",
    "event.payload.items.exists(i, i.qty > 5)",
    "event.payload.items.all(i, i.qty > 1)",
    "event.payload.items.exists_one(i, i.sku.matches('^B-\\\\d$'))",
    "event.payload.items.filter(i, i.qty > 1).map(i, i.sku) == ['A-1', 'B-9']",
    "event.payload.items.exists(i, event.payload.tags.exists(t, t == 'vip' && i.qty == 2))",
    "event.payload.customer.tier == 'gold' ? event.payload.n == 5 : false",
    "size(event.payload.tags) == 2 && event.payload.tags.size() == 2",
    "event.payload['kind-of'] == 1 && event.payload.tags[0] == 'new'",
    "'tier' in event.payload.customer && 'vip' in event.payload.tags",
    "event.payload.on || event.payload.nothing == 1",
    "event.payload.nothing == 1 || event.payload.on",
    "double(event.payload.n) / 2.0 == 2.5 && event.payload.n / 2 == 2 && -7 / 2 == -3 && -7 % 2 == -1",
    "event.payload.big > 1.0e29",  # a double, because the integer is longer than 64 bits
    "event.payload.twice == 2",  # the last of two values with the same name
    "event.payload.lone == '\\ufffd'",
    "type(event.payload.tags) == list && type(event.payload.n) == int",
    "int('5') == event.payload.n && string(event.payload.n) == '5'",
    "'\\x41\\u00e9\\n' + r'\\n' == \"A\\u00e9\\n\\\\n\"",
    "size('h\\u00e9') == 2",  # counted in code points
    "// a comment\n  true",
    "{'gold': 3, 'silver': 1}[event.payload.customer.tier] >= 2",
]
FALSE = [
    "event.payload.n == 6",
    "event.payload.n == true",
    "event.payload.on == 1",
    "1.5 in [1, 2]",
]
FAILED = [
    ("event.source == 'a'", "no such key: source"),
    ("event.metadata.a == 1", "no such key: metadata"),
    ("event.payload.nothing == 1", "no such key: nothing"),
    ("event.payload.country.code == 1", "these operands do not go together"),
    ("event.payload.no < 1", "these operands do not go together"),
    ("event.payload.n", "the filter's result is not a boolean"),
    ("event.payload.n && true", "these operands do not go together"),
    ("event.payload.n / 0 == 1", "division by zero"),
    ("event.payload.tags[9] == 'a'", "index out of bounds"),
    ("9223372036854775807 + event.payload.n > 0", "more than a 64-bit integer holds"),
    (
        "timestamp(event.payload.country) < timestamp(event.payload.at)",
        "a value that cannot be converted, or a function of other kinds",
    ),
]


@pytest.mark.parametrize("source", TRUE)
def test_a_filter_that_holds(source: str) -> None:
    assert outcome(source, event()) is True


@pytest.mark.parametrize("source", FALSE)
def test_a_filter_that_does_not_hold(source: str) -> None:
    assert outcome(source, event()) is False


@pytest.mark.parametrize(("source", "why"), FAILED)
def test_a_filter_that_says_neither_says_why_without_the_events_values(
    source: str, why: str
) -> None:
    assert outcome(source, event()) == why


def test_metadata_source_and_customer_are_seen_where_they_are() -> None:
    seen = event(b"{}", metadata=b'{"region": "eu"}', source="shop", customer="c1")
    source = "event.metadata.region == 'eu' && event.source == 'shop' && event.customerExternalId == 'c1'"
    assert outcome(source, seen) is True


REFUSED = [
    ("", "line 1, column 1: unexpected the end"),
    ("event.payload.a ==", "line 1, column 19: unexpected the end"),
    ("event.payload.a = 1", "line 1, column 17: unexpected '='"),
    ("true &&\n  payload.a", "line 2, column 3: unknown name 'payload'"),
    ("event.other == 1", "line 1, column 7: unknown name"),
    ("event == 1", "line 1, column 7: unknown name"),
    ("event.payload.a.foo()", "line 1, column 16: unknown function foo()"),
    ("size(event.payload.a, 1) == 1", "size() does not take 2 arguments"),
    ("contains(event.payload.a, 'b')", "contains() is written as x.f(y)"),
    ("event.payload.a.int() == 1", "int() is written as f(x)"),
    ("cel.bind(x, 1, x)", "unknown name 'cel'"),
    ("event.payload.a.matches(event.payload.b)", "must be written out"),
    ("event.payload.a.matches('(')", "line 1, column 25: pattern: a group is not closed"),
    ("event.payload.a.matches('a{1001}')", "too large, with its repetitions"),
    ("event.payload.a.matches('((a{50}){50}){50}')", "too large, with its repetitions"),
    ("event.payload.a.matches('(?=a)')", "this kind of group is unknown to RE2"),
    ("event.payload.a.matches('\\\\p{L}')", "\\p is not supported"),
    ("event.payload.a.matches('(a)\\\\1')", "\\1 is not supported"),
    ("event.payload.a.matches('" + "a" * 257 + "')", "at most 256 characters"),
    (
        "event.payload.a.all(x, event.payload.b.all(y, event.payload.c.all(z, true)))",
        "more than one nested macro",
    ),
    (" && ".join(["event.payload.a.all(x, true)"] * 9), "more than 8 macros"),
    ("event.payload.a.exists(x)", "exists() takes a variable and an expression"),
    ("event.payload.a.exists(1, true)", "a name is expected"),
    ("event.payload.a.exists(in, true)", "a name is expected"),
    ("event.payload.a.exists(if, true)", "'if' is a reserved word"),
    ("has(event)", "unknown name"),
    ("has(event.payload['a'])", "has() takes a field"),
    ("'a", "this string is not closed"),
    ("'\\q' == 'a'", "malformed escape"),
    ("'\\ud800' == 'a'", "malformed escape"),
    ("9223372036854775808 == 1", "more than 64 bits"),
    ("1e999 == 1.0", "more than a double holds"),
    ("1a == 1", "malformed number"),
    ("event.payload.a == `a`", "unexpected '`'"),
    ("(" * 40 + "true" + ")" * 40, "nested more than 32 deep"),
    ("!" * 40 + "true", "nested more than 32 deep"),
    (" + ".join(["1"] * 40) + " > 0", "nested more than 32 deep"),
    ("event.payload" + "['a']" * 40 + " == 1", "nested more than 32 deep"),
    ("{1: 2}[1] == 2", "the keys of a map must be strings"),
    ("timestamp(event.occurredAt)", "can only be compared"),
    ("true ? duration('1h') : duration('2h')", "can only be compared"),
    ("'" + "é" * 1024 + "' == 'a'", "at most 2048 bytes"),
]


@pytest.mark.parametrize(("source", "why"), REFUSED, ids=[source[:40] for source, _ in REFUSED])
def test_a_bad_expression_is_refused_with_its_place(source: str, why: str) -> None:
    with pytest.raises(FilterError) as refused:
        compile_filter(source)
    assert why in str(refused.value)
    assert str(refused.value).startswith("line ")


def test_patterns_are_those_of_re2() -> None:
    for pattern, text, matches in [
        ("^\\\\w+$", "abc_1", True),
        ("^\\\\w+$", "é", False),  # ASCII only, as in RE2
        ("^[\\\\w-]+$", "a-b", True),
        ("^[\\\\W]$", "é", True),
        ("\\\\bvip\\\\b", "a vip here", True),
        ("(?i)VIP", "vip", True),
        ("^\\\\d{3}-\\\\d{4}$", "555-0100", True),
        ("^[[:alpha:]]+$", "abc", True),
        ("^[[]$", "[", True),
        ("^a.c$", "aéc", True),
        ("^$", "", True),
    ]:
        assert (
            outcome(f"event.source.matches('{pattern}')", event(b"{}", source=text)) is matches
        ), pattern


@pytest.mark.parametrize(
    ("digits", "condition"),
    [
        ("1e999", "event.payload.x > 1e300"),
        ("-1e400", "event.payload.x < -1e300"),
        ("9" * 400, "event.payload.x > 1e300"),
        ("9" * 6_000, "event.payload.x > 1e300"),
        (r'1e999,"y":"\ud800"', 'event.payload.y == "\ufffd"'),
        ('1e999,"y":9223372036854775807', "event.payload.y == 9223372036854775807"),
        ('1e999,"y":123456789012345678901234567890', "event.payload.y > 1e29"),
    ],
    ids=lambda each: each[:30],
)
def test_a_number_beyond_doubles_is_infinite_and_stops_no_filter(
    digits: str, condition: str
) -> None:
    assert outcome(condition, event(b'{"x":%b}' % digits.encode())) is True


def test_the_library_comes_without_its_command_line() -> None:
    # This check needs a process that has not imported `cel.cli`, the command line of the CEL library.
    # Other tests in this process import it, so the check runs in a new process.
    said = (
        "import sys, engine.filters; before = 'prompt_toolkit' in sys.modules;"
        " import cel.cli; print(before, hasattr(cel.cli, 'app'))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
