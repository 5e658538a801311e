"""The requests that can be served again if it is unknown whether they were served."""

import msgspec
from msgspec import Struct

from api.door.framing import Head
from api.ingestion import PATHS
from engine.model.idempotency import HEADER

SAFE = frozenset({b"GET", b"HEAD", b"OPTIONS"})  # they change nothing (RFC 9110, 9.2.1)
_ONCE = frozenset({b"/events", b"/files"})  # paths that use the header Idempotency-Key


class _Keyed(Struct, rename="camel"):
    idempotency_key: str | None = None


class _KeyedBatch(Struct):
    events: list[_Keyed]


_event, _batch = msgspec.json.Decoder(_Keyed), msgspec.json.Decoder(_KeyedBatch)


def can_repeat(head: Head, data: bytes) -> bool:
    """Return True if serving a request twice has no second effect. `data` is the whole request, as
    `api.door.link_form` writes it."""
    if head.method in SAFE:
        return True
    if head.method != b"POST":
        return False
    if head.path in _ONCE and HEADER in head.index:
        return True
    is_batch = PATHS.get(head.path)
    if is_batch is None or head.chunked:
        return False
    body = data[data.find(b"\r\n\r\n") + 4 :]
    try:
        events = _batch.decode(body).events if is_batch else [_event.decode(body)]
    except msgspec.DecodeError:
        return False
    return all(event.idempotency_key for event in events)
