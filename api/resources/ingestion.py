"""The description of the two ingestion routes for the OpenAPI document. Another module, `api.ingestion`,
answers their requests."""

from typing import Annotated, Any

from pydantic import Field

from api import shapes
from api.routes import INGEST, Embed, Method, Route
from engine.drafts import Document, Name
from engine.ingest.event_json import BATCH_BYTES, EVENT_BYTES
from engine.model.instants import Timestamp
from engine.model.trace import LONGEST_STATE

TAG = "Events"
EventType = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:/-]{1,256}$")]
State = Annotated[str, Field(min_length=1, max_length=LONGEST_STATE)]
EXAMPLE = {
    "eventType": "order.created",
    "payload": {"orderId": "o-1042", "total": 99.5},
    "customerExternalId": "acme",
    "idempotencyKey": "o-1042-created",
}


class Source(Document):
    """The source of an attachment."""

    kind: str = Field(pattern="^(URL|FILE|INLINE)$")
    uri: str = Field(min_length=1)


class Attachment(Document):
    """An attachment of an event."""

    source: Source
    file_type: str | None = None
    content_type: str | None = None
    size_bytes: float | None = Field(None, ge=0)
    file_name: str | None = None
    metadata: dict[str, Any] | None = None


class EventInput(Document):
    """An event of at most 256 KiB. Receivers get the exact bytes of the payload."""

    event_type: EventType
    payload: dict[str, Any]
    occurred_at: Timestamp | None = Field(
        None, description="By default the time when the server receives the event."
    )
    metadata: dict[str, Any] | None = None
    source: Name | None = None
    customer_external_id: Name | None = None
    idempotency_key: Name | None = Field(
        None, description="A key that is unique in the environment for 24 hours."
    )
    correlation_id: Name | None = None
    request_id: Name | None = None
    traceparent: Name | None = Field(
        None,
        description="The event's own trace (W3C Trace Context); by default the request's. A "
        "malformed value is ignored.",
    )
    tracestate: State | None = Field(
        None, description="The `tracestate` that belongs to `traceparent`."
    )
    attachments: list[Attachment] | None = None


class BatchInput(Document):
    """Up to 1,000 events, at most 5 MiB."""

    events: list[EventInput] = Field(min_length=1, max_length=1_000)


ROUTES = (
    Route(
        method="POST",
        path="/events",
        name="ingestEvent",
        client=Method("events.send", by_hand=True),
        summary="Send an event",
        description="202 once the event and its deliveries are durable. After a 4xx or a 503 the "
        "event was certainly not accepted. After any other 5xx, or a broken connection, repeat "
        "the request with the same `idempotencyKey`, or the same header `Idempotency-Key`.",
        tag=TAG,
        scopes=INGEST,
        embed=Embed.REFUSED,
        handler=None,
        body=EventInput,
        body_bytes=EVENT_BYTES,
        ingestion=True,
        keyed=True,
        responses={202: shapes.IngestResult},
        refusals=(404,),
        codes=("schema_violation", "idempotency_mismatch", "loop_detected"),
        example=EXAMPLE,
    ),
    Route(
        method="POST",
        path="/events/batch",
        name="ingestEvents",
        client=Method("events.send_batch", by_hand=True),
        summary="Send a batch of events",
        description="A bad event does not affect the others. All accepted events become durable "
        "together. Each event has its own `idempotencyKey`; a request with the header "
        "`Idempotency-Key` gets 400.",
        tag=TAG,
        scopes=INGEST,
        embed=Embed.REFUSED,
        handler=None,
        body=BatchInput,
        body_bytes=BATCH_BYTES,
        ingestion=True,
        responses={202: shapes.BatchResult},
        codes=("schema_violation", "idempotency_mismatch", "loop_detected"),
        example={
            "events": [EXAMPLE, {"eventType": "order.paid", "payload": {"orderId": "o-1042"}}]
        },
    ),
)
