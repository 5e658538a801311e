"""The encoding of events. A missing idempotency key is added, and the caller's bytes stay unchanged."""

import json

import pytest

import angarium
from angarium.outgoing import batch, single

EXACT = b'{"price": 19.90, "n": 123456789012345678901234567890, "n": 1, "e": 1E400}'


def test_a_payload_of_bytes_goes_out_digit_for_digit() -> None:
    body = single("a.b", b"\n " + EXACT + b" \n", {"source": "s", "metadata": None})
    assert body.endswith(b'"payload": ' + EXACT + b"}")
    fields = json.loads(body)
    assert (fields["eventType"], fields["source"]) == ("a.b", "s")
    assert "metadata" not in fields
    assert len(fields["idempotencyKey"]) == 36


def test_events_of_bytes_are_left_as_they_are_but_for_a_key() -> None:
    keyed = b'{"eventType": "a", "payload": ' + EXACT + b', "idempotencyKey": "mine"}'
    bare = b'{"eventType": "a", "payload": ' + EXACT + b"}"
    body = batch([keyed, bare, b'{"idempotencyKey": null, "eventType": "a"}', b"{}"])
    assert body.startswith(b'{"events": [' + keyed + b", " + bare[:-1] + b', "idempotencyKey": "')
    events = json.loads(body)["events"]
    assert events[0]["idempotencyKey"] == "mine"
    assert len({event.get("idempotencyKey") for event in events}) == 4
    assert len(events[2]["idempotencyKey"]) == 36
    assert events[3] == {}, "the service says what is wrong with it"


def test_half_a_surrogate_pair_is_written_as_the_escape_that_it_came_as() -> None:
    payload = json.loads(r'{"half": "\ud800", "whole": "é"}')
    assert rb"\ud800" in single("a.b", payload, {})
    assert (
        json.loads(batch([{"eventType": "a", "payload": payload}]))["events"][0]["payload"]
        == payload
    )


@pytest.mark.parametrize("raw", [b"", b"[]", b"1", b"{", b"\xff", b'{"a": 1} x'])
def test_bytes_that_are_no_object_are_refused_before_they_are_sent(raw: bytes) -> None:
    with pytest.raises(angarium.ArgumentError):
        single("a.b", raw, {})
    with pytest.raises(angarium.ArgumentError):
        batch([raw])


def test_numbers_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        single("a.b", {"n": float("nan")}, {})
