"""Hops: the number of deliveries that led to an event, in a header that this service signs.

Each delivery has a header `angarium-hops`, which states one hop more than the delivery's event has. The
header comes back to the ingestion in two cases: the destination is this service, or a receiver copies the
header into the request for a new event. The header's value is the number of hops and a signature of this
number. There are few numbers, so all values are computed in advance.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping

HEADER = b"angarium-hops"
PURPOSE = b"angarium hops v1"  # the purpose for the derivation from the master key
MOST = 100  # the largest number that the header states
_SIGNATURE_BYTES = 16  # 128 bits cannot be guessed, and keep the header short


class Hops:
    """All values of the header `angarium-hops`. The first key signs new values. Values signed with any of
    the keys are accepted. Owner: the trio thread."""

    def __init__(self, keys: Mapping[bytes, bytes], limit: int) -> None:
        """`limit`: the largest number of hops of an accepted event."""
        self.limit = limit
        self.use(keys)

    def use(self, keys: Mapping[bytes, bytes]) -> None:
        """Use these keys from now on: the master key has changed."""
        self._known: dict[bytes, int] = {}
        lines: list[bytes] = []
        for key in keys.values():
            for count in range(1, MOST + 1):
                value = _value(key, count)
                self._known[value] = count
                if len(lines) < MOST:
                    lines.append(b"%b: %b\r\n" % (HEADER, value))
        self._lines = lines

    def line(self, hops: int) -> bytes:
        """Return the header line of a delivery whose event has `hops` hops. The line states `hops` + 1,
        but at most `MOST`."""
        return self._lines[hops] if hops < MOST else self._lines[-1]

    def count(self, value: bytes) -> int:
        """Return the number of hops in a request's header. Return 0 if this service did not make the
        header's value."""
        return self._known.get(value, 0)


def _value(key: bytes, count: int) -> bytes:
    stated = b"%d" % count
    signature = hmac.digest(key, stated, hashlib.sha256)[:_SIGNATURE_BYTES]
    return stated + b"." + urlsafe_b64encode(signature).rstrip(b"=")
