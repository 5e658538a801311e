"""The reader of events: its refusals with their paths, and payloads whose exact bytes are kept."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.ingest.event_json import check_type, read_batch, read_event
from engine.model.errors import Refusal
from engine.model.json_members import (
    containers_and_commas,
    deepest,
    names,
    portions,
    quotes,
    tile,
    without_surrogates,
)
from tests.fuzz.dearest import counted


def nested(depth: int) -> bytes:
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
    (b'{"eventType":"x","payload":{},"traceparent":"a","traceparent":"a"}', "traceparent"),
    (b'{"eventType":"x","payload":{},"tracestate":"a\\u0000"}', "tracestate"),
    (b'{"eventType":"x","payload":{},"tracestate":"' + b"c" * 16_448 + b'"}', "tracestate"),
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
        assert list(names(body)) == [name for name, _ in members]


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


@given(JSON)
def test_containers_and_commas_are_counted_outside_of_strings(value: object) -> None:
    def counted(part: object) -> tuple[int, int]:
        if not isinstance(part, dict | list):
            return 0, 0
        inner = [counted(each) for each in (part.values() if isinstance(part, dict) else part)]
        commas = max(0, len(inner) - 1) + sum(commas for _, commas in inner)
        return 1 + sum(containers for containers, _ in inner), commas

    assert containers_and_commas(json.dumps(value).encode()) == counted(value)


def test_only_lone_surrogates_are_replaced_and_lengths_stay() -> None:
    body = b'"\\ud83d\\ude00 \\ud800 \\\\ud800 \\udc00\\ud800"'
    fixed = without_surrogates(body)
    assert len(fixed) == len(body)
    assert fixed == b'"\\ud83d\\ude00 \\u0041 \\\\ud800 \\u0041\\u0041"'


@given(
    st.lists(st.sampled_from([b"\\ud800", b"\\udc00", b"\\\\", b'\\"', b'"', b"a"])),
    st.integers(1, 9),
)
def test_portions_of_a_text_are_mended_like_the_whole(pieces: list[bytes], size: int) -> None:
    body = b"".join(pieces)
    mended = [without_surrogates(portion) for portion in portions(body, size, 1_000)]
    assert b"".join(mended) == without_surrogates(body)


def batch(events: bytes) -> bytes:
    return b'{"events":[' + events + b"]}"


LARGE_EVENT = b'{"eventType":"a","payload":{"a":"' + b"x" * 1_000 + b'"}}'


@pytest.mark.parametrize(
    ("body", "found", "least"),
    [
        (batch(b",".join([LARGE_EVENT] * 1_000)), 1_000, 2),
        (batch(b",".join([LARGE_EVENT] * 1_001)), "payload_too_large", 1),
        (batch(b",".join([b"1"] * 2_600_000)), "payload_too_large", 1),
        (b"{" + b",".join([b'"events":[]'] * 400_000) + b"}", "invalid_request", 3),
        (b"{" + b",".join([b'"\\u0065vents":[]'] * 300_000) + b"}", "invalid_request", 3),
        (batch(b'{"a":"' + b"\\ud800" * 800_000 + b'"},' + LARGE_EVENT), 2, 2),
        (batch(b",".join([b'{"a":"' + b"\\ud800" * 40_000 + b'"}'] * 20)), 20, 20),
    ],
    ids=["most", "one more", "numbers", "keys", "escaped keys", "one too large", "surrogates"],
)
def test_a_large_batch_is_sliced_in_steps_that_are_short(
    body: bytes, found: int | str, least: int
) -> None:
    ended: list[int | str] = []
    pauses = itertools.count()

    def read() -> None:
        try:
            ended.append(len(read_batch(body, lambda: _ignored(next(pauses)))))
        except Refusal as refusal:
            ended.append(refusal.code)

    assert counted(read).total < 12_000  # a few lines for each of a thousand events
    assert ended == [found]
    assert next(pauses) >= least


def _ignored(_number: int) -> None:
    """Discard the count."""


def test_tiles_must_cover_the_whole_array() -> None:
    assert tile(b"[{}, {}]}", 1, [b"{}", b"{}"]) == [(1, 3), (5, 7)]
    assert tile(b"[{}, {}]}", 1, [b"{}"]) is None
    assert tile(b'[{}], "x": 1}', 1, [b"{}"]) is None
