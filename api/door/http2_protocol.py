"""`h2` with the door's settings, and with a coding of header blocks that saves CPU and memory.

`h2` does not check the fields of requests here, because it would examine each field seven times.
`api.door.http2_head` checks them instead.
"""

import re
from collections.abc import Iterable

import hpack
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings

from api.door.framing import MAX_HEAD, Head

STREAMS = 100  # requests at once on one connection; more would only wait for the same event loop
# The most kinds of settings that a client can send on one connection. `h2` keeps every kind, known or
# not. Without the limit, a client could send all 65,536 kinds in 400 KB, and they would take 56 MB.
SETTINGS = 32
# The window of a whole connection. The door reopens this window for all bytes as soon as they arrive. It
# can do so because the windows of the streams already bound the bytes that the door holds. The protocol's
# default of 64 KiB would allow only 0.65 MB/s over a round trip of 100 ms.
CONNECTION_WINDOW = 4 * 1024 * 1024
STREAM_WINDOW = 65_535  # the protocol's default, for a request that is not admitted yet
ACKNOWLEDGED_BYTES = 256 * 1024  # of bodies for one window update; fewer are not worth a frame

_CONFIG = H2Configuration(
    client_side=False,
    header_encoding=None,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
)
# Matches a header block that begins with three changes of the size of HPACK's table. The door refuses
# such a block, because clients need at most two changes (RFC 7541, 4.2). A block has room for 30,000
# changes, and `hpack` would carry out all of them.
_RESIZES = re.compile(rb"(?:[\x20-\x3e]|\x3f[\x80-\xff]{0,4}[\x00-\x7f]){3}")
# The entries of HPACK's static table that answers use.
_NAMES = {
    b"access-control-allow-origin": 20, b"allow": 22, b"cache-control": 24,
    b"content-disposition": 25, b"content-encoding": 26, b"content-language": 27,
    b"content-length": 28, b"content-location": 29, b"content-range": 30, b"content-type": 31,
    b"date": 33, b"etag": 34, b"expires": 36, b"last-modified": 44, b"link": 45, b"location": 46,
    b"retry-after": 53, b"server": 54, b"set-cookie": 55, b"vary": 59, b"www-authenticate": 61,
}  # fmt: skip
_STATUS = {
    b"200": b"\x88", b"204": b"\x89", b"206": b"\x8a", b"304": b"\x8b", b"400": b"\x8c",
    b"404": b"\x8d", b"500": b"\x8e",
}  # fmt: skip
_LONG = 127  # from this length on, a length is encoded in several bytes
_SIZES = [bytes((size,)) for size in range(_LONG)]
_EMPTY_TABLE = b"\x20"  # sent once: the server's answers never use the client's table


class Decoder(hpack.Decoder):
    """A decoder of requests' header blocks that remembers the last block and its fields. If a new block
    equals the last block, and the last block did not change HPACK's table, both blocks have the same
    fields. The decoder then returns the remembered fields.

    `head`: the head that the connection has parsed from the last block. `decoded`: True if the door has
    decoded a block with the method `ahead`, and then passes this block to `h2`, too. The next call of
    `decode` is for this block: it decodes nothing, and returns the fields that `ahead` returned.
    """

    def __init__(self) -> None:
        super().__init__(max_header_list_size=MAX_HEAD)
        self.head: Head | None = None
        self.decoded = False
        self._last = b""
        self._lasting = False
        self._fields: list[hpack.HeaderTuple] = []

    def decode(self, data: bytes, raw: bool = False) -> Iterable[hpack.HeaderTuple]:
        if self.decoded:
            self.decoded = False
            return self._fields
        return self.ahead(data)

    def ahead(self, data: bytes) -> list[hpack.HeaderTuple]:
        """Decode a block before its stream is known."""
        if self._lasting and data == self._last:
            return self._fields
        self.head = None
        self._lasting = False
        if _RESIZES.match(data):
            raise hpack.HPACKDecodingError("the table's size changes more than twice")
        before = self._table()
        fields = self._fields = list(super().decode(data, raw=True))
        after = self._table()
        self._last = data
        self._lasting = before[0] == after[0] and before[1] is after[1]
        return fields

    def _table(self) -> tuple[tuple[int, int], object]:
        """Return values that show if HPACK's table has changed: the table's sizes and its newest entry.
        Any change of the table changes at least one of these values."""
        entries = self.header_table.dynamic_entries
        return (self.header_table.maxsize, len(entries)), entries[0] if entries else None


def literals(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Encode fields for a header block, each as a literal that neither side adds to HPACK's table."""
    parts: list[bytes] = []
    for name, value in fields:
        known = _PREFIXES.get(name)
        size = len(value)
        parts += (
            known or _prefix(name),
            _SIZES[size] if size < _LONG else _length(size),
            value,
        )
    return b"".join(parts)


class Encoder(hpack.Encoder):
    """The encoder of answers' header blocks. `h2` would copy and examine each field several times, so the
    door passes only the status to `h2`. The door encodes the other fields with `literals`, and stores the
    result in `fields` before it calls `h2`. `encode` appends `fields` to the encoded status."""

    def __init__(self) -> None:
        super().__init__()
        self.fields = b""
        self._first = True

    @property
    def header_table_size(self) -> int:
        """The size of HPACK's table for the headers of answers. It is always 0, whatever size the client
        allows."""
        return 0

    @header_table_size.setter
    def header_table_size(self, value: int) -> None:
        pass

    def encode(self, headers: Iterable[tuple[bytes, bytes]], huffman: bool = True) -> bytes:  # type: ignore[override]  # of the three forms that hpack takes, h2 uses this one
        fields, self.fields = self.fields, b""
        status = b"".join(
            _STATUS.get(value) or b"\x08\x03" + value
            for name, value in headers
            if name == b":status"
        )
        if self._first:
            self._first = False
            status = _EMPTY_TABLE + status
        return status + fields


def _prefix(name: bytes) -> bytes:
    """Return a field's name in encoded form: as a number if HPACK's static table has the name, otherwise
    as text."""
    index = _NAMES.get(name)
    return b"\x00" + _length(len(name)) + name if index is None else bytes((0x0F, index - 15))


def _length(size: int) -> bytes:
    if size < _LONG:
        return _SIZES[size]
    size -= _LONG
    digits = bytearray(b"\x7f")
    while size >= 128:
        digits.append(size & 0x7F | 0x80)
        size >>= 7
    digits.append(size)
    return bytes(digits)


_PREFIXES = {
    name: _prefix(name)
    for name in (
        b"content-type", b"content-length", b"date", b"retry-after", b"x-request-id",
        b"x-ratelimit-limit", b"x-ratelimit-remaining", b"x-ratelimit-reset",
    )
}  # fmt: skip


class Protocol(H2Connection):
    """One connection's state."""

    # By default, `h2` remembers 65,536 closed streams of a connection, which would take 6 MB.
    MAX_CLOSED_STREAMS = 1_000

    decoder: Decoder
    encoder: Encoder

    def __init__(self) -> None:
        super().__init__(_CONFIG)
        self.encoder = Encoder()
        self.decoder = Decoder()
        self.local_settings = Settings(
            client=False,
            initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: STREAMS,
                SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD,
                SettingCodes.ENABLE_CONNECT_PROTOCOL: 0,  # no websockets here
            },
        )
        self.initiate_connection()
        self.increment_flow_control_window(CONNECTION_WINDOW - STREAM_WINDOW)

    def release(self) -> None:
        """Drop all state. The objects of `h2` refer to each other, so they would otherwise stay in memory
        until the next garbage collection."""
        vars(self).clear()
