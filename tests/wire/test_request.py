"""The bytes of requests to receivers: body and head."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.destination import Destination
from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryClass
from engine.wire.body import outbound_body
from engine.wire.head import USER_AGENT, WebhookHead, destination_headers
from tests.wire.street import a_destination, an_event

FULL = Event(
    id="01936b2e-0000-7000-8000-000000001000",
    environment=1,
    type="order.created",
    occurred_at_ms=1_700_000_000_007,
    payload=b'{ "a" : 123456789012345678901234567890, "a": 1.0e2, "\\ud800": 1 }',
    metadata=b'{"m":  1}',
    source='sh"op',
    customer="ü-7",
    correlation_id="c\n1",
    request_id="r",
    idempotency_key="k",
    attachments=b'[{"x":1}]',
)


def test_all_members_are_there_in_order_and_bytes_are_untouched() -> None:
    assert outbound_body(FULL) == (
        b'{"type":"order.created","timestamp":"2023-11-14T22:13:20.007Z",'
        b'"id":"01936b2e-0000-7000-8000-000000001000",'
        b'"data":{ "a" : 123456789012345678901234567890, "a": 1.0e2, "\\ud800": 1 },'
        b'"metadata":{"m":  1},"source":"sh\\"op","customerExternalId":"\xc3\xbc-7",'
        b'"correlationId":"c\\n1","attachments":[{"x":1}]}'
    )


def test_what_is_absent_is_left_out() -> None:
    assert list(json.loads(outbound_body(an_event()))) == ["type", "timestamp", "id", "data"]


def test_the_body_is_built_once() -> None:
    event = an_event()
    assert outbound_body(event) is outbound_body(event)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.text(max_size=20))
def test_any_instant_and_text_survive(instant: datetime, text: str) -> None:
    instant = instant.replace(microsecond=instant.microsecond // 1000 * 1000, tzinfo=UTC)
    since = instant - datetime(1970, 1, 1, tzinfo=UTC)
    event = an_event()
    event.occurred_at_ms = (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    event.source = text
    read = json.loads(outbound_body(event))
    assert datetime.fromisoformat(read["timestamp"]) == instant
    assert read["timestamp"].endswith("Z")
    assert len(read["timestamp"]) == 24
    assert read["source"] == text


def delivery(event: Event) -> Delivery:
    return Delivery(
        id="01936b2e-0000-7000-8000-000000001001",
        event=event,
        destination="d",
        queue=DeliveryClass.STANDARD,
    )


def head_of(destination: Destination, number: int = 3, now: float = 1_700_000_001.9) -> list[bytes]:
    request = WebhookHead(destination).request(delivery(an_event()), number, b"{}", now)
    head, body = request.split(b"\r\n\r\n")
    assert body == b"{}"
    return head.split(b"\r\n")


def test_the_head_is_that_of_the_contract() -> None:
    lines = head_of(
        a_destination("https://example.com:8443/in?x=1", headers=((b"X-Tenant", b"42"),))
    )
    signature = lines.pop(7)
    assert signature.startswith(b"webhook-signature: v1,")
    assert lines == [
        b"POST /in?x=1 HTTP/1.1",
        b"host: example.com:8443",
        b"content-type: application/json",
        b"user-agent: " + USER_AGENT,
        b"X-Tenant: 42",
        b"webhook-id: " + an_event().id.encode(),
        b"webhook-timestamp: 1700000001",
        b"angarium-delivery-id: 01936b2e-0000-7000-8000-000000001001",
        b"angarium-attempt: 3",
        b"content-length: 2",
    ]


def test_a_destination_may_replace_what_is_not_reserved() -> None:
    own = ((b"Content-Type", b"application/cloudevents+json"), (b"USER-AGENT", b"me"))
    assert destination_headers(a_destination("http://a.b/", headers=own)) == list(own)


@pytest.mark.parametrize(
    "header",
    [
        (b"x", b"a\r\nhost: b"),
        (b"x", b"a\nb"),
        (b"x", b"\0"),
        (b"x y", b"a"),
        (b"x:", b"a"),
        (b"", b"a"),
    ],
)
def test_a_header_that_would_break_the_framing_is_never_sent(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="malformed"):
        WebhookHead(a_destination("http://a.b/", headers=(header,)))
