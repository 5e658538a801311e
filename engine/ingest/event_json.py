"""The strict reader of events in request bodies: it keeps the bytes of each payload as they were sent.

msgspec checks neither duplicate keys nor depth, so this module checks them. For most bodies, a cheap
count of quotes and brackets is enough. Other bodies are examined with `engine.model.json_members`.
msgspec also refuses lone surrogates, which are allowed in a payload: see `_with_surrogates`.
"""

import re
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from engine.files.attachments import judge, read_attachments
from engine.model.complaints import malformed, of_msgspec
from engine.model.errors import Detail, Refusal
from engine.model.json_members import (
    MAX_DEPTH,
    deepest,
    differences,
    names,
    portions,
    quotes,
    tile,
    without_surrogates,
)
from engine.model.trace import LONGEST_STATE

EVENT_BYTES = 256 * 1024
BATCH_BYTES = 5 * 1024 * 1024
BATCH_EVENTS = 1_000
_BRACE = ord("{")
_BACKSLASH = ord("\\")
_NUL = b"\\u0000"  # unescaped, a NUL is malformed JSON
OWN_PREFIX = "angarium."
_OTHERWISE = b"\\u0042"  # as long as the default replacement of `without_surrogates`
_LONE_OUTSIDE = "malformed JSON, or a lone surrogate outside the payload"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_TYPE = re.compile(r"[A-Za-z0-9._:/-]{1,256}")
# Matches the bytes of a batch up to its first event. The key is `events`, as the decoder has checked,
# but it can be written with escapes. So the pattern accepts any key.
_BATCH_HEAD = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*"[^"]{6,36}"[ \t\r\n]*:[ \t\r\n]*\[')

NAME_LENGTH = 256  # characters of a name or key that a client chooses
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH)]

State = Annotated[str, Meta(min_length=1, max_length=LONGEST_STATE)]


class DecodedEvent(Struct, forbid_unknown_fields=True, gc=False):
    """One event as a caller wrote it. Raw fields are slices of the request."""

    eventType: str  # noqa: N815 - the wire's name
    payload: Raw
    occurredAt: Annotated[datetime, Meta(tz=True)] | UnsetType | None = UNSET  # noqa: N815
    metadata: Raw | UnsetType = UNSET
    source: Name | UnsetType | None = UNSET
    customerExternalId: Name | UnsetType | None = UNSET  # noqa: N815
    idempotencyKey: Name | UnsetType | None = UNSET  # noqa: N815
    correlationId: Name | UnsetType | None = UNSET  # noqa: N815
    requestId: Name | UnsetType | None = UNSET  # noqa: N815
    traceparent: Name | UnsetType | None = UNSET
    tracestate: State | UnsetType | None = UNSET
    attachments: Raw | UnsetType = UNSET

    def occurred_at_ms(self, received_at_ms: int) -> int:
        """Return when the event occurred, in ms since the epoch. The default is when it was received."""
        occurred_at = self.occurredAt
        if isinstance(occurred_at, datetime):
            return (occurred_at - _EPOCH) // _MILLISECOND
        return received_at_ms


class _Batch(Struct, forbid_unknown_fields=True):
    events: list[Raw]


# The array of a large batch, as a struct with BATCH_EVENTS fields. So msgspec stops at the first event
# beyond this limit. A list would be decoded to its end, and 5 MiB can hold millions of items. For small
# bodies, a list is used, because it is 15 us faster.
_Events = msgspec.defstruct(
    "_Events",
    [(f"event{number}", Raw | UnsetType, UNSET) for number in range(BATCH_EVENTS)],
    array_like=True,
    forbid_unknown_fields=True,
    gc=False,
)
LARGE_BYTES = 64 * 1024


class _LargeBatch(Struct, forbid_unknown_fields=True):
    events: _Events  # type: ignore[valid-type] # it is made of its fields' names


class _OddBatch(Struct, forbid_unknown_fields=True):
    events: Raw


# If a body repeats the key `events`, msgspec decodes the value of each repetition, which can take long.
# So if the key occurs more than _MANY_KEYS times, only the last value is decoded.
_MANY_KEYS = 64
_event = msgspec.json.Decoder(DecodedEvent)
_batch = msgspec.json.Decoder(_Batch)
_large_batch = msgspec.json.Decoder(_LargeBatch)
_odd_batch = msgspec.json.Decoder(_OddBatch)
_events = msgspec.json.Decoder(_Events)
_TOO_MANY = "Expected `array` of at most"
_NAMES = (
    "source",
    "customerExternalId",
    "idempotencyKey",
    "correlationId",
    "requestId",
    "traceparent",
    "tracestate",
)
# msgspec's messages name an error's place as "at `$.a.b`" or as "field `x`". A field's name comes from
# the caller and can be as long as the body, so each search in a message must take linear time.
_AT = " - at `$"
_PLACE = re.compile(r"[A-Za-z0-9.\[\]]*`")
_FIELDS = ("Object contains unknown field `", "Object missing required field `")


def read_event(body: bytes, max_depth: int = MAX_DEPTH) -> tuple[DecodedEvent, bytes]:
    """Decode and check one event; return it with its payload's bytes.

    Raises Refusal `invalid_request`, naming the offending field.
    """
    if not body.isascii():
        _require_utf8(body)
    try:
        event = _event.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        event = _with_surrogates(body, error, max_depth)
        payload = bytes(event.payload)
    else:
        payload = bytes(event.payload)
        if not _plain(body, event, payload, max_depth):
            _check_whole(body, event, payload, max_depth)
    if payload[0] != _BRACE:
        raise invalid("payload", "must be an object")
    if event.metadata is not UNSET or event.attachments is not UNSET:
        _check_objects(event)
    if event.occurredAt is not UNSET and event.occurredAt is not None:
        _check_instant(event.occurredAt)
    if _NUL in body:
        _check_names(event)
    return event, payload


def read_batch(body: bytes, pause: Callable[[], None] = lambda: None) -> list[bytes]:
    """Return the events of a batch as undecoded slices. A large body is read in steps of some
    milliseconds, and `pause` is called between two steps.

    Raises Refusal `invalid_request`, or `payload_too_large` for too many events.
    """
    if not body.isascii():
        _require_utf8(body)
    try:
        events = _parts(body, pause)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        events = _slices_with_surrogates(body, error, pause)
    else:
        plain = body.count(b'"events"') == 1 and b"\\" not in body
        if not plain and _spans(body, events) is None:
            raise invalid("events", "is given twice")
    if not events:
        raise Refusal("invalid_request", "events is empty", (Detail("events", "is empty"),))
    return events


def _parts(body: bytes, pause: Callable[[], None]) -> list[bytes]:
    if len(body) > LARGE_BYTES:
        escaped = b"\\" in body and b"\\u" in body  # an escape can be in the key
        odd = escaped or body.count(b'"events"') > _MANY_KEYS
        pause()  # the slowest body takes 13 ms to decode
        try:
            if odd:
                raw = _odd_batch.decode(body).events
                pause()
                events = _events.decode(raw)
            else:
                events = _large_batch.decode(body).events
        except msgspec.ValidationError as error:
            if str(error).startswith(_TOO_MANY):
                raise _too_many() from None
            raise
        pause()
        return [bytes(raw) for raw in msgspec.structs.astuple(events) if raw is not UNSET]
    raws = _batch.decode(body).events
    if len(raws) > BATCH_EVENTS:
        raise _too_many()
    return [bytes(raw) for raw in raws]


def _too_many() -> Refusal:
    return Refusal("payload_too_large", f"a batch holds at most {BATCH_EVENTS} events")


def _spans(body: bytes, events: list[bytes]) -> list[tuple[int, int]] | None:
    """Return where each event of a batch begins and ends in the body. Return None if the body has the key
    `events` twice. Then the decoder has taken `events` from the last array, but this search begins at
    the first array."""
    head = _BATCH_HEAD.match(body)
    return None if head is None else tile(body, head.end(), events)


def check_type(event_type: str) -> None:
    """Check an event type. Raises Refusal if it is malformed or reserved for own events."""
    if _TYPE.fullmatch(event_type) is None:
        raise invalid("eventType", "must be 1-256 characters of A-Za-z0-9._:/-")
    if event_type.startswith(OWN_PREFIX):
        raise invalid(
            "eventType", f"types that begin with {OWN_PREFIX} are reserved for the service"
        )


def invalid(path: str, message: str) -> Refusal:
    """Return a refusal of one field."""
    return Refusal("invalid_request", f"{path}: {message}", (Detail(path, message),))


def _plain(body: bytes, event: DecodedEvent, payload: bytes, max_depth: int) -> bool:
    """Return True if counts alone exclude duplicate keys and too much depth.

    Outside the payload, the keys and texts of the decoded event need two quotes each. A duplicate key
    would need more quotes. So if the body has exactly the needed number, no key is given twice.
    """
    # `replace` is faster than `count`: `replace` jumps to the next bracket, `count` looks at each byte.
    bare = body.replace(b"{", b"", max_depth + 1).replace(b"[", b"", max_depth + 1)
    if len(body) - len(bare) > max_depth:
        return False
    if event.metadata is not UNSET or event.attachments is not UNSET:
        return False
    if _BACKSLASH in body and body.count(b"\\") > payload.count(b"\\"):
        return False
    payload_at = len(body) - 1 - len(payload)
    if body.startswith(payload, payload_at):  # usually it is the last member, before the last brace
        found = body.count(b'"', 0, payload_at)
    else:
        found = body.count(b'"') - payload.count(b'"')
    quotes = 6  # "eventType":"...","payload":
    if found == quotes:
        return True  # only eventType and payload: there is no other member
    for given in (
        event.customerExternalId,
        event.idempotencyKey,
        event.source,
        event.occurredAt,
        event.correlationId,
        event.requestId,
        event.traceparent,
        event.tracestate,
    ):
        if given is not UNSET:
            quotes += 2 if given is None else 4
    return found == quotes


def _check_objects(event: DecodedEvent) -> None:
    if event.metadata is not UNSET:
        metadata = bytes(event.metadata)
        if metadata == b"null":
            event.metadata = UNSET
        elif metadata[0] != _BRACE:
            raise invalid("metadata", "must be an object")
    if event.attachments is not UNSET:
        _check_attachments(event)


def _check_instant(occurred_at: datetime) -> None:
    if occurred_at.year in (MINYEAR, MAXYEAR):
        try:
            occurred_at.astimezone(UTC)
        except OverflowError:  # in UTC, its year cannot be written
            raise invalid("occurredAt", "lies outside of the years 1 to 9999 in UTC") from None


def _check_names(event: DecodedEvent) -> None:
    for name in _NAMES:
        value = getattr(event, name)
        if value is not UNSET and value is not None and "\0" in value:
            raise invalid(name, "must not contain NUL")


def _check_attachments(event: DecodedEvent) -> None:
    raw = bytes(event.attachments) if event.attachments is not UNSET else b""
    if raw == b"null":
        event.attachments = UNSET
        return
    try:
        attachments = read_attachments(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refusal(error, "attachments") from None
    judge(attachments)


def _check_whole(body: bytes, event: DecodedEvent, payload: bytes, max_depth: int) -> None:
    """Raise Refusal if a decoded body has a key twice or is nested too deeply. The keys are not compared
    if the number of quotes already excludes a duplicate key (see `_plain`)."""
    if deepest(body) > max_depth:
        raise Refusal("invalid_request", f"more than {MAX_DEPTH} nested containers")
    found = quotes(body) - quotes(payload)
    needed = 6  # "eventType":"...","payload":
    for raw in (event.metadata, event.attachments):
        if raw is not UNSET:
            found -= quotes(bytes(raw))
            needed += 2
    for text in (event.occurredAt, *(getattr(event, name) for name in _NAMES)):
        if text is not UNSET:
            needed += 2 if text is None else 4
    if found == needed:
        return
    seen: set[str] = set()
    for name in names(body):
        if name in seen:
            raise invalid(name, "is given twice")
        seen.add(name)


def _with_surrogates(body: bytes, error: Exception, max_depth: int) -> DecodedEvent:
    """Decode a body whose payload holds lone surrogates.

    Two copies of the body are decoded. One copy has one text in place of each lone surrogate, the other
    copy a different text. If the copies differ outside the payload, the body is refused.
    """
    fixed = without_surrogates(body)
    if fixed == body:
        raise _refusal(error) from None
    otherwise = without_surrogates(body, _OTHERWISE)
    try:
        event = _event.decode(fixed)
        payload, its = bytes(event.payload), bytes(_event.decode(otherwise).payload)
    except msgspec.ValidationError as again:
        raise _refusal(again) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refusal("invalid_request", _LONE_OUTSIDE) from None
    _check_whole(fixed, event, payload, max_depth)
    at, bits = differences(fixed, otherwise)
    within, its_bits = differences(payload, its)
    if bits != its_bits:
        raise Refusal("invalid_request", _LONE_OUTSIDE)
    start = at - within
    event.payload = Raw(body[start : start + len(payload)])
    return event


def _slices_with_surrogates(
    body: bytes, error: Exception, pause: Callable[[], None]
) -> list[bytes]:
    pause()
    mended = []
    for portion in portions(body, LARGE_BYTES, EVENT_BYTES):
        mended.append(without_surrogates(portion))
        pause()
    fixed = b"".join(mended)
    if fixed == body:
        raise _refusal(error, what="the body") from None
    try:
        spans = _spans(fixed, _parts(fixed, pause))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as again:
        raise _refusal(again, what="the body") from None
    if spans is None:
        raise invalid("events", "is given twice")
    return [body[start:end] for start, end in spans]


def _require_utf8(body: bytes) -> None:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Refusal(
            "invalid_request", f"the body is not valid UTF-8 at byte {error.start}"
        ) from None


def _refusal(error: Exception, prefix: str = "", what: str = "an event") -> Refusal:
    if isinstance(error, RecursionError):
        return Refusal("invalid_request", f"more than {MAX_DEPTH} nested containers")
    if not isinstance(error, msgspec.ValidationError):
        return Refusal("invalid_request", malformed(str(error)))
    message, path = str(error), prefix
    words, at, where = message.rpartition(_AT)
    # A message can end with `_AT` and a place, but a caller can choose a field name with `_AT` in it. If
    # the message was split within the name, `whole` is False, unless a backtick stands before this `_AT`.
    whole = not words.startswith(_FIELDS) or words.endswith("`")
    if at and whole and _PLACE.fullmatch(where):
        message, where = words, where[:-1].removeprefix(".")
        path = f"{prefix}.{where}".strip(".") if not where.startswith("[") else prefix + where
    for field in _FIELDS:
        if message.startswith(field) and message.endswith("`"):
            path = f"{path}.{message[len(field) : -1]}".strip(".")
    return invalid(path, of_msgspec(message)) if path else _no_object(what)


def _no_object(what: str) -> Refusal:
    return Refusal("invalid_request", f"{what} must be a JSON object")
