"""The client side of TLS over memory buffers: bytes in and bytes out, without a socket.

Certificates and host names are always checked.
"""

import ssl
from contextlib import suppress
from functools import cache
from pathlib import Path

from engine.core.vocabulary import ErrorCategory
from engine.wire.failure import WireError

READ_BYTES = 65536
# The limit on bytes from the peer that arrive in succession and contain no application data: handshakes,
# tickets, alerts, empty records. Without a limit, a peer could use CPU time with such bytes. A normal
# peer stays far below the limit: its certificate chain takes some KB.
SILENT_LIMIT = 256 * 1024


class AuthoritiesError(Exception):
    """The file of additional authorities cannot be used. The message names the file and the remedy."""


def client_context(authorities: Path | None = None) -> ssl.SSLContext:
    """Return a context for outbound connections: TLS 1.2 or later, the system's authorities, and the
    authorities in the PEM file `authorities`. Raises AuthoritiesError."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # By RFC 9110, 4.3.4, the certificate must name the host in subjectAltName. A common name is no proof.
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except OSError as error:  # ssl.SSLError is one
            reason = error.strerror or error
            raise AuthoritiesError(
                f"the authorities in {authorities} cannot be used: {reason}."
                " Name a PEM file of certificates with ANGARIUM_EGRESS_CA"
            ) from error
    return context


@cache
def shared_context(authorities: Path | None = None) -> ssl.SSLContext:
    """Return the context that the whole process shares. It is made only once, because reading the
    system's authorities takes some 20 ms."""
    return client_context(authorities)


class TlsChannel:
    """The client side of one TLS stream."""

    __slots__ = ("_incoming", "_object", "_outgoing", "_silent", "_unsent", "closed", "established")

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        """Raises WireError if `host` cannot be in a certificate."""
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        # A final dot makes a name absolute for the resolver. Names in certificates have no final dot.
        name = host.rstrip(".")
        try:
            self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        except ValueError:
            words = "the host is not a name that a certificate can be for"
            raise WireError(ErrorCategory.TLS, words) from None
        self._unsent = b""
        self._silent = 0
        self.established = False
        self.closed = False  # the peer has ended its stream

    def begin(self) -> None:
        """Start the handshake. Raises WireError."""
        self._shake()

    def send(self, data: bytes) -> None:
        """Encrypt `data`. Before the end of the handshake, keep `data` and encrypt it at the end. Raises
        WireError if the stream has ended."""
        if not self.established:
            self._unsent = data
            return
        try:
            self._object.write(data)
        except ssl.SSLError as error:
            raise _explain(error) from None

    def hold(self, data: bytes) -> None:
        """Keep bytes from the peer until the next `receive` decrypts them. Raises WireError."""
        self._incoming.write(data)
        self._silent += len(data)
        if self._silent > SILENT_LIMIT:
            raise WireError(ErrorCategory.TLS, "TLS failed: records come without content")

    def receive(self, data: bytes) -> bytes:
        """Take bytes from the peer. Return the decrypted content, which can be empty.

        Raises WireError. After the error, `outgoing` can return an alert, which must be sent to the peer.
        """
        self._incoming.write(data)
        said = self._decrypt()
        if said:
            self._silent = 0
        else:
            self._silent += len(data)
            if self._silent > SILENT_LIMIT:
                raise WireError(ErrorCategory.TLS, "TLS failed: records come without content")
        return said

    def _decrypt(self) -> bytes:
        if not self.established:
            self._shake()
            if not self.established:
                return b""
        parts: list[bytes] = []
        try:
            while True:
                part = self._object.read(READ_BYTES)
                if not part:
                    self.closed = True
                    break
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.closed = True
        except ssl.SSLError as error:
            if not parts:
                raise _explain(error) from None
            self.closed = True  # content before the fault still counts
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def outgoing(self) -> bytes:
        """Return the bytes to send to the peer now."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def goodbye(self) -> bytes:
        """Return the last bytes for the peer: close_notify, or an alert that is still to be sent."""
        if self.established and not self.closed:
            # `unwrap` writes the client's close_notify. Then it raises SSLError if the peer's
            # close_notify has not arrived, or if the stream is broken.
            with suppress(ssl.SSLError):
                self._object.unwrap()
        return self.outgoing()

    def _shake(self) -> None:
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            raise _explain(error) from None
        self.established = True
        if self._unsent:
            self._object.write(self._unsent)
            self._unsent = b""


def _explain(error: ssl.SSLError) -> WireError:
    if isinstance(error, ssl.SSLCertVerificationError):
        words = f"the certificate was refused: {error.verify_message}"
    else:
        words = f"TLS failed: {(error.reason or 'unknown fault').replace('_', ' ').lower()}"
    return WireError(ErrorCategory.TLS, words)
