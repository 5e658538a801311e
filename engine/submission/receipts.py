"""Replies to ingestion requests, as JSON: receipts for durable events, refusals for others.

The JSON of frequent replies is formatted without an encoder. This is safe because event types and ids
contain no characters that JSON must escape.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from engine.core.records import Delivery, Event
from engine.model.errors import STATUS_OF_CODE, Detail, Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso
from engine.ports import Claimed, KeyClaim
from engine.submission.submission import Fate

NAMED = 100  # reasons in the reply to a batch without a valid event
RETRY_AFTER_S = 1  # Retry-After of an overloaded reply: a group takes far less than a second
_MESSAGES = {
    "overloaded": "the service cannot take events now, try again later",
    "internal": "the outcome is unknown: repeat the request with the same idempotencyKey",
}


class Reply(Struct, gc=False):
    """The answer to an ingestion request.

    For a success, `body` is the JSON. For an error, `body` is empty, and the other fields describe the
    error.
    """

    status: int
    body: bytes = b""
    code: str | None = None
    message: str = ""
    details: tuple[Detail, ...] = ()
    retry_after_s: int | None = None


Done = Callable[[Reply], None]


class Accepted(Struct, gc=False):
    """An event that passed every check, with its deliveries. `claim`: the claim of the event's
    idempotency key, or None if the event has no such key."""

    event: Event
    deliveries: list[Delivery]
    claim: KeyClaim | None


def refused(refusal: Refusal) -> Reply:
    """Return the reply to a request that was refused before its commit."""
    return Reply(
        refusal.status, b"", refusal.code, refusal.message, refusal.details, refusal.retry_after_s
    )


def failed(code: str) -> Reply:
    """Return the reply to a request whose submission failed with `code`."""
    retry_after_s = RETRY_AFTER_S if code == "overloaded" else None
    return Reply(STATUS_OF_CODE[code], b"", code, _MESSAGES[code], (), retry_after_s)


def receipt(accepted: Accepted, fate: Fate) -> Reply:
    """Return the reply to a single event's request."""
    if fate.refusal is not None:
        return failed(fate.refusal)
    event = accepted.event
    holder = fate.lost.get(event.id) if fate.lost else None
    if holder is None:
        return Reply(202, _receipt(event, event.id, len(accepted.deliveries), "false"))
    if (mismatch := _mismatch(accepted, holder)) is not None:
        return refused(mismatch)
    return Reply(202, _receipt(event, holder.event, holder.deliveries, "true"))


def results(entries: Sequence[Accepted | Refusal], fate: Fate) -> Reply:
    """Return the reply to a batch, with one result for each event, in the order of the batch."""
    if fate.refusal is not None:
        return failed(fate.refusal)
    lines: list[str] = []
    refusals: list[Refusal] = []
    accepted = duplicates = 0
    lost = fate.lost or {}
    for index, entry in enumerate(entries):
        if isinstance(entry, Refusal):
            refusals.append(entry)
            lines.append(_rejection(index, entry))
            continue
        identifier = entry.event.id
        holder = lost.get(identifier)
        if holder is None:
            accepted += 1
            lines.append(_line(index, "ACCEPTED", identifier, len(entry.deliveries)))
        elif (refusal := _mismatch(entry, holder)) is not None:
            refusals.append(refusal)
            lines.append(_rejection(index, refusal))
        else:
            duplicates += 1
            lines.append(_line(index, "DUPLICATE", holder.event, holder.deliveries))
    if len(refusals) == len(entries):
        return none_valid(refusals)
    return Reply(
        202,
        (
            f'{{"accepted":{accepted},"duplicates":{duplicates},"rejected":{len(refusals)},'
            f'"results":[{",".join(lines)}]}}'
        ).encode(),
    )


def none_valid(refusals: Sequence[Refusal]) -> Reply:
    """Return the reply to a batch whose events were all refused. If one of the refusals is `overloaded`,
    the reply is this refusal. Else the reply is `invalid_request`, with at most `NAMED` reasons."""
    for refusal in refusals:
        if refusal.code == "overloaded":
            return refused(refusal)
    details: list[Detail] = []
    for index, refusal in enumerate(refusals[:NAMED]):
        within = refusal.details or (Detail("", refusal.message),)
        details += [
            Detail(f"events[{index}].{each.path}".rstrip("."), each.message) for each in within
        ]
    return refused(
        Refusal("invalid_request", "no event of the batch is valid", tuple(details[:NAMED]))
    )


def _receipt(event: Event, identifier: str, deliveries: int, duplicate: str) -> bytes:
    received_at = iso(created_at_ms(identifier))
    return (
        f'{{"id":"{identifier}","eventType":"{event.type}","receivedAt":"{received_at}",'
        f'"duplicate":{duplicate},"deliveries":{deliveries}}}'
    ).encode()


def _line(index: int, status: str, identifier: str, deliveries: int) -> str:
    return (
        f'{{"index":{index},"status":"{status}","id":"{identifier}",'
        f'"deliveries":{deliveries},"error":null}}'
    )


def _rejection(index: int, refusal: Refusal) -> str:
    error: dict[str, object] = {"code": refusal.code, "message": refusal.message}
    if refusal.details:
        error["details"] = [
            {"path": each.path, "message": each.message} for each in refusal.details
        ]
    return (
        f'{{"index":{index},"status":"REJECTED","id":null,"deliveries":0,'
        f'"error":{msgspec.json.encode(error).decode()}}}'
    )


def _mismatch(accepted: Accepted, holder: Claimed) -> Refusal | None:
    claim = accepted.claim
    if claim is None or claim.digest == holder.digest:
        return None
    return Refusal(
        "idempotency_mismatch",
        "the idempotencyKey was used for another event",
        (Detail("idempotencyKey", "was used with another eventType, customer or payload"),),
    )
