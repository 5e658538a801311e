"""Where the server of some settings is found from this machine."""

from ipaddress import ip_address

from engine.settings import Settings


def server_url(settings: Settings) -> str:
    """Return the base address for a client on this machine: a wildcard becomes the loopback."""
    host, port = settings.address
    if host != "localhost" and (address := ip_address(host)).is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    shown = f"[{host}]" if ":" in host else host
    scheme = "https" if settings.tls_cert else "http"
    return f"{scheme}://{shown}:{port}"
