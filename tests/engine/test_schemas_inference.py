"""Inference: all samples conform to the inferred schema."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.control.inference import DEPTHS, _proposal
from engine.model.errors import Refusal
from engine.runtime.slices import no_pause
from engine.schemas.compiled import CompiledSchema, decode
from engine.schemas.observation import MAX_NAMES, Observation, ObservationRoom
from tests.engine.schemas import random_value

TEXTS = st.sampled_from(
    ("a", "b", "", "2026-11-20T12:00:00Z", "2026-11-20", "a@b.example", "https://a.example/b", "a:b",
     "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", "x" * 100, "\0", "é")
)  # fmt: skip
NAMES = st.sampled_from(("a", "b", "c", "1", "22", "x.y", "", "n" * 200))
SCALARS = st.one_of(
    st.none(), st.booleans(), TEXTS, st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5)
)
PAYLOADS = st.lists(st.dictionaries(NAMES, VALUES, max_size=6), min_size=1, max_size=8)


def looked(payloads: list[Any], room: ObservationRoom | None = None) -> Observation:
    sight, room = Observation(), room or ObservationRoom()
    for payload in payloads:
        for _ in sight.look(payload, room):
            pass
    return sight


def hold(payloads: list[Any], schema: Any) -> None:
    compiled = CompiledSchema(schema, 1)
    for payload in payloads:
        compiled.check(json.dumps(payload).encode())


@settings(max_examples=60, deadline=None)
@given(PAYLOADS)
def test_every_payload_conforms_to_what_was_inferred(payloads: list[Any]) -> None:
    seen = [decode(json.dumps(payload).encode()) for payload in payloads]
    for depth in (64, 1, 0):
        hold(payloads, looked(seen).schema(depth))


@pytest.mark.parametrize("left", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("seed", range(8))
def test_that_holds_where_there_is_no_room_to_watch_everything(left: int, seed: int) -> None:
    random = Random(seed)
    payloads = [{"a": random_value(random), "b": random_value(random)} for _ in range(20)]
    hold(payloads, looked(payloads, ObservationRoom(left)).schema(64))


@pytest.mark.parametrize("first", [3, MAX_NAMES, MAX_NAMES + 1, 3 * MAX_NAMES])
def test_an_object_of_very_many_names_is_a_map(first: int) -> None:
    payloads: list[Any] = [{"m": {f"k{n}": n for n in range(first)}, "more": 1}]
    payloads += [{"m": {f"q{n}": [str(n)] for n in range(200)}}, {"m": {"k1": None}}]
    schema = looked(payloads).schema(64)
    hold(payloads, schema)
    assert "properties" not in schema["properties"]["m"]
    assert schema["properties"]["m"]["additionalProperties"]["type"] == ["array", "integer", "null"]
    assert schema["required"] == ["m"]


def test_a_map_may_hold_maps_and_rows() -> None:
    row = {"id": 1, "tags": {f"t{n}": n for n in range(2 * MAX_NAMES)}}
    payloads = [{f"k{n}": {"rows": [row, {"id": None}]} for n in range(2 * MAX_NAMES)}]
    schema = looked(payloads, ObservationRoom(1_000_000)).schema(64)
    hold(payloads, schema)
    rows = schema["additionalProperties"]["properties"]["rows"]["items"]
    assert rows["properties"]["id"] == {"type": ["integer", "null"]}
    assert rows["properties"]["tags"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        (["2026-11-20T12:00:00Z"] * 2, {"type": "string", "format": "date-time"}),
        (["2026-11-20"], {"type": "string", "format": "date"}),
        (["a@b.example"], {"type": "string", "format": "email"}),
        (["https://a.example/b"], {"type": "string", "format": "uri"}),
        (["a:b"], {"type": "string"}),
        (["01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", None], {"type": ["string", "null"], "format": "uuid"}),
        (["open", "paid"] * 10, {"type": "string", "enum": ["open", "paid"]}),
        (["open", "paid", None] * 10, {"type": ["string", "null"], "enum": ["open", "paid", None]}),
        (["open", "paid"] * 9, {"type": "string"}),
        ([str(n) for n in range(40)], {"type": "string"}),
        ([1, 2], {"type": "integer"}),
        ([1, 2.5], {"type": "number"}),
        ([1, True], {"type": ["integer", "boolean"]}),
        ([[]], {"type": "array"}),
        ([[1], ["a"]], {"type": "array", "items": {"type": ["string", "integer"]}}),
        ([{}], {"type": "object"}),
        ([{"1": 1, "22": 2}], {"type": "object", "additionalProperties": {"type": "integer"}}),
        ([{"a": 1}, {}], {"type": "object", "properties": {"a": {"type": "integer"}}}),
    ],
)  # fmt: skip
def test_what_values_have_in_common(values: list[Any], schema: Any) -> None:
    assert looked([{"x": value} for value in values]).schema(64)["properties"]["x"] == schema


def test_places_of_several_kinds_are_told() -> None:
    sight = looked([{"a": 1, "b": [{"c": "x"}]}, {"a": "x", "b": [{"c": {}}]}, {"a": None}])
    assert list(sight.conflicts()) == [
        ("payload.a", "integer 1 times, string 1 times"),
        ("payload.b[].c", "object 1 times, string 1 times"),
    ]


def test_a_schema_that_would_be_too_large_says_less() -> None:
    payloads = [
        {
            f"{name}{'x' * 100}": {f"{n}{'y' * 100}": n for n in range(50)}
            for name in "abcdefghijklmnop"
        }
    ]
    proposal = _proposal("e", 1, looked(payloads).schema, no_pause)
    hold(payloads, proposal.schema_)
    assert proposal.schema_ == looked(payloads).schema(DEPTHS[-2])


def test_looking_pauses() -> None:
    sight, room = Observation(), ObservationRoom()
    assert sum(1 for _ in sight.look({"a": [1] * 10_000}, room)) > 30


def test_numbers_of_any_length_are_what_they_are() -> None:
    long = decode(b'{"x":' + b"9" * 5_000 + b',"y":0.12345678901234567890}')
    assert looked([long]).schema(64)["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "number"},
    }
    with pytest.raises(Refusal):
        CompiledSchema(looked([{"x": 1}]).schema(64), 1).check(b'{"x":"a"}')
