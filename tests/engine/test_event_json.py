"""Reading events: what is refused, with which path, and that a payload keeps its exact bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Refusal
from engine.event_json import check_type, read_batch, read_event
from engine.json_members import deepest, names, quotes, tile, without_surrogates


def nested(depth: int) -> bytes:
    """Return an object of `depth` nested containers."""
    return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)


ACCEPTED_PAYLOADS = [
    b"{}",
    b'{"b":1,"a":2}',
    b'{ "spaced" :  1.0 , "n": 123456789012345678901234567890 }',
    b'{"a":1,"a":2}',
    b'{"lone":"\\ud800","text":"\\\\ud800"}',
    b'{"pair":"\\ud83d\\ude00"}',
    b'{"source":"inner","payload":{"payload":1},"eventType":"inner"}',
    '{"ü":"✓"}'.encode(),
    b'{"e":1e999,"z":-0.0}',
    nested(63),
]


@pytest.mark.parametrize("payload", ACCEPTED_PAYLOADS)
def test_a_payload_keeps_its_exact_bytes(payload: bytes) -> None:
    body = b'{"payload":' + payload + b',"eventType":"order.created","source":"shop"}'
    event, found = read_event(body)
    assert found == payload
    assert event.source == "shop"


@pytest.mark.parametrize("payload", ACCEPTED_PAYLOADS[:-1])
def test_a_batch_slices_its_events_exactly(payload: bytes) -> None:
    event = b'{"eventType":"t","payload":' + payload + b"}"
    assert read_batch(b'{ "events" : [' + event + b" ,\n" + event + b"] }") == [event, event]


REFUSED = [
    (b"", None),
    (b"[]", None),
    (b"{}", "eventType"),
    (b'{"eventType":"x"}', "payload"),
    (b'{"eventType":1,"payload":{}}', "eventType"),
    (b'{"eventType":"x","payload":[]}', "payload"),
    (b'{"eventType":"x","payload":null}', "payload"),
    (b'{"eventType":"x","payload":{},"extra":1}', "extra"),
    (b'{"eventType":"x","payload":{},"payload":{}}', "payload"),
    (b'{"eventType":"x","event\\u0054ype":"y","payload":{}}', "eventType"),
    (b'{"eventType":"x","payload":{},"source":""}', "source"),
    (b'{"eventType":"x","payload":{},"source":"a\\u0000"}', "source"),
    (
        b'{"eventType":"x","payload":{},"customerExternalId":"' + b"c" * 257 + b'"}',
        "customerExternalId",
    ),
    (b'{"eventType":"x","payload":{},"idempotencyKey":""}', "idempotencyKey"),
    (b'{"eventType":"x","payload":{},"source":"\\udc00"}', None),
    (b'{"eventType":"x","payload":{},"metadata":[]}', "metadata"),
    (b'{"eventType":"x","payload":{},"metadata":1}', "metadata"),
    (b'{"eventType":"x","payload":{},"occurredAt":"yesterday"}', "occurredAt"),
    (b'{"eventType":"x","payload":{},"occurredAt":"2026-11-20T12:00:00"}', "occurredAt"),
    (b'{"eventType":"x","payload":{"a":NaN}}', None),
    (b'{"eventType":"x","payload":{"a":1,}}', None),
    (b'{"eventType":"x","payload":{"a":"\xff"}}', None),
    (b'{"eventType":"x","payload":{}} trailing', None),
    (b'\xef\xbb\xbf{"eventType":"x","payload":{}}', None),
    (b'{"eventType":"x","payload":' + nested(64) + b"}", None),
    (b'{"eventType":"x","payload":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}", None),
    (b'{"eventType":"x","payload":{},"attachments":{}}', "attachments"),
    (b'{"eventType":"x","payload":{},"attachments":[{}]}', "attachments[0].source"),
    (
        b'{"eventType":"x","payload":{},"attachments":[{"source":{"kind":"FTP","uri":"x"}}]}',
        "attachments[0].source.kind",
    ),
    (
        b'{"eventType":"x","payload":{},"attachments":[{"source":{"kind":"INLINE","uri":"x"}}]}',
        "attachments[0].source.uri",
    ),
]


@pytest.mark.parametrize(("body", "path"), REFUSED)
def test_a_bad_event_is_refused_at_its_path(body: bytes, path: str | None) -> None:
    with pytest.raises(Refusal) as caught:
        read_event(body)
    assert caught.value.code == "invalid_request"
    assert [detail.path for detail in caught.value.details] == ([path] if path else [])


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'{"events":{}}',
        b'{"events":[]}',
        b'{"events":[{}],"more":1}',
        b'{"events":[{"a":1}],"events":[{"a":1}]}',
        b'{"events":[{"a":1}],"\\u0065vents":[{"a":1}]}',
        b'{"events":[{"a":"\\ud800"}],"events":[{"a":1}]}',
        b'{"events":[{"a":1},]}',
    ],
)
def test_a_malformed_batch_is_refused_whole(body: bytes) -> None:
    with pytest.raises(Refusal) as caught:
        read_batch(body)
    assert caught.value.code == "invalid_request"


def test_a_batch_holds_at_most_a_thousand_events() -> None:
    body = b'{"events":[' + b",".join([b"{}"] * 1001) + b"]}"
    with pytest.raises(Refusal) as caught:
        read_batch(body)
    assert caught.value.code == "payload_too_large"


@pytest.mark.parametrize("good", ["a", "order.created", "A-Z_:/9", "x" * 256])
def test_event_types_of_the_alphabet_are_accepted(good: str) -> None:
    check_type(good)


@pytest.mark.parametrize("bad", ["", "a b", "ü", "x" * 257, "a\n", "angarium.test", "a*"])
def test_other_event_types_are_refused(bad: str) -> None:
    with pytest.raises(Refusal, match="eventType"):
        check_type(bad)


def test_occurred_at_is_taken_with_its_offset_and_defaults_to_receipt() -> None:
    event, _ = read_event(
        b'{"eventType":"x","payload":{},"occurredAt":"1970-01-01T02:00:00.0015+02:00"}'
    )
    assert event.occurred_at_ms(7) == 1
    assert read_event(b'{"eventType":"x","payload":{}}')[0].occurred_at_ms(7) == 7
    assert read_event(b'{"eventType":"x","payload":{},"occurredAt":null}')[0].occurred_at_ms(7) == 7


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(st.tuples(st.text(), JSON), max_size=5), st.booleans())
def test_names_are_those_that_the_standard_library_parses(
    members: list[tuple[str, object]], ascii_only: bool
) -> None:
    pairs = [json.dumps({name: value}, ensure_ascii=ascii_only)[1:-1] for name, value in members]
    body = ("{" + ",".join(pairs) + "}").encode("utf-8", "surrogatepass")
    if b"\xed" not in body:
        assert names(body) == [name for name, _ in members]


@given(JSON)
def test_the_quotes_of_strings_are_counted_alone(value: object) -> None:
    def strings(part: object) -> int:
        if isinstance(part, dict):
            return len(part) + sum(map(strings, part.values()))
        if isinstance(part, list):
            return sum(map(strings, part))
        return isinstance(part, str)

    assert quotes(json.dumps(value).encode()) == 2 * strings(value)


@given(JSON)
def test_depth_is_counted_as_nested_containers(value: object) -> None:
    def depth(part: object) -> int:
        if isinstance(part, dict):
            return 1 + max(map(depth, part.values()), default=0)
        if isinstance(part, list):
            return 1 + max(map(depth, part), default=0)
        return 0

    assert deepest(json.dumps(value).encode()) == depth(value)


def test_only_lone_surrogates_are_replaced_and_lengths_stay() -> None:
    body = b'"\\ud83d\\ude00 \\ud800 \\\\ud800 \\udc00\\ud800"'
    fixed = without_surrogates(body)
    assert len(fixed) == len(body)
    assert fixed == b'"\\ud83d\\ude00 \\u0041 \\\\ud800 \\u0041\\u0041"'


def test_tiles_must_cover_the_whole_array() -> None:
    assert tile(b"[{}, {}]}", 1, [b"{}", b"{}"]) == [(1, 3), (5, 7)]
    assert tile(b"[{}, {}]}", 1, [b"{}"]) is None
    assert tile(b'[{}], "x": 1}', 1, [b"{}"]) is None
