"""The answers about deliveries and events: their fields, deliveries in flight, exact bytes, filters."""

import json
from typing import Any

import msgspec
import orjson
import pytest

from api.resources.sent import beginning
from engine.core.health import CircuitState, Health, HealthState
from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    Origin,
    Priority,
    SigningAlgorithm,
)
from engine.log.delivery_log import (
    AttemptEntry,
    DeliveryDetail,
    DeliveryEntry,
    DeliveryFilter,
    EventDetail,
    EventEntry,
    EventFilter,
    SentVersion,
)
from engine.model.configuration import Tenant
from engine.model.identity import Identity, created_at_ms, delivery_id
from engine.model.instants import iso
from tests.api.house import RESTING, Caller, House
from tests.api.test_destinations import make

IDENTITY = Identity()
DESTINATION = IDENTITY.other()
PAYLOAD = b'{"b": 1,  "a":123456789012345678901234567890.10, "a": 2, "s": "\\ud800 \\u0000"}'


def number_of(tenant: Tenant, name: Environment = Environment.DEVELOPMENT) -> int:
    return next(each.number for each in tenant.environments if each.name is name)


def event_of(environment: int) -> EventDetail:
    identifier = IDENTITY.event()
    entry = EventEntry(
        id=identifier,
        environment=environment,
        origin=Origin.API,
        type="order.created",
        occurred_at_ms=1_700_000_000_123,
        deliveries=1,
        customer="c-1",
        source=None,
        correlation_id="k",
        request_id=None,
        idempotency_key="i",
        file=None,
    )
    return EventDetail(entry=entry, payload=PAYLOAD, metadata=b'{"m":1.0}', attachments=None)


def delivery_of(event: EventDetail, **fields: Any) -> DeliveryEntry:
    entry = DeliveryEntry(
        id=delivery_id(event.entry.id, 1),
        environment=event.entry.environment,
        event=event.entry.id,
        event_type=event.entry.type,
        destination=DESTINATION,
        status=DeliveryStatus.PENDING,
        kind=DeliveryKind.EVENT,
        origin=DeliveryOrigin.NORMAL,
        priority=Priority.HIGH,
        attempt_count=0,
        skipped=False,
        response_status=None,
        error_category=None,
        dlq_status=None,
        next_attempt_at_ms=None,
        delivered_at_ms=None,
        dead_lettered_at_ms=None,
        updated_at_ms=None,
        last_error=None,
        customer=None,
        replay_of=None,
        replay_job=None,
    )
    return msgspec.structs.replace(entry, **fields)


async def test_a_delivery_in_flight_is_shown_as_delivering(
    api: Caller, house: House, tenant: Tenant
) -> None:
    events = [event_of(number_of(tenant)) for _ in range(3)]
    flying, waiting, done = [delivery_of(event) for event in events]
    done = msgspec.structs.replace(
        done,
        status=DeliveryStatus.DELIVERED,
        attempt_count=1,
        response_status=200,
        delivered_at_ms=1_700_000_000_000,
        updated_at_ms=1_700_000_000_001,
    )
    house.log.entries = [flying, waiting, done]
    house.directory.flying = {flying.id, done.id}
    items = (await api("GET", "/deliveries")).json["items"]
    assert [(item["id"], item["status"]) for item in items] == [
        (done.id, "DELIVERED"),
        (waiting.id, "PENDING"),
        (flying.id, "DELIVERING"),
    ]
    created = iso(created_at_ms(waiting.id))
    assert items[1] == {
        "id": waiting.id,
        "eventId": waiting.event,
        "eventType": "order.created",
        "destinationId": DESTINATION,
        "environment": "DEVELOPMENT",
        "status": "PENDING",
        "kind": "EVENT",
        "priority": "HIGH",
        "originKind": "NORMAL",
        "isReplay": False,
        "skipped": False,
        "attemptCount": 0,
        "errorCategory": None,
        "responseStatus": None,
        "dlqStatus": None,
        "createdAt": created,
        "updatedAt": created,
        "nextAttemptAt": None,
        "deliveredAt": None,
    }
    for status, expected in (
        ("DELIVERING", [flying]),
        ("PENDING", [waiting]),
        ("DELIVERED", [done]),
        ("DELIVERED&status=DELIVERING", [done, flying]),
        ("PENDING&status=DELIVERING", [waiting, flying]),
        ("FAILED&status=PENDING", [waiting]),
    ):
        listed = (await api("GET", f"/deliveries?status={status}")).json["items"]
        assert [item["id"] for item in listed] == [entry.id for entry in expected]


async def test_filters_and_pages_are_passed_on(api: Caller, house: House, tenant: Tenant) -> None:
    event, destination = IDENTITY.event(), IDENTITY.other()
    query = (
        f"eventId={event}&destinationId={destination.upper()}&environment=DEVELOPMENT&status=FAILED"
        "&status=RETRYING"
        "&from=2026-11-20T12:00:00.0001Z&to=2026-11-20T13:00:00.5%2B01:00&isReplay=false"
        "&errorCategory=HTTP_5XX&priority=CRITICAL&dlqStatus=IN_DLQ&kind=FILE&originKind=INSPECTION"
        "&limit=7"
    )
    await api("GET", f"/deliveries?{query}")
    expected = DeliveryFilter(
        events=(event,),
        destinations=(destination,),
        statuses=(DeliveryStatus.FAILED, DeliveryStatus.RETRYING),
        from_ms=1_795_176_000_001,
        to_ms=1_795_176_000_500,
        is_replay=False,
        error_categories=(ErrorCategory.HTTP_5XX,),
        priorities=(Priority.CRITICAL,),
        dlq_statuses=(DlqStatus.IN_DLQ,),
        kinds=(DeliveryKind.FILE,),
        origins=(DeliveryOrigin.INSPECTION,),
    )
    assert house.log.asked[-1] == (number_of(tenant), expected, None, 7)
    await api("GET", "/deliveries?isReplay=")
    assert house.log.asked[-1] == (number_of(tenant), DeliveryFilter(), None, 20)
    await api("GET", "/events?eventType=a&customerExternalId=c%20d&from=1970-01-01T00:00:00Z")
    which = EventFilter(types=("a",), customers=("c d",), from_ms=0)
    assert house.log.asked[-1] == (number_of(tenant), which, None, 20)


async def test_pages_follow_each_other(api: Caller, house: House, tenant: Tenant) -> None:
    events = [event_of(number_of(tenant)) for _ in range(5)]
    house.log.all_events = {event.entry.id: event for event in events}
    house.log.entries = [delivery_of(event) for event in events]
    first = events[0].entry.id
    made = await make(api)
    for path, count in (
        ("/deliveries", 5),
        ("/events", 5),
        (f"/events/{first}/deliveries", 5),
        (f"/destinations/{made['id']}/deliveries", 5),
    ):
        seen: list[str] = []
        cursor = ""
        while True:
            page = (await api("GET", f"{path}?limit=2{cursor}")).json
            seen += [item["id"] for item in page["items"]]
            if page["nextCursor"] is None:
                break
            cursor = f"&cursor={page['nextCursor']}"
        assert seen == sorted(seen, reverse=True)
        assert len(set(seen)) == count, path


async def test_an_event_keeps_its_exact_bytes(api: Caller, house: House, tenant: Tenant) -> None:
    event = event_of(number_of(tenant))
    house.log.all_events[event.entry.id] = event
    shown = await api("GET", f"/events/{event.entry.id.upper()}", check=False)
    assert b'"payload":' + PAYLOAD + b',"metadata":{"m":1.0},"attachments":null' in shown.body
    assert shown.json["occurredAt"] == "2023-11-14T22:13:20.123Z"
    (item,) = (await api("GET", "/events")).json["items"]
    assert "payload" not in item
    assert item.items() <= shown.json.items()


async def test_a_delivery_shows_its_attempts_and_its_request_without_secrets(
    api: Caller, house: House, tenant: Tenant
) -> None:
    event = event_of(number_of(tenant))
    entry = delivery_of(
        event,
        status=DeliveryStatus.RETRYING,
        attempt_count=1,
        next_attempt_at_ms=1_700_000_005_000,
        error_category=ErrorCategory.HTTP_5XX,
        response_status=500,
    )
    attempt = AttemptEntry(
        number=1,
        started_at_ms=1_700_000_000_999,
        duration_ms=12,
        success=False,
        destination_version=3,
        transform_version=None,
        response_status=500,
        response_headers=((b"Set-Cookie", b"a"), (b"set-cookie", b"b"), (b"x", b"\xff")),
        response_body=b"oops \xff",
        response_truncated=False,
        error_category=ErrorCategory.HTTP_5XX,
        error_message="500",
        logs=None,
    )
    sent = SentVersion(
        version=3,
        url="https://example.com:444/hooks",
        headers=json.dumps([["X-Tenant", "42"], ["Authorization", None]]).encode(),
        algorithm=SigningAlgorithm.HMAC_SHA256,
    )
    detail = DeliveryDetail(entry=entry, attempts=(attempt,), event=event, sent=sent)
    house.log.details[entry.id] = detail
    shown = (await api("GET", f"/deliveries/{entry.id}", check=False)).json
    assert shown["nextAttemptAt"] == "2023-11-14T22:13:25.000Z"
    assert shown["attempts"][0]["responseHeaders"] == {"set-cookie": "a, b", "x": "\ufffd"}
    assert shown["attempts"][0]["responseBody"] == "oops \ufffd"
    request = shown["request"]
    assert request["url"] == sent.url
    assert (
        request["body"].encode().startswith(b'{"type":"order.created","timestamp":"2023-11-14T22')
    )
    assert PAYLOAD.decode() in request["body"]
    headers = request["headers"]
    assert headers["Authorization"] == "***"
    assert headers["webhook-timestamp"] == "1700000000"
    assert headers["host"] == "example.com:444"
    assert (headers["X-Tenant"], headers["angarium-attempt"]) == ("42", "1")
    assert "webhook-signature" not in headers
    house.log.details[entry.id] = msgspec.structs.replace(
        detail, attempts=(), sent=None, event=None
    )
    bare = (await api("GET", f"/deliveries/{entry.id}")).json
    assert (bare["request"], bare["event"], bare["attempts"]) == (None, None, [])


@pytest.mark.parametrize("character", ['"', "\x01", "é", "€", "😀", "a"])
def test_a_body_is_shown_as_far_as_it_has_room(character: str) -> None:
    for most in range(2, 40):
        shown = beginning(f"a{character * 40}", most)
        assert f"a{character * 40}".startswith(shown)
        assert most - 6 <= len(orjson.dumps(shown)) <= most or most < 8
    assert beginning(character * 4, 40) == character * 4


async def test_health_is_shown_whole(api: Caller, house: House) -> None:
    made = await make(api, delivery={"concurrency": 3})
    path = f"/destinations/{made['id']}"
    idle = (await api("GET", f"{path}/health")).json
    assert (idle["state"], idle["circuit"]["state"], idle["successRate"]) == (
        "IDLE",
        "CLOSED",
        None,
    )
    assert idle["queue"] == {
        "pending": 0,
        "inFlight": 0,
        "concurrency": 3,
        "suggestedConcurrency": None,
        "effectiveConcurrency": 3,
        "arrivalsPerSecond": 0,
        "deliveredPerSecond": 0,
        "drainSeconds": None,
        "oldestPendingSeconds": None,
    }
    house.directory.report = msgspec.structs.replace(
        RESTING,
        pending=4,
        in_flight=1,
        health=Health(
            state=HealthState.FAILING,
            circuit=CircuitState.OPEN,
            opened_at=1.5,
            next_probe_at=2.0,
            success_rate=0.25,
            consecutive_failures=11,
            latency_p50_ms=1,
            latency_p95_ms=2,
            latency_p99_ms=3,
            last_success_at=None,
            last_failure_at=1.25,
            last_error="500",
            pending=4,
            in_flight=1,
            concurrency=3,
            suggested_concurrency=7,
            effective_concurrency=1,
            arrivals_per_s=0.128,
            delivered_per_s=12.999,
            drained_in_s=70.7,
            oldest_pending_s=7.5,
            hold=None,
        ),
    )
    failing = (await api("GET", f"{path}/health")).json
    assert failing["circuit"] == {
        "state": "OPEN",
        "openedAt": "1970-01-01T00:00:01.500Z",
        "nextProbeAt": "1970-01-01T00:00:02.000Z",
    }
    assert failing["queue"]["oldestPendingSeconds"] == 7.5
    assert failing["queue"]["suggestedConcurrency"] == 7
    assert failing["queue"]["effectiveConcurrency"] == 1
    assert failing["queue"]["arrivalsPerSecond"] == 0.12
    assert failing["queue"]["deliveredPerSecond"] == 12.99
    assert failing["queue"]["drainSeconds"] == 70
    assert failing["actor"]["state"] == "AT_REST"
    house.directory.report = RESTING
    await api("POST", f"{path}/disable")
    assert (await api("GET", f"{path}/health")).json["state"] == "DISABLED"
