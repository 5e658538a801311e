"""Every call of the API as a value: method, path, query, body; both clients share it."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from angarium.shapes import (
    Accepted,
    AuthContext,
    BatchAccepted,
    Delivery,
    DeliveryDetail,
    Destination,
    DestinationChange,
    Event,
    Health,
    JsonObject,
    NewEvent,
    Page,
    RoutingRule,
    RuleChange,
    Success,
    TestResult,
)

Answer = TypeVar("Answer")
Instant = datetime | str


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """One request, and the type of its answer. `repeatable`: doing it twice is the same as once."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    repeatable: bool = True


def _known(**values: object) -> dict[str, str]:
    """Return the query parameters that were given, as the API writes them."""
    return {name: _text(value) for name, value in values.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return instant(value)
    return str(value)


def instant(value: Instant) -> str:
    """Return an instant in the API's form. Raises ValueError for a datetime without a zone."""
    if isinstance(value, str):
        return value
    if value.tzinfo is None:
        raise ValueError("a datetime needs a time zone: datetime.now(UTC)")
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _at(*segments: str) -> str:
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


# --- who am I


def auth_context() -> Call[AuthContext]:
    """`GET /auth/context`."""
    return Call("GET", "/auth/context")


# --- events


def new_event(
    event_type: str,
    payload: JsonObject,
    *,
    occurred_at: Instant | None = None,
    metadata: JsonObject | None = None,
    source: str | None = None,
    customer_external_id: str | None = None,
    idempotency_key: str | None = None,
    correlation_id: str | None = None,
    request_id: str | None = None,
    attachments: Sequence[JsonObject] | None = None,
) -> NewEvent:
    """Return the JSON of an event; without an idempotency key it gets one, so that it can be
    repeated."""
    event: dict[str, Any] = {
        "eventType": event_type,
        "payload": payload,
        "occurredAt": None if occurred_at is None else instant(occurred_at),
        "metadata": metadata,
        "source": source,
        "customerExternalId": customer_external_id,
        "idempotencyKey": idempotency_key or str(uuid.uuid4()),
        "correlationId": correlation_id,
        "requestId": request_id,
        "attachments": None if attachments is None else list(attachments),
    }
    return {key: value for key, value in event.items() if value is not None}  # type: ignore[return-value]  # built key by key


def send_event(event: NewEvent) -> Call[Accepted]:
    """`POST /events`."""
    return Call("POST", "/events", body=event, repeatable="idempotencyKey" in event)


def send_batch(events: Iterable[NewEvent]) -> Call[BatchAccepted]:
    """`POST /events/batch`; events without an idempotency key get one."""
    keyed: list[Any] = [{"idempotencyKey": str(uuid.uuid4()), **event} for event in events]
    return Call("POST", "/events/batch", body={"events": keyed})


def get_event(event_id: str) -> Call[Event]:
    """`GET /events/{id}`."""
    return Call("GET", _at("events", event_id))


def list_events(limit: int | None, cursor: str | None) -> Call[Page[Event]]:
    """`GET /events`."""
    return Call("GET", "/events", _known(limit=limit, cursor=cursor))


def list_event_deliveries(
    event_id: str, limit: int | None, cursor: str | None
) -> Call[Page[Delivery]]:
    """`GET /events/{id}/deliveries`."""
    return Call("GET", _at("events", event_id, "deliveries"), _known(limit=limit, cursor=cursor))


# --- destinations


def create_destination(
    name: str,
    url: str,
    *,
    description: str | None = None,
    customer_external_id: str | None = None,
    customer_account_id: str | None = None,
    headers: Mapping[str, str] | None = None,
    delivery: Mapping[str, Any] | None = None,
    signing: Mapping[str, Any] | None = None,
) -> Call[Destination]:
    """`POST /destinations`."""
    body = {
        "name": name,
        "url": url,
        "description": description,
        "customerExternalId": customer_external_id,
        "customerAccountId": customer_account_id,
        "headers": None if headers is None else dict(headers),
        "delivery": None if delivery is None else dict(delivery),
        "signing": None if signing is None else dict(signing),
    }
    given = {key: value for key, value in body.items() if value is not None}
    return Call("POST", "/destinations", body=given, repeatable=False)


def get_destination(destination_id: str) -> Call[Destination]:
    """`GET /destinations/{id}`."""
    return Call("GET", _at("destinations", destination_id))


def list_destinations(
    status: str | None,
    environment: str | None,
    customer_account_id: str | None,
    limit: int | None,
    cursor: str | None,
) -> Call[Page[Destination]]:
    """`GET /destinations`."""
    query = _known(
        status=status,
        environment=environment,
        customerAccountId=customer_account_id,
        limit=limit,
        cursor=cursor,
    )
    return Call("GET", "/destinations", query)


def update_destination(destination_id: str, change: DestinationChange) -> Call[Destination]:
    """`PATCH /destinations/{id}`; a rotation done twice would make two secrets."""
    repeatable = not change.get("rotateSecret", False)
    return Call("PATCH", _at("destinations", destination_id), body=change, repeatable=repeatable)


def archive_destination(destination_id: str) -> Call[Success]:
    """`DELETE /destinations/{id}`."""
    return Call("DELETE", _at("destinations", destination_id))


def switch_destination(destination_id: str, *, enabled: bool) -> Call[Destination]:
    """`POST /destinations/{id}/enable` or `/disable`."""
    action = "enable" if enabled else "disable"
    return Call("POST", _at("destinations", destination_id, action), body={})


def test_destination(destination_id: str) -> Call[TestResult]:
    """`POST /destinations/{id}/test`."""
    return Call("POST", _at("destinations", destination_id, "test"), body={}, repeatable=False)


def destination_health(destination_id: str) -> Call[Health]:
    """`GET /destinations/{id}/health`."""
    return Call("GET", _at("destinations", destination_id, "health"))


def list_destination_deliveries(
    destination_id: str, limit: int | None, cursor: str | None
) -> Call[Page[Delivery]]:
    """`GET /destinations/{id}/deliveries`."""
    path = _at("destinations", destination_id, "deliveries")
    return Call("GET", path, _known(limit=limit, cursor=cursor))


# --- routing rules


def create_rule(
    name: str,
    destination_id: str,
    event_types: Sequence[str],
    *,
    priority: str | None = None,
    enabled: bool | None = None,
) -> Call[RoutingRule]:
    """`POST /routing-rules`."""
    body = {
        "name": name,
        "destinationId": destination_id,
        "eventTypes": list(event_types),
        "priority": priority,
        "enabled": enabled,
    }
    given = {key: value for key, value in body.items() if value is not None}
    return Call("POST", "/routing-rules", body=given, repeatable=False)


def get_rule(rule_id: str) -> Call[RoutingRule]:
    """`GET /routing-rules/{id}`."""
    return Call("GET", _at("routing-rules", rule_id))


def list_rules(
    destination_id: str | None, enabled: bool | None, limit: int | None, cursor: str | None
) -> Call[Page[RoutingRule]]:
    """`GET /routing-rules`."""
    query = _known(destinationId=destination_id, enabled=enabled, limit=limit, cursor=cursor)
    return Call("GET", "/routing-rules", query)


def update_rule(rule_id: str, change: RuleChange) -> Call[RoutingRule]:
    """`PATCH /routing-rules/{id}`."""
    return Call("PATCH", _at("routing-rules", rule_id), body=change)


def delete_rule(rule_id: str) -> Call[Success]:
    """`DELETE /routing-rules/{id}`; a repetition may find it gone."""
    return Call("DELETE", _at("routing-rules", rule_id))


def switch_rule(rule_id: str, *, enabled: bool) -> Call[RoutingRule]:
    """`POST /routing-rules/{id}/enable` or `/disable`."""
    return Call("POST", _at("routing-rules", rule_id, "enable" if enabled else "disable"), body={})


# --- deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFilter:
    """What `GET /deliveries` can be narrowed by; `since` is inclusive, `until` exclusive."""

    event_id: str | None = None
    destination_id: str | None = None
    environment: str | None = None
    status: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    is_replay: bool | None = None
    error_category: str | None = None
    priority: str | None = None
    dlq_status: str | None = None
    kind: str | None = None
    origin_kind: str | None = None


def get_delivery(delivery_id: str) -> Call[DeliveryDetail]:
    """`GET /deliveries/{id}`."""
    return Call("GET", _at("deliveries", delivery_id))


def list_deliveries(
    chosen: DeliveryFilter, limit: int | None, cursor: str | None
) -> Call[Page[Delivery]]:
    """`GET /deliveries`."""
    query = _known(
        eventId=chosen.event_id,
        destinationId=chosen.destination_id,
        environment=chosen.environment,
        status=chosen.status,
        isReplay=chosen.is_replay,
        errorCategory=chosen.error_category,
        priority=chosen.priority,
        dlqStatus=chosen.dlq_status,
        kind=chosen.kind,
        originKind=chosen.origin_kind,
        limit=limit,
        cursor=cursor,
        **{"from": chosen.since, "to": chosen.until},
    )
    return Call("GET", "/deliveries", query)
