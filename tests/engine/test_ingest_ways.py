"""The fast paths of ingestion: each event gets the same result as on the general path."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.records import Event
from engine.ingest import event_json
from engine.ingest.event_json import read_batch, read_event
from engine.ingest.ingest import Ingest
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.routing.router import Router
from tests.engine.test_router import destination, rule

MEMBERS = st.sampled_from(
    [
        b'"eventType":"a"',
        b'"event\\u0054ype":"a"',
        b'"payload":{}',
        b'"payload":{"a":"\\"","b":[1,{"c":"{"}]}',
        b'"payload":[]',
        b'"payload":' + b'{"a":' * 62 + b"{}" + b"}" * 62,
        b'"payload":' + b'{"a":' * 63 + b"{}" + b"}" * 63,
        b'"source":"shop"',
        b'"source":null',
        b'"source":"a\\"b"',
        b'"idempotencyKey":"k\\u0000"',
        b'"customerExternalId":"c"',
        b'"occurredAt":"2026-01-01T00:00:00Z"',
        b'"metadata":{"a":1}',
        b'"attachments":null',
        b'"other":1',
    ]
)
REQUIRED = [b'"eventType":"a"', b'"payload":{"n":1}']
EVENTS = st.one_of(
    st.lists(MEMBERS, max_size=6), st.lists(MEMBERS, max_size=5).map(lambda more: REQUIRED + more)
).map(lambda members: b"{" + b",".join(members) + b"}")


def outcome(read: Any, body: bytes) -> object:
    try:
        return read(body)
    except Refusal as refusal:
        return refusal.code, refusal.message, refusal.details


@given(EVENTS)
def test_an_event_that_is_seen_to_be_plain_is_what_exact_counts_accept(body: bytes) -> None:
    short = outcome(read_event, body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_json, "_plain", lambda *_: False)
        assert outcome(read_event, body) == short


@given(
    st.lists(EVENTS, max_size=4), st.sampled_from([b'"events"', b'"\\u0065vents"']), st.booleans()
)
def test_a_small_batch_is_sliced_as_a_large_one(
    events: list[bytes], key: bytes, twice: bool
) -> None:
    field = key + b":[" + b",".join(events) + b"]"
    body = b"{" + (field + b"," if twice else b"") + field + b"}"
    small = outcome(read_batch, body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_json, "LARGE_BYTES", 0)
        assert outcome(read_batch, body) == small


@given(st.lists(st.sampled_from(["a", "a.b", "a.*", "*", "b"]), max_size=4), st.sampled_from("ab"))
def test_a_route_without_filter_and_schema_is_what_the_judge_returns(
    patterns: list[str], event_type: str
) -> None:
    models = Models()
    for number, pattern in enumerate(patterns):
        models.put_destination(destination(f"d{number}"))
        models.put_rule(rule(f"r{number}", f"d{number}", pattern))
    router = Router(models)
    ingest = Ingest(router, lambda _: None, Identity(), lambda *_: None)
    event = Event(Identity().event(), 1, event_type, 0, b"{}")
    route = router.route(1, event_type)
    assert ingest._choices(event) == ingest.judge.choices(route, event)
