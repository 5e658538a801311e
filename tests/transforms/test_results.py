"""The results of scripts: allowed values, their effect, and messages about failures."""

# ruff: noqa: E501 (a case is a line)

import json
import math
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.vocabulary import ErrorCategory
from engine.outbound.ports import Failure, Transformed
from tests.transforms.house import BODY, EVENT, function, open_pool, performed, value_of

RETURNED: list[tuple[str, Any]] = [
    ("return event;", EVENT),
    ("return event.data;", EVENT["data"]),
    ("return { ...event, data: 1 };", {**EVENT, "data": 1}),
    ("return [1, 'ü', true, null];", [1, "ü", True, None]),
    ("return 'text';", "text"),
    ("return 0;", 0),
    ("return false;", False),
    ("return '';", ""),
    ("return { $body: { $type: 'x' } };", {"$type": "x"}),
    ("return { $body: null };", None),
    ("event.data = 5; return { $headers: { 'x-a': 'b' } };", {**EVENT, "data": 5}),
    ("return { $type: 'order.paid' };", {**EVENT, "type": "order.paid"}),
    ("return { $type: 'order.paid', $body: { type: 1 } };", {"type": 1}),
    ("return { $type: 'order.paid', $body: [1] };", [1]),
    ("return { $type: 'a', $body: Object.freeze({ type: 'b', c: 1 }) };", {"type": "a", "c": 1}),
    ("return { $type: 'a', $body: { toJSON() { return { type: 'b' }; } } };", {"type": "a"}),
    ("return Promise.resolve({ a: 1 });", {"a": 1}),
    ("return new Map([[1, 2]]);", {}),
    ("return new Date();", "2026-01-01T00:00:00.123Z"),
    ("return JSON.rawJSON('12345678901234567890');", 12345678901234567890),
]


@pytest.mark.parametrize(("body", "expected"), RETURNED, ids=[each[0][:40] for each in RETURNED])
async def test_a_result_is_the_body(body: str, expected: Any) -> None:
    async with open_pool(1) as pool:
        assert await value_of(pool, function(body)) == expected


async def test_headers_type_and_skipping() -> None:
    async with open_pool(1) as pool:
        given = "return { $headers: { 'X-A': 'ü', n: 5, b: true }, $type: 'a.b', $body: 1 };"
        result = await performed(pool, function(given))
        assert isinstance(result, Transformed)
        assert (result.type, result.skipped) == ("a.b", False)
        assert result.headers == ((b"X-A", "ü".encode()), (b"n", b"5"), (b"b", b"true"))
        result = await performed(pool, function("console.log('no'); return null;"))
        assert isinstance(result, Transformed)
        assert (result.skipped, result.logs, result.headers) == (True, b"no", ())


TYPED: list[tuple[str, str | None, bytes]] = [
    ("'text'", None, b'"text"'),
    ("'text'", "application/json", b'"text"'),
    ("'text'", "Application/JSON; charset=utf-8", b'"text"'),
    ("'text'", "application/problem+json", b'"text"'),
    ("'a=1&b=\u00fc\\n'", "application/x-www-form-urlencoded", "a=1&b=\u00fc\n".encode()),
    ("'\\ud800<x/>'", "application/xml; charset=utf-8", b"?<x/>"),
    ("''", "text/plain", b""),
    ("{ a: 1 }", "text/plain", b'{"a":1}'),
    ("5", "text/plain", b"5"),
]


@pytest.mark.parametrize(("body", "kind", "sent"), TYPED)
async def test_a_text_is_sent_as_it_is_with_a_type_of_its_own(
    body: str, kind: str | None, sent: bytes
) -> None:
    headers = "" if kind is None else f", $headers: {{ 'Content-Type': '{kind}' }}"
    async with open_pool(1) as pool:
        result = await performed(pool, function(f"return {{ $body: {body}{headers} }};"))
    assert isinstance(result, Transformed)
    assert result.body == sent


async def test_what_a_run_takes_is_told_however_short_it_is() -> None:
    async with open_pool(1) as pool:
        for _ in range(20):
            result = await performed(pool, function("return event;"))
            assert isinstance(result, Transformed)
            assert result.duration_ms > 0.0


async def test_an_async_function_is_awaited() -> None:
    source = "async function transform(event) { const all = await Promise.all([1, (async () => 2)()]); return all; }"
    async with open_pool(1) as pool:
        assert await value_of(pool, source) == [1, 2]


async def test_the_console_is_kept_with_a_failure_too_and_cut_at_a_character() -> None:
    async with open_pool(1) as pool:
        lines = "console.log('a', { b: 1 }, [2], null, undefined, 3n, () => 1); console.warn(new Error('c'));"
        result = await performed(pool, function(f"{lines} return event.a.b;"))
        assert isinstance(result, Failure)
        assert result.logs == b'a {"b":1} [2] null undefined 3n [function]\n[warn] Error: c'
        result = await performed(pool, function("console.log('ü'.repeat(9000)); return 1;"))
        assert isinstance(result, Transformed)
        assert result.logs is not None
        assert len(result.logs) <= 4096
        assert result.logs.decode().strip("ü") == "…"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n\nfunction transform(event) {\n  return event.a.b;\n}", "TypeError: cannot read property 'b' of undefined (line 4, column 10)"),
        ("function transform(event) {\n  throw new Error('of mine');\n}", "Error: of mine (line 2, column 13)"),
        ("const broken = nowhere;\nfunction transform() {}", "nowhere is not defined (line 1, column 16)"),
    ],
)  # fmt: skip
async def test_a_failure_says_where(source: str, message: str) -> None:
    async with open_pool(1) as pool:
        result = await performed(pool, source)
        assert isinstance(result, Failure)
        assert result.category is ErrorCategory.TRANSFORM
        assert message in result.message


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("function transform(event) { return event; }", None),
        ("const transform = (event) => event;", None),
        ("async function transform(event) {}", None),
        ("// nothing\nfunction transform() {} // the end", None),
        ("function transform(event) {\n  return 1 +;\n}", "(line 2, column 13)"),
        ("function transfrom(event) {}", "there is no function transform(event)"),
        ("", "there is no function transform(event)"),
        ("let transform = 5;", "there is no function transform(event)"),
        ("export function transform() {}", "(line 1, column"),
        ("}); (function () {", "(line 1, column 1)"),
        ("function transform() {} /*", "(line 1"),
        ("function transform() {} `", "(line 1"),
        ("function transform() {}\0", "NUL"),
        ("return 1;", "return"),
        ("throw new Error('at once'); function transform() {}", "Error: at once (line 1, column"),
        ("for (;;) {} function transform() {}", "the script took more than 50 ms of CPU"),
        ("function transform() { return '\ud800'; }", ""),
    ],
)
async def test_a_source_is_judged_with_the_place(source: str, complaint: str | None) -> None:
    async with open_pool(1) as pool:
        found = await pool.check("ours", source)
        if complaint is None:
            assert found is None
        elif complaint:
            assert found is not None
            assert complaint in found


async def test_long_numbers_lose_digits_and_nothing_else_is_changed() -> None:
    async with open_pool(1) as pool:
        body = b'{"a":12345678901234567890,"b":1.10,"c":1e3,"d":"\\u00fc\\ud83d\\ude00","e":{}}'
        result = await performed(pool, function("return event;"), body)
        assert isinstance(result, Transformed)
        assert (
            result.body == '{"a":12345678901234567000,"b":1.1,"c":1000,"d":"ü😀","e":{}}'.encode()
        )


EXACT = 2**53
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-EXACT, EXACT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(VALUES, min_size=1, max_size=40))
@settings(max_examples=15, deadline=None)
def test_what_is_returned_as_it_came_is_the_same_json(values: list[Any]) -> None:
    async def main() -> None:
        async with open_pool(1) as pool:
            for value in values:
                body = json.dumps({"data": value}).encode()
                same: Any = await value_of(pool, function("return event;"), body)
                assert equal(same["data"], value)

    trio.run(main)


def equal(ours: Any, theirs: Any) -> bool:
    """Compare values as in JSON: 1 and 1.0 are equal, but 1 and true are not."""
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=0, abs_tol=0)
    return bool(ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool))


async def test_a_large_body_goes_through() -> None:
    body = json.dumps({"type": "x", "data": "ü" * 150_000}).encode()
    async with open_pool(1) as pool:
        same: Any = await value_of(pool, function("return event;"), body)
        assert same == json.loads(body)
    assert len(BODY) < len(body)


async def test_no_id_that_a_trial_is_given_is_more_than_a_seed() -> None:
    async with open_pool(1) as pool:
        dice = function("return Math.random();")
        seeds = ["", "\0", "a" + "é" * 200, "\U0001d518" * 100, "x" * 10_000, "\ud800"]
        drawn = [await value_of(pool, dice, seed=seed) for seed in seeds]
        assert await value_of(pool, dice, seed=seeds[2]) == drawn[2]
        assert pool.statistics().lost == 0
