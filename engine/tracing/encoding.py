"""The encoding of ended spans in OTLP's protobuf. Nothing here awaits.

The library's encoder takes ten times as long, because it makes a message object for each attribute,
value and span.
"""

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct

from engine.model.trace import PARENT_LENGTH, span_id, trace_id
from engine.tracing.ended_span import EndedSpan

NANOSECONDS = 1_000_000_000
Attributes = Mapping[str, str | int | bool]
# The largest number of attributes that the cache keeps in encoded form. They take some 0.5 MB. The number
# is enough for the attributes that many events share, and for the ids of recent events.
KEPT_ATTRIBUTES = 2_048
KEPT_NUMBERS = 1_024  # enough for most lengths
_INT64 = (1 << 64) - 1
_TIMES = Struct("<BQBQ")  # start_time_unix_nano and end_time_unix_nano, with their tags
_STARTED, _ENDED = 0x39, 0x41
# The field `flags`, which says if the parent is remote.
_ROOT, _CHILD = b"\x85\x01\x00\x01\x00\x00", b"\x85\x01\x00\x03\x00\x00"
_UNSET, _ERROR = b"\x7a\x00", b"\x18\x02"  # a status without a code; the code of a failure


def field(tag: bytes, content: bytes) -> bytes:
    """Return a length-delimited field: tag, length, content."""
    return tag + _varint(len(content)) + content


def span_bytes(ended: EndedSpan, attributes: Attributes, dropped: int) -> bytes:
    """Return a span as a field of `ScopeSpans`. `attributes` are the span's attributes without those
    that exceed the limits. `dropped` is the number of attributes that were left out.
    """
    context = ended.context
    parts = [b"\x0a\x10", bytes.fromhex(trace_id(context))]
    parts += b"\x12\x08", bytes.fromhex(span_id(context))
    if len(context) > PARENT_LENGTH:
        parts.append(field(b"\x1a", context[PARENT_LENGTH + 1 :].encode()))
    if ended.parent is not None:
        parts += b"\x22\x08", bytes.fromhex(span_id(ended.parent))
    began, at = int(ended.began * NANOSECONDS), int(ended.ended * NANOSECONDS)
    parts += (
        field(b"\x2a", ended.name.encode()),
        b"\x30" + _varint(ended.kind.value + 1),
        _TIMES.pack(_STARTED, began, _ENDED, at),
        *map(_attribute, attributes, attributes.values()),
    )
    if dropped:
        parts.append(b"\x50" + _varint(dropped))
    parts.append(_failure(ended.words) if ended.failed else _UNSET)
    parts.append(_ROOT if ended.parent is None else _CHILD)
    return field(b"\x12", b"".join(parts))


@lru_cache(maxsize=KEPT_ATTRIBUTES, typed=True)
def _attribute(name: str, value: str | int | bool) -> bytes:
    return field(b"\x4a", field(b"\x0a", name.encode()) + field(b"\x12", _value(value)))


def _value(value: str | int | bool) -> bytes:
    if isinstance(value, bool):
        return b"\x10" + _varint(value)
    if isinstance(value, int):
        return b"\x18" + _varint(value & _INT64)
    return field(b"\x0a", _text(value))


def _failure(words: str | None) -> bytes:
    message = b"" if not words else field(b"\x12", _text(words))
    return field(b"\x7a", message + _ERROR)


def _text(text: str) -> bytes:
    """Lone surrogates become question marks."""
    return text.encode("utf-8", "replace")


@lru_cache(maxsize=KEPT_NUMBERS)
def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
