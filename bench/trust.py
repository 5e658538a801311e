"""The trusted authorities for a server's certificate: those of the system, or of a file."""

import ssl
from pathlib import Path


def trusting(cacert: str | Path | None) -> ssl.SSLContext:
    """Return the context for TLS connections to a server. `cacert` is a PEM file of the authorities to
    trust; without it, the system's authorities are trusted. Raises ValueError for an invalid file."""
    try:
        context = ssl.create_default_context(cafile=cacert or None)
    except OSError as error:
        raise ValueError(f"{cacert} has no readable certificates: {error}") from None
    context.set_alpn_protocols(["http/1.1"])
    return context
