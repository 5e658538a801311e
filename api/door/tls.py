"""The server's TLS context: certificates from files, HTTP/2 by ALPN, TLS 1.2 or newer."""

import ssl
from pathlib import Path


def server_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Return the context for `certificate` (a PEM chain). Raises ValueError where it cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # RFC 9113, 9.2.1: neither compression nor renegotiation.
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"the TLS certificate {certificate} cannot be used: {error}") from error
    return context
