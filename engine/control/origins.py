"""Origins that browsers come from, brought into the one form in which browsers write them (RFC 6454)."""

import re
from ipaddress import ip_address

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})  # which a developer has no certificate for
PORTS = {"https": 443, "http": 80}  # which browsers leave out
MAX_PORT = 65_535
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(\[[^\]/?#@]*\]|[^\[\]/?#@:]+)(?::([0-9]{1,5}))?")
_NAME = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NAME_LENGTH = 253  # of a name in DNS


def normalised(text: str) -> str:
    """Return an origin as browsers write it. Raises ValueError, which says what is wrong."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError(
            "must be scheme://host or scheme://host:port, such as https://app.example.com, without "
            "a path and without *"
        )
    scheme, host = found[1].lower(), _host(found[2])
    if scheme not in PORTS:
        raise ValueError("the scheme must be https")
    if scheme == "http" and host not in LOCAL:
        raise ValueError("http is for localhost and 127.0.0.1 only: write https")
    if found[3] is None:
        return f"{scheme}://{host}"
    port = int(found[3])
    if not 1 <= port <= MAX_PORT:
        raise ValueError("the port must be 1-65535")
    return f"{scheme}://{host}" if port == PORTS[scheme] else f"{scheme}://{host}:{port}"


def _host(text: str) -> str:
    if not text.isascii():
        raise ValueError("write the host as browsers send it, in ASCII: xn--...")
    host = text.lower()
    if host.startswith("["):
        return f"[{_address(host[1:-1], 6)}]"
    if host.rpartition(".")[2].isdigit():
        return _address(host, 4)
    if len(host) > _NAME_LENGTH or _NAME.fullmatch(host) is None:
        raise ValueError("the host must be a name or an address, and no pattern")
    return host


def _address(text: str, version: int) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        address = None
    if address is None or address.version != version or "%" in text:
        raise ValueError("the host looks like an address and is none") from None
    return address.compressed
