"""A submission: a request's events and their keys on the way to a commit, and the commit's result."""

import hashlib
import logging
from collections.abc import Callable, Sequence

import structlog
from msgspec import Struct

from engine.core.records import Delivery, Event
from engine.model.file_records import FileRecord
from engine.model.identity import created_at_ms
from engine.model.trace import log_fields
from engine.ports import Claimed, KeyClaim

KEY_HELD_MS = 24 * 3600 * 1000  # how long an idempotency key is held, as the API says


class Fate(Struct, frozen=True):
    """The result of a submission.

    `refusal` is an error code: `overloaded` (certainly not accepted) or `internal` (possibly accepted).
    If `refusal` is None, the events are durable, except the duplicates. An event is a duplicate if
    another event has claimed its idempotency key before. `lost` maps the id of each duplicate to that
    other event.
    """

    refusal: str | None = None
    lost: dict[str, Claimed] | None = None


class Submission:
    """The rows that one request commits together. The intake owns a submission until the intake calls
    the submission's `settle`."""

    __slots__ = (
        "claims",
        "deliveries",
        "environment",
        "events",
        "files",
        "settle",
        "size",
        "weight",
    )

    def __init__(
        self,
        events: list[Event],
        deliveries: list[Delivery],
        claims: list[KeyClaim],
        size: int,
        settle: Callable[[Fate], None],
        files: Sequence[FileRecord] = (),
    ) -> None:
        self.environment = events[0].environment
        self.events = events
        self.deliveries = deliveries
        self.claims = claims
        self.size = size  # bytes of its events
        self.settle = settle  # called exactly once
        self.files = files  # of its events; their content is held until `settle`
        # The rows that it writes.
        self.weight = len(events) + len(deliveries)


DURABLE = Fate()
OVERLOADED = Fate("overloaded")
UNKNOWN = Fate("internal")


def claim_of(event: Event, key: str, deliveries: int) -> KeyClaim:
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


NAME = "angarium.routing"
NAMED = 20  # destinations in a line

log = structlog.get_logger(NAME)

Submit = Callable[[Submission], None]


def logged(submit: Submit) -> Submit:
    """Return `submit` itself or, at log level `debug`, a function that also logs the events."""
    return logging_submit(submit) if logging.getLogger(NAME).isEnabledFor(logging.DEBUG) else submit


def logging_submit(submit: Submit) -> Submit:
    def tell(submission: Submission) -> None:
        to: dict[str, list[str]] = {event.id: [] for event in submission.events}
        for delivery in submission.deliveries:
            to[delivery.event.id].append(delivery.destination)
        for event in submission.events:
            destinations = to[event.id]
            log.debug(
                "event.routed",
                event_id=event.id,
                type=event.type,
                environment=event.environment,
                customer=event.customer,
                destinations=destinations[:NAMED],
                count=len(destinations),
                **log_fields(event.trace),
            )
        submit(submission)

    return tell
