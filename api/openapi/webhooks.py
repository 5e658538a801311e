"""The document's `webhooks`."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from api.openapi.examples import Examples
from api.openapi.words import AT, DELIVERY, EVENT
from api.resources.ingestion import Attachment, EventType
from engine.drafts import Document, Name, Uuid
from engine.model.instants import Timestamp

_HEADERS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "webhook-id": (
        "The event's id: the same in every attempt and replay. Use it to drop duplicates: store it "
        "when you have handled the event, for as long as attempts can arrive. Then you also drop "
        "replays of the event.",
        {"type": "string", "format": "uuid"},
        EVENT,
    ),
    "webhook-timestamp": (
        "Unix epoch seconds of this attempt. Refuse requests older than some minutes.",
        {"type": "string", "pattern": "^[0-9]+$"},
        "1795435200",
    ),
    "webhook-signature": (
        "Signatures of `{webhook-id}.{webhook-timestamp}.{body}`, with a space between two. After a "
        "rotation there is one for each secret that is still valid. Each is `v1,` and HMAC-SHA256, "
        "or `v1a,` and Ed25519, in base64. One valid signature is enough.",
        {"type": "string", "pattern": "^v1a?,[A-Za-z0-9+/]+=*( v1a?,[A-Za-z0-9+/]+=*)*$"},
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
    "angarium-delivery-id": (
        "The delivery's id, for `GET /deliveries/{id}`: the same in all its attempts, another one "
        "in a replay. It is not signed.",
        {"type": "string", "format": "uuid"},
        DELIVERY,
    ),
    "angarium-attempt": (
        "The number of this attempt. The first has 1.",
        {"type": "string", "pattern": "^[1-9][0-9]*$"},
        "1",
    ),
    "user-agent": ("The version of the sender.", {"type": "string"}, "Angarium/0.1.0"),
}
_ANSWERS = {
    "2XX": "Delivered. Answer at once and process the event afterwards. Up to 16 KiB of the body "
    "are recorded.",
    "410": "The receiver is gone: this delivery becomes a dead letter, and the destination is "
    "disabled.",
    "429": "Try later. A `Retry-After` (seconds or a date) of a 429 or 503 holds all deliveries of "
    "the destination.",
    "default": "A failure, also for redirects. The delivery is retried by the destination's "
    "schedule.",
}
_ABOUT = (
    "A signed request to the destination's URL, with the destination's headers and the headers "
    "below. The body has only fields that the event has. Every attempt and replay sends the same "
    "bytes, as long as the destination's transform version and template config stay the same."
)


class OutboundEvent(Document):
    """An outbound event."""

    type: EventType
    timestamp: Timestamp = Field(description="When the event occurred.")
    id: Uuid
    data: dict[str, Any] = Field(description="The payload, with the same bytes as in the request.")
    metadata: dict[str, Any] | None = None
    source: Name | None = None
    customer_external_id: Name | None = None
    correlation_id: Name | None = None
    attachments: list[Attachment] | None = None


def webhooks(
    own: Mapping[str, type[BaseModel]], references: dict[Any, Any], examples: Examples
) -> dict[str, Any]:
    """Return all webhooks: one for the events that senders submit, and one for each type of event that
    Angarium itself makes. `own` has these types, each with the model of its field `data`."""
    event = references[OutboundEvent]
    found = {"event": _webhook("event", "An event is delivered", _ABOUT, event, examples.of(event))}
    for event_type, model in own.items():
        name = "".join(part.title() for part in event_type.replace("_", ".").split("."))
        data = references[model]
        about = (model.__doc__ or "").strip()
        text = f"{about} Sent if a rule names `{event_type}`, or a pattern with that prefix."
        schema = _own_schema(event_type, data)
        example = {"type": event_type, "timestamp": AT, "id": EVENT, "data": examples.of(data)}
        summary = f"The service's own event {event_type}"
        found[event_type] = _webhook(f"on{name}", summary, text, schema, example)
    return found


def _own_schema(event_type: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["type", "timestamp", "id", "data"],
        "properties": {
            "type": {"type": "string", "const": event_type},
            "timestamp": {"type": "string", "format": "date-time"},
            "id": {"type": "string", "format": "uuid"},
            "data": data,
            "customerExternalId": {
                "type": "string",
                "description": "The destination's customer, if it has one.",
            },
        },
    }


def _webhook(
    name: str, summary: str, text: str, schema: dict[str, Any], example: Any
) -> dict[str, Any]:
    return {
        "post": {
            "operationId": f"receive{name[:1].upper()}{name[1:]}",
            "summary": summary,
            "description": text,
            "tags": ["Webhooks"],
            "security": [],
            "parameters": [
                {
                    "name": header,
                    "in": "header",
                    "required": True,
                    "description": about,
                    "schema": kind,
                    "example": value,
                }
                for header, (about, kind, value) in _HEADERS.items()
            ],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": schema, "example": example}},
            },
            "responses": {status: {"description": about} for status, about in _ANSWERS.items()},
        }
    }
