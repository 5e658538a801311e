"""The resources of the asynchronous client: one method a call, nothing but the hand-over.

`resources` has the same methods for `Client`; a test compares the two.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
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


class AsyncSend(Protocol):
    """Performs a call, with retries."""

    async def __call__(self, call: Call[Answer]) -> Answer:
        """Return the answer. Raises AngariumError."""


class AsyncResource:
    """What all resources have: the way to send."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send


class AsyncEvents(AsyncResource):
    """Events: send them, look them up."""

    async def send(
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
        return await self._send(calls.send_event(event))

    async def send_batch(self, events: Iterable[NewEvent]) -> BatchAccepted:
        """Send up to 1,000 events at once; look at `rejected`: a bad event refuses only itself."""
        return await self._send(calls.send_batch(events))

    async def get(self, event_id: str) -> Event:
        """Return an event with its payload."""
        return await self._send(calls.get_event(event_id))

    async def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[Event]:
        """Return one page of events."""
        return await self._send(calls.list_events(limit, cursor))

    def iterate(self) -> AsyncIterator[Event]:
        """Yield all events, newest first."""
        return _pages(lambda cursor: self.list(limit=PAGE, cursor=cursor))

    def deliveries(self, event_id: str) -> AsyncIterator[Delivery]:
        """Yield an event's deliveries."""
        return _pages(
            lambda cursor: self._send(calls.list_event_deliveries(event_id, None, cursor))
        )


class AsyncDestinations(AsyncResource):
    """Destinations: where events are delivered."""

    async def create(
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
        return await self._send(call)

    async def get(self, destination_id: str) -> Destination:
        """Return a destination."""
        return await self._send(calls.get_destination(destination_id))

    async def list(
        self,
        *,
        status: str | None = None,
        environment: str | None = None,
        customer_account_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Destination]:
        """Return one page of destinations; archived ones only with `status="ARCHIVED"`."""
        return await self._send(
            calls.list_destinations(status, environment, customer_account_id, limit, cursor)
        )

    def iterate(
        self,
        *,
        status: str | None = None,
        environment: str | None = None,
        customer_account_id: str | None = None,
    ) -> AsyncIterator[Destination]:
        """Yield all destinations, newest first."""
        return _pages(
            lambda cursor: self._send(
                calls.list_destinations(status, environment, customer_account_id, None, cursor)
            )
        )

    async def update(self, destination_id: str, change: DestinationChange) -> Destination:
        """Change what `change` names; it acts on every attempt not yet begun."""
        return await self._send(calls.update_destination(destination_id, change))

    async def rotate_secret(self, destination_id: str) -> Destination:
        """Make a new signing secret; both sign for 24 hours. The answer shows it this once."""
        return await self._send(calls.update_destination(destination_id, {"rotateSecret": True}))

    async def archive(self, destination_id: str) -> Success:
        """End a destination for good; what waits for it is discarded, the record stays."""
        return await self._send(calls.archive_destination(destination_id))

    async def enable(self, destination_id: str) -> Destination:
        """Send on what was held."""
        return await self._send(calls.switch_destination(destination_id, enabled=True))

    async def disable(self, destination_id: str) -> Destination:
        """Hold deliveries until it is enabled again."""
        return await self._send(calls.switch_destination(destination_id, enabled=False))

    async def test(self, destination_id: str) -> TestResult:
        """Send a signed sample now and return what the receiver answered."""
        return await self._send(calls.test_destination(destination_id))

    async def health(self, destination_id: str) -> Health:
        """Return how the destination does."""
        return await self._send(calls.destination_health(destination_id))

    def deliveries(self, destination_id: str) -> AsyncIterator[Delivery]:
        """Yield a destination's deliveries, newest first."""
        return _pages(
            lambda cursor: self._send(
                calls.list_destination_deliveries(destination_id, PAGE, cursor)
            )
        )


class AsyncRoutingRules(AsyncResource):
    """Routing rules: which events go where."""

    async def create(
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
        return await self._send(call)

    async def get(self, rule_id: str) -> RoutingRule:
        """Return a rule."""
        return await self._send(calls.get_rule(rule_id))

    async def list(
        self,
        *,
        destination_id: str | None = None,
        enabled: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[RoutingRule]:
        """Return one page of rules."""
        return await self._send(calls.list_rules(destination_id, enabled, limit, cursor))

    def iterate(
        self, *, destination_id: str | None = None, enabled: bool | None = None
    ) -> AsyncIterator[RoutingRule]:
        """Yield all rules, newest first."""
        return _pages(
            lambda cursor: self._send(calls.list_rules(destination_id, enabled, None, cursor))
        )

    async def update(self, rule_id: str, change: RuleChange) -> RoutingRule:
        """Change what `change` names."""
        return await self._send(calls.update_rule(rule_id, change))

    async def delete(self, rule_id: str) -> Success:
        """Delete a rule."""
        return await self._send(calls.delete_rule(rule_id))

    async def enable(self, rule_id: str) -> RoutingRule:
        """Let a rule match."""
        return await self._send(calls.switch_rule(rule_id, enabled=True))

    async def disable(self, rule_id: str) -> RoutingRule:
        """Keep a rule from matching."""
        return await self._send(calls.switch_rule(rule_id, enabled=False))


class AsyncDeliveries(AsyncResource):
    """Deliveries: what became of events."""

    async def get(self, delivery_id: str) -> DeliveryDetail:
        """Return a delivery with its event, its request and its attempts."""
        return await self._send(calls.get_delivery(delivery_id))

    async def list(
        self,
        chosen: calls.DeliveryFilter | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Delivery]:
        """Return one page; it may be short and still have a `nextCursor`."""
        return await self._send(
            calls.list_deliveries(chosen or calls.DeliveryFilter(), limit, cursor)
        )

    def iterate(self, chosen: calls.DeliveryFilter | None = None) -> AsyncIterator[Delivery]:
        """Yield all deliveries that `chosen` allows, newest first."""
        return _pages(lambda cursor: self.list(chosen, limit=PAGE, cursor=cursor))


class _Fetch(Protocol[Answer]):
    async def __call__(self, cursor: str | None, /) -> Page[Answer]: ...


async def _pages(fetch: _Fetch[Answer]) -> AsyncIterator[Answer]:
    cursor: str | None = None
    while True:
        page = await fetch(cursor)
        for item in page["items"]:
            yield item
        cursor = page["nextCursor"]
        if cursor is None:
            return
