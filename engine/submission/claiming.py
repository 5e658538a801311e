"""The claim of an idempotency key: an event holds its key for a day, for exactly its own content."""

import hashlib

from engine.core.records import Event
from engine.model.identity import created_at_ms
from engine.ports import KeyClaim
from engine.submission.submission import KEY_HELD_MS


def claim_of(event: Event, key: str, deliveries: int) -> KeyClaim:
    """Return an event's claim of an idempotency key."""
    digest = hashlib.sha256()
    for part in (event.type.encode(), (event.customer or "").encode(), event.payload):
        digest.update(len(part).to_bytes(8))
        digest.update(part)
    return KeyClaim(
        environment=event.environment,
        key=key,
        event=event.id,
        deliveries=deliveries,
        digest=digest.digest(),
        expires_at_ms=created_at_ms(event.id) + KEY_HELD_MS,
    )
