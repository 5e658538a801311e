"""The handwritten methods on events, which send them."""

from collections.abc import Iterable, Sequence

from angarium import outgoing
from angarium.aio.made.events import AsyncEvents as Made
from angarium.calls import Call, Instant
from angarium.shapes import BatchResult, EventInput, IngestResult, JsonObject


class AsyncEvents(Made):
    """The methods that send events and look them up."""

    async def send(
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
        traceparent: str | None = None,
        tracestate: str | None = None,
        attachments: Sequence[JsonObject] | None = None,
    ) -> IngestResult:
        """Send one event; it is durable when this returns.

        A payload of bytes must be a JSON object, and is delivered unchanged, byte for byte. Without an
        idempotency key, the client makes one, so that a retry never makes a second event. Give a key of
        your own if your program can send the same event again after a restart.
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
                "traceparent": traceparent,
                "tracestate": tracestate,
                "attachments": None if attachments is None else list(attachments),
            },
        )
        return await self._send(Call("POST", "/events", body=body))

    async def send_batch(self, events: Iterable[EventInput | bytes]) -> BatchResult:
        """Send up to 1,000 events at once. Check `rejected`: a bad event does not affect the others.

        Each event is a mapping with the API's field names, or the bytes of a JSON object with them.
        """
        return await self._send(Call("POST", "/events/batch", body=outgoing.batch(events)))
