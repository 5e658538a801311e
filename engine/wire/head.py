"""Request heads: prepared once for each destination version, completed for each attempt.

Nothing here decides; it writes bytes.
"""

import re
from collections.abc import Sequence

from engine.core.destination import Destination, Target
from engine.core.records import Delivery
from engine.model.hops import Hops
from engine.model.trace import TRACEPARENT, TRACESTATE, lines_of
from engine.model.version import VERSION
from engine.wire.signing import Signer

USER_AGENT = f"Angarium/{VERSION}".encode()

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


def destination_headers(destination: Destination, more: Headers = ()) -> list[tuple[bytes, bytes]]:
    """Return the headers of requests to `destination`: `more`, its own and ours, each name from the
    first of these that has it."""
    headers = list(more)
    ours = ((b"content-type", b"application/json"), (b"user-agent", USER_AGENT))
    for general in (destination.headers, ours):
        named = {name.lower() for name, _ in headers}
        headers[:0] = [header for header in general if header[0].lower() not in named]
    return headers


class WebhookHead:
    """The writer of one destination version's requests."""

    __slots__ = ("_destination", "_hops", "_prefix", "_signer", "_traces")

    def __init__(self, destination: Destination, hops: Hops | None = None) -> None:
        """Prepare. Raises ValueError where headers or signing keys are unusable. `hops` None: the
        header is left out."""
        self._hops = hops
        self._destination = destination
        self._prefix, self._traces = _prefix(destination, ())
        self._signer = Signer(destination.signing)

    def with_headers(self, more: Headers) -> "WebhookHead":
        """Return a head with further headers, for a single attempt. Raises ValueError as above."""
        head = WebhookHead.__new__(WebhookHead)
        head._destination, head._signer = self._destination, self._signer
        head._hops = self._hops
        head._prefix, head._traces = _prefix(self._destination, more)
        return head

    def request(
        self, delivery: Delivery, number: int, body: bytes, now: float, trace: str | None = None
    ) -> bytes:
        """Return the bytes of attempt `number`, signed at `now` (seconds since the epoch). `trace`: that
        the request belongs to.

        Raises ValueError where no signing key is valid.
        """
        message_id = delivery.event.id.encode()
        timestamp = int(now)
        signature = self._signer.header(b"%b.%d.%b" % (message_id, timestamp, body), now)
        return (
            b"%b%b\r\nwebhook-timestamp: %d\r\nwebhook-signature: %b\r\nangarium-delivery-id: %b\r\n"
            b"angarium-attempt: %d\r\n%b%bcontent-length: %d\r\n\r\n%b"
        ) % (
            self._prefix,
            message_id,
            timestamp,
            signature,
            delivery.id.encode(),
            number,
            b"" if self._hops is None else self._hops.line(delivery.event.hops),
            lines_of(trace) if trace is not None and self._traces else b"",
            len(body),
            body,
        )


def _prefix(destination: Destination, more: Headers) -> tuple[bytes, bool]:
    """Return the beginning of a head, and whether it leaves the trace to the event: headers that the
    destination or a script sets win."""
    headers = destination_headers(destination, more)
    named = {name.lower() for name, _ in headers}
    method = destination.method.name.encode()
    prefix = render_head(method, destination.target, headers) + b"webhook-id: "
    return prefix, TRACEPARENT not in named and TRACESTATE not in named
