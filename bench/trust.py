"""The trust in a server's certificate: of the system's authorities, or of one that a file names."""

import ssl
from pathlib import Path


def trusting(cacert: str | Path | None) -> ssl.SSLContext:
    """Return the context of TLS connections to a server. `cacert`: a file (PEM) of authorities that are
    trusted instead of the system's. Raises ValueError if it cannot be used."""
    try:
        context = ssl.create_default_context(cafile=cacert or None)
    except OSError as error:
        raise ValueError(f"{cacert} has no certificates that can be read: {error}") from None
    context.set_alpn_protocols(["http/1.1"])
    return context
