# Made from angarium/aio by generate_sync.py; do not edit.
"""Events: send them, look them up."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

from angarium import outgoing
from angarium.calls import PAGE, Call, Instant, at, query_of
from angarium.filters import EventFilter
from angarium.shapes import (
    Accepted,
    BatchAccepted,
    Delivery,
    Event,
    EventItem,
    JsonObject,
    NewEvent,
    Page,
)
from angarium.sync.resource import Resource, follow_pages


class Events(Resource):
    """Events."""

    def send(
        self,
        event_type: str,
        payload: outgoing.Payload,
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
        """Send one event; it is durable when this returns.

        A payload of bytes is a JSON object that is delivered digit for digit. Without an idempotency
        key the event gets one, so that a retry never makes a second event; give one of your own where
        your program may send the same event again after a restart.
        """
        body = outgoing.single(
            event_type,
            payload,
            {
                "occurred_at": occurred_at,
                "metadata": metadata,
                "source": source,
                "customer_external_id": customer_external_id,
                "idempotency_key": idempotency_key,
                "correlation_id": correlation_id,
                "request_id": request_id,
                "attachments": None if attachments is None else list(attachments),
            },
        )
        return self._send(Call("POST", "/events", body=body))

    def send_batch(self, events: Iterable[NewEvent | bytes]) -> BatchAccepted:
        """Send up to 1,000 events at once; look at `rejected`: a bad event refuses only itself.

        Each may be a mapping in the API's words, or the bytes of one.
        """
        return self._send(Call("POST", "/events/batch", body=outgoing.batch(events)))

    def get(self, event_id: str) -> Event:
        """Return an event with its payload."""
        return self._send(Call("GET", at("events", event_id)))

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[EventFilter],
    ) -> Page[EventItem]:
        """Return one page of events."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/events", query))

    def iterate(self, **chosen: Unpack[EventFilter]) -> Iterator[EventItem]:
        """Yield all events that `chosen` allows, newest first."""
        return follow_pages(self._send, "/events", {**chosen, "limit": PAGE})

    def deliveries(self, event_id: str) -> Iterator[Delivery]:
        """Yield an event's deliveries."""
        return follow_pages(self._send, at("events", event_id, "deliveries"), {})
