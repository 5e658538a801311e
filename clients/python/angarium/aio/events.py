"""The methods on events that are written by hand: sending."""

from collections.abc import Iterable, Sequence

from angarium import outgoing
from angarium.aio.made.events import AsyncEvents as Made
from angarium.calls import Call, Instant
from angarium.shapes import BatchResult, EventInput, IngestResult, JsonObject


class AsyncEvents(Made):
    """Events: sent, and looked up."""

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
                "traceparent": traceparent,
                "tracestate": tracestate,
                "attachments": None if attachments is None else list(attachments),
            },
        )
        return await self._send(Call("POST", "/events", body=body))

    async def send_batch(self, events: Iterable[EventInput | bytes]) -> BatchResult:
        """Send up to 1,000 events at once; look at `rejected`: a bad event refuses only itself.

        Each may be a mapping in the API's words, or the bytes of one.
        """
        return await self._send(Call("POST", "/events/batch", body=outgoing.batch(events)))
