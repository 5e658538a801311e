"""The outbound body of an event, the same for every attempt of every delivery.

The payload's bytes are inserted as they came: they are never parsed and encoded again.
"""

import msgspec

from engine.core.records import Event
from engine.model.instants import iso

_json = msgspec.json.Encoder().encode


def outbound_body(event: Event) -> bytes:
    """Return the JSON that receivers get, without absent members."""
    if event.body is not None:
        return event.body
    parts = [
        b'{"type":',
        _json(event.type),
        b',"timestamp":"',
        iso(event.occurred_at_ms).encode(),
        b'","id":"',
        event.id.encode(),
        b'","data":',
        event.payload,
    ]
    if event.metadata is not None:
        parts += (b',"metadata":', event.metadata)
    if event.source is not None:
        parts += (b',"source":', _json(event.source))
    if event.customer is not None:
        parts += (b',"customerExternalId":', _json(event.customer))
    if event.correlation_id is not None:
        parts += (b',"correlationId":', _json(event.correlation_id))
    if event.attachments is not None:
        parts += (b',"attachments":', event.attachments)
    parts.append(b"}")
    body = event.body = b"".join(parts)
    return body
