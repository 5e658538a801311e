"""Request heads: prepared once per destination version, filled in per attempt.

Nothing here decides; it writes bytes.
"""

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from engine.core.destination import Destination, Target
from engine.core.records import Delivery
from engine.wire.signing import Signer

try:
    _VERSION = version("angarium")
except PackageNotFoundError:  # run from a checkout that was never installed
    _VERSION = "0"
USER_AGENT = f"Angarium/{_VERSION}".encode()

Headers = Sequence[tuple[bytes, bytes]]
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")


def render_head(method: bytes, target: Target, headers: Headers) -> bytes:
    """Return request line, Host and `headers`, without the empty line that ends a head.

    Raises ValueError for a name or value that would break the framing.
    """
    lines = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (method, target.path, target.authority)]
    for name, value in headers:
        if _NAME.fullmatch(name) is None or _VALUE.fullmatch(value) is None:
            raise ValueError("a header of the destination is malformed")
        lines.append(b"%b: %b\r\n" % (name, value))
    return b"".join(lines)


def destination_headers(destination: Destination) -> list[tuple[bytes, bytes]]:
    """Return what all requests to `destination` carry: ours where it has none of that name, its own."""
    own = {name.lower() for name, _ in destination.headers}
    ours = ((b"content-type", b"application/json"), (b"user-agent", USER_AGENT))
    return [header for header in ours if header[0] not in own] + list(destination.headers)


class WebhookHead:
    """Writes the requests of one destination version."""

    __slots__ = ("_prefix", "_signer")

    def __init__(self, destination: Destination) -> None:
        """Prepare. Raises ValueError where headers or signing keys are unusable."""
        headers = destination_headers(destination)
        self._prefix = render_head(b"POST", destination.target, headers) + b"webhook-id: "
        self._signer = Signer(destination.signing)

    def request(self, delivery: Delivery, number: int, body: bytes, now: float) -> bytes:
        """Return the bytes of attempt `number`, signed at `now` (seconds since the epoch).

        Raises ValueError where no signing key is valid.
        """
        message_id = delivery.event.id.encode()
        timestamp = int(now)
        signature = self._signer.header(b"%b.%d.%b" % (message_id, timestamp, body), now)
        return (
            b"%b%b\r\nwebhook-timestamp: %d\r\nwebhook-signature: %b\r\nangarium-delivery-id: %b\r\n"
            b"angarium-attempt: %d\r\ncontent-length: %d\r\n\r\n%b"
        ) % (
            self._prefix,
            message_id,
            timestamp,
            signature,
            delivery.id.encode(),
            number,
            len(body),
            body,
        )
