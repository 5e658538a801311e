"""Patterns in schemas. A pattern is refused before it is compiled if its compilation would take too long,
and a text is refused before it is matched if the match would take too long."""

import json
from typing import Any

import pytest

from engine.model.errors import Refusal
from engine.schemas.compiled import CompiledSchema, judged
from engine.schemas.patterns import PATTERN_SIZE, alive, compiling_size, text_prices

UUID = "^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"
INSTANT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$"
MANY_PLACES = "(a|b|ab)*a(a|b){600}c"


@pytest.mark.parametrize("escape", [r"\w", r"\d", r"\s", r"\S", r"[\s\d]", r"(?:\w)", r"\cA"])
def test_a_pattern_that_is_written_out_and_read_anew_for_long_is_refused(escape: str) -> None:
    """A pattern of 2,480 escapes takes the validator seconds to compile, and blocks all threads
    meanwhile. Four of these patterns take 11 s."""
    with pytest.raises(Refusal, match="takes too long to compile"):
        judged({"pattern": escape * (4_960 // len(escape))})
    judged({"pattern": escape * 20})


@pytest.mark.parametrize(
    "pattern",
    [
        r"\d\d{}",
        r"[0-9][0-9]{}",
        r"[a]*\d\d{}",
        r"^?\d\d{}",
        r"^a|\d\d{}",
        r"\p{{L}}{}",
        r"^\s{}",
        "(?i)ab{}",
    ],
)
def test_many_short_patterns_that_take_long_to_prepare_are_refused(pattern: str) -> None:
    """The compilation of hundreds of short patterns would be one step of the event loop, of about 0.2
    s."""
    named = {pattern.format(number): True for number in range(700)}
    with pytest.raises(Refusal, match="take too long to compile together"):
        judged({"patternProperties": named})
    judged({"patternProperties": dict(list(named.items())[:30])})


def test_many_anchored_patterns_and_plain_texts_are_cheap_to_prepare() -> None:
    judged({"patternProperties": {f"^[a-z]{{2,8}}_{number}$": True for number in range(150)}})
    judged({"patternProperties": {f"^x-{number}": True for number in range(900)}})


def test_ordinary_patterns_are_cheap_to_compile() -> None:
    judged({"properties": {f"at{number}": {"pattern": INSTANT} for number in range(120)}})
    assert compiling_size("a" * 4_000 + r"\d") < PATTERN_SIZE


@pytest.mark.parametrize(
    "schema",
    [
        {"required": [10**20 + number for number in range(2_700)]},
        {"type": [10**20 + number for number in range(2_700)]},
        {"dependentRequired": {"a": [10**20 + number for number in range(2_700)]}},
    ],
)
def test_long_numbers_where_the_meta_schema_compares_them_are_refused(schema: Any) -> None:
    """Comparing them would block all threads for 2 to 9 s."""
    with pytest.raises(Refusal, match="too many long numbers"):
        judged(schema)


def test_divisors_with_large_exponents_have_a_bound() -> None:
    def schema(divisor: float, number: int) -> Any:
        return {"properties": {f"k{each}": {"multipleOf": divisor} for each in range(number)}}

    with pytest.raises(Refusal, match="more than 500 `multipleOf`"):
        judged(schema(5e-324, 501))
    judged(schema(5e-324, 500))
    judged(schema(0.01, 1_000))


@pytest.mark.parametrize(
    ("pattern", "places"),
    [
        (r"^\d{4}-\d{2}-\d{2}$", 1),
        (UUID, 1),
        ("^.{1,100}$", 2),
        ("^[a-z0-9-]+$", 2),
        (INSTANT, 10),
        ("[A-Z]{3}", 3),
        (MANY_PLACES, 1_206),
        ("^(a|b)*a(a|b){600}c$", 1_205),
        ("^a|b{900}", 901),
        ("^*a[ab]{600}c", 603),
        ("(?m)^a{600}", 603),
        ("^a?b{900}", 901),
        ("^(|a)b{900}", 901),
        ("^a{50}b{1,50}c{50}$", 52),
        ("^(", 1),
    ],
)
def test_a_matcher_is_at_so_many_places_at_once(pattern: str, places: int) -> None:
    assert alive(pattern) == places


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": MANY_PLACES}}},
        {"properties": {"a": {"items": {"anyOf": [{"pattern": MANY_PLACES}]}}}},
        {"additionalProperties": {"pattern": MANY_PLACES}},
        {"patternProperties": {MANY_PLACES: True}},
        {"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"pattern": MANY_PLACES}}},
    ],
)
def test_text_that_takes_a_pattern_too_long_is_refused_before_it_is_matched(
    schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40,000 characters would take 486 ms in one step."""
    check = judged(schema)[0]
    monkeypatch.setattr(check, "_validator", None)
    with pytest.raises(Refusal, match="too many characters"):
        check.check(json.dumps({"a": ["ab" * 20_000], "b": 1}).encode())


def test_a_text_that_no_pattern_is_for_costs_nothing() -> None:
    schema = {"properties": {"id": {"pattern": UUID[1:-1]}, "at": {"items": {"pattern": INSTANT}}}}
    check: CompiledSchema = judged(schema)[0]
    identifier = "0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f"
    at = ["2026-11-20T12:00:00.123Z"] * 300
    check.check(json.dumps({"id": identifier, "at": at, "text": "x" * 250_000}).encode())
    with pytest.raises(Refusal, match="too many characters"):
        check.check(json.dumps({"id": identifier * 2_000}).encode())


def test_where_references_lead_all_text_is_counted_by_the_weight() -> None:
    shared = {"$defs": {"id": {"pattern": UUID}}, "properties": {"id": {"$ref": "#/$defs/id"}}}
    check, weight = judged(shared)
    assert text_prices(shared, weight).names is None
    check.check(
        json.dumps({"id": "0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f", "b": "x" * 250_000}).encode()
    )


def test_a_dear_text_is_matched_in_a_step_of_its_own() -> None:
    pauses: list[None] = []
    check = judged({"properties": {"a": {"pattern": MANY_PLACES}}})[0]
    with pytest.raises(Refusal, match="ababab"):
        check.check(json.dumps({"a": "ab" * 400}).encode(), lambda: pauses.append(None))
    assert len(pauses) == 1
