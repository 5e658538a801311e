"""The event members that a filter names, and their values."""

from typing import Any

import pytest

from engine.filters import compile_filter
from engine.filters.members import MOST, TEXT, values_of

FIELDS: dict[str, Any] = {
    "eventType": "order.created",
    "payload": {"total": 50, "items": [{"id": "a"}], "odd name": None, "long": "x" * 1_000},
}
CASES: dict[str, list[tuple[str, str | None]]] = {
    "event.payload.total > 1": [("event.payload.total", "50")],
    "event.payload.total > 1 && event.payload.total < 9": [("event.payload.total", "50")],
    "event.payload['odd name'] == 1": [('event.payload["odd name"]', "null")],
    "event.payload.items[0].id == 'b'": [("event.payload.items[0].id", '"a"')],
    "event.payload.items[1].id == 'b'": [("event.payload.items[1].id", None)],
    "event.payload.items.exists(i, i.id == 'b')": [("event.payload.items", '[{"id":"a"}]')],
    "has(event.payload.none) || has(event.source)": [
        ("event.payload.none", None),
        ("event.source", None),
    ],
    "size(event.payload.items) == int(event.metadata.n)": [
        ("event.payload.items", '[{"id":"a"}]'),
        ("event.metadata.n", None),
    ],
    "event.eventType.startsWith('order')": [("event.eventType", '"order.created"')],
    "1 == 1": [],
}


@pytest.mark.parametrize("source", CASES)
def test_a_filters_members_are_shown_with_their_values(source: str) -> None:
    found = values_of(compile_filter(source).members, FIELDS)
    assert [(each.path, each.value) for each in found] == CASES[source]


def test_members_and_their_values_are_bounded() -> None:
    many = " && ".join(f"event.payload.m{n} == {n}" for n in range(30))
    assert len(compile_filter(many).members) == MOST
    large = {"payload": {"all": [{"a": ["x" * 10_000] * 1_000}] * 1_000, "long": "x" * 10_000}}
    members = compile_filter("event.payload.all == [] || event.payload.long == ''").members
    assert all(len(each.value or "") == TEXT for each in values_of(members, large))
