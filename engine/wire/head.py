"""Request heads: prepared once for each destination version, completed for each attempt."""

import re
from collections.abc import Sequence

from engine.core.destination import Destination, Target
from engine.core.records import Delivery
from engine.model.decimals import DECIMALS, KEPT
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
    """Return the headers of requests to `destination`. A header in `more` replaces the destination's
    header of the same name. A header of the destination replaces Angarium's header of the same name."""
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
        """Raises ValueError if headers or signing keys are unusable. If `hops` is None, requests
        have no header `angarium-hops`.
        """
        self._hops = hops
        self._destination = destination
        self._prefix, self._traces = _prefix(destination, ())
        self._signer = Signer(destination.signing)

    def with_headers(self, more: Headers) -> "WebhookHead":
        """Return a head with further headers, for one attempt. Raises ValueError if they are unusable."""
        head = WebhookHead.__new__(WebhookHead)
        head._destination, head._signer = self._destination, self._signer
        head._hops = self._hops
        head._prefix, head._traces = _prefix(self._destination, more)
        return head

    def request(
        self, delivery: Delivery, number: int, body: bytes, now: float, trace: str | None = None
    ) -> bytes:
        """Return the bytes of the request of attempt `number`, signed at `now` (seconds since the epoch).
        `trace` is sent in trace headers, unless the destination or a script sets trace headers.

        Raises ValueError if no signing key is valid.
        """
        event, length = delivery.event, len(body)
        message_id, timestamp = event.id.encode(), b"%d" % now
        # `join` puts the parts together. A format string would take four times as long.
        parts = (
            self._prefix,
            message_id,
            b"\r\nwebhook-timestamp: ",
            timestamp,
            b"\r\nwebhook-signature: ",
            self._signer.header(b".".join((message_id, timestamp, body)), now),
            b"\r\nangarium-delivery-id: ",
            delivery.id.encode(),
            b"\r\nangarium-attempt: ",
            DECIMALS[number] if number < KEPT else b"%d" % number,
            b"\r\n",
            b"" if self._hops is None else self._hops.line(event.hops),
            lines_of(trace) if trace is not None and self._traces else b"",
            b"content-length: ",
            DECIMALS[length] if length < KEPT else b"%d" % length,
            b"\r\n\r\n",
            body,
        )
        return b"".join(parts)


def _prefix(destination: Destination, more: Headers) -> tuple[bytes, bool]:
    """Return the beginning of a head, and a bool: True if trace headers can be added to the head, because
    neither the destination nor a script sets trace headers."""
    headers = destination_headers(destination, more)
    named = {name.lower() for name, _ in headers}
    method = destination.method.name.encode()
    prefix = render_head(method, destination.target, headers) + b"webhook-id: "
    return prefix, TRACEPARENT not in named and TRACESTATE not in named
