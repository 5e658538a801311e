"""The resources of the synchronous client: one method a call, nothing but the hand-over.

`resources_async` has the same methods for `AsyncClient`; a test compares the two.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from angarium import calls
from angarium.calls import Call, Instant
from angarium.shapes import (
    Accepted,
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
PAGE = 100  # the most that paginated lists give at once


class Send(Protocol):
    """Performs a call, with retries."""

    def __call__(self, call: Call[Answer]) -> Answer:
        """Return the answer. Raises AngariumError."""


class Resource:
    """What all resources have: the way to send."""

    def __init__(self, send: Send) -> None:
        self._send = send


class Events(Resource):
    """Events: send them, look them up."""

    def send(
        self,
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
    ) -> Accepted:
        """Send one event; when this returns it is durable.

        Without an `idempotency_key` one is made, so that a retry never makes a second event.
        """
        event = calls.new_event(
            event_type,
            payload,
            occurred_at=occurred_at,
            metadata=metadata,
            source=source,
            customer_external_id=customer_external_id,
            idempotency_key=idempotency_key,
            correlation_id=correlation_id,
            request_id=request_id,
            attachments=attachments,
        )
        return self._send(calls.send_event(event))

    def send_batch(self, events: Iterable[NewEvent]) -> BatchAccepted:
        """Send up to 1,000 events at once; look at `rejected`: a bad event refuses only itself."""
        return self._send(calls.send_batch(events))

    def get(self, event_id: str) -> Event:
        """Return an event with its payload."""
        return self._send(calls.get_event(event_id))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Event]:
        """Return one page of events."""
        return self._send(calls.list_events(limit, cursor))

    def iterate(self) -> Iterator[Event]:
        """Yield all events, newest first."""
        return _pages(lambda cursor: self.list(limit=PAGE, cursor=cursor))

    def deliveries(self, event_id: str) -> Iterator[Delivery]:
        """Yield an event's deliveries."""
        return _pages(
            lambda cursor: self._send(calls.list_event_deliveries(event_id, None, cursor))
        )


class Destinations(Resource):
    """Destinations: where events are delivered."""

    def create(
        self,
        name: str,
        url: str,
        *,
        description: str | None = None,
        customer_external_id: str | None = None,
        customer_account_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        delivery: Mapping[str, Any] | None = None,
        signing: Mapping[str, Any] | None = None,
    ) -> Destination:
        """Create a destination. The answer's `secret` is shown this once."""
        call = calls.create_destination(
            name,
            url,
            description=description,
            customer_external_id=customer_external_id,
            customer_account_id=customer_account_id,
            headers=headers,
            delivery=delivery,
            signing=signing,
        )
        return self._send(call)

    def get(self, destination_id: str) -> Destination:
        """Return a destination."""
        return self._send(calls.get_destination(destination_id))

    def list(
        self,
        *,
        status: str | None = None,
        environment: str | None = None,
        customer_account_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Destination]:
        """Return one page of destinations; archived ones only with `status="ARCHIVED"`."""
        return self._send(
            calls.list_destinations(status, environment, customer_account_id, limit, cursor)
        )

    def iterate(
        self,
        *,
        status: str | None = None,
        environment: str | None = None,
        customer_account_id: str | None = None,
    ) -> Iterator[Destination]:
        """Yield all destinations, newest first."""
        return _pages(
            lambda cursor: self._send(
                calls.list_destinations(status, environment, customer_account_id, None, cursor)
            )
        )

    def update(self, destination_id: str, change: DestinationChange) -> Destination:
        """Change what `change` names; it acts on every attempt not yet begun."""
        return self._send(calls.update_destination(destination_id, change))

    def rotate_secret(self, destination_id: str) -> Destination:
        """Make a new signing secret; both sign for 24 hours. The answer shows it this once."""
        return self._send(calls.update_destination(destination_id, {"rotateSecret": True}))

    def archive(self, destination_id: str) -> Success:
        """End a destination for good; what waits for it is discarded, the record stays."""
        return self._send(calls.archive_destination(destination_id))

    def enable(self, destination_id: str) -> Destination:
        """Send on what was held."""
        return self._send(calls.switch_destination(destination_id, enabled=True))

    def disable(self, destination_id: str) -> Destination:
        """Hold deliveries until it is enabled again."""
        return self._send(calls.switch_destination(destination_id, enabled=False))

    def test(self, destination_id: str) -> TestResult:
        """Send a signed sample now and return what the receiver answered."""
        return self._send(calls.test_destination(destination_id))

    def health(self, destination_id: str) -> Health:
        """Return how the destination does."""
        return self._send(calls.destination_health(destination_id))

    def deliveries(self, destination_id: str) -> Iterator[Delivery]:
        """Yield a destination's deliveries, newest first."""
        return _pages(
            lambda cursor: self._send(
                calls.list_destination_deliveries(destination_id, PAGE, cursor)
            )
        )


class RoutingRules(Resource):
    """Routing rules: which events go where."""

    def create(
        self,
        name: str,
        destination_id: str,
        event_types: Sequence[str],
        *,
        priority: str | None = None,
        enabled: bool | None = None,
    ) -> RoutingRule:
        """Create a rule; `order.*` is every type below `order.`, `*` every type."""
        call = calls.create_rule(
            name, destination_id, event_types, priority=priority, enabled=enabled
        )
        return self._send(call)

    def get(self, rule_id: str) -> RoutingRule:
        """Return a rule."""
        return self._send(calls.get_rule(rule_id))

    def list(
        self,
        *,
        destination_id: str | None = None,
        enabled: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[RoutingRule]:
        """Return one page of rules."""
        return self._send(calls.list_rules(destination_id, enabled, limit, cursor))

    def iterate(
        self, *, destination_id: str | None = None, enabled: bool | None = None
    ) -> Iterator[RoutingRule]:
        """Yield all rules, newest first."""
        return _pages(
            lambda cursor: self._send(calls.list_rules(destination_id, enabled, None, cursor))
        )

    def update(self, rule_id: str, change: RuleChange) -> RoutingRule:
        """Change what `change` names."""
        return self._send(calls.update_rule(rule_id, change))

    def delete(self, rule_id: str) -> Success:
        """Delete a rule."""
        return self._send(calls.delete_rule(rule_id))

    def enable(self, rule_id: str) -> RoutingRule:
        """Let a rule match."""
        return self._send(calls.switch_rule(rule_id, enabled=True))

    def disable(self, rule_id: str) -> RoutingRule:
        """Keep a rule from matching."""
        return self._send(calls.switch_rule(rule_id, enabled=False))


class Deliveries(Resource):
    """Deliveries: what became of events."""

    def get(self, delivery_id: str) -> DeliveryDetail:
        """Return a delivery with its event, its request and its attempts."""
        return self._send(calls.get_delivery(delivery_id))

    def list(
        self,
        chosen: calls.DeliveryFilter | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Delivery]:
        """Return one page; it may be short and still have a `nextCursor`."""
        return self._send(calls.list_deliveries(chosen or calls.DeliveryFilter(), limit, cursor))

    def iterate(self, chosen: calls.DeliveryFilter | None = None) -> Iterator[Delivery]:
        """Yield all deliveries that `chosen` allows, newest first."""
        return _pages(lambda cursor: self.list(chosen, limit=PAGE, cursor=cursor))


class _Fetch(Protocol[Answer]):
    def __call__(self, cursor: str | None, /) -> Page[Answer]: ...


def _pages(fetch: _Fetch[Answer]) -> Iterator[Answer]:
    cursor: str | None = None
    while True:
        page = fetch(cursor)
        yield from page["items"]
        cursor = page["nextCursor"]
        if cursor is None:
            return
