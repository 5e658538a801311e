"""The parser of destinations' URLs: it checks and splits a URL once, when the URL is configured.

The egress guard checks addresses where sockets connect, so unusual notations of private addresses
need no check here.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import quote

import idna

from engine.core.destination import Target
from engine.model.errors import Detail, Refusal

URL_LIMIT = 2048
HOST_LIMIT = 253  # characters of a name in ASCII, RFC 1035
_PORTS = {"http": 80, "https": 443}
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(?P<query>\?[^#]*)?(?:#.*)?",
    re.IGNORECASE | re.ASCII,  # without ASCII, the long s (U+017F) would match s
)
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>[0-9]{0,5}))?")
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff]")
# Names of containers and clusters can have underscores. The pattern also matches numbers, such as
# 2130706433 (another notation of 127.0.0.1).
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")
_PATH_SAFE = "/%:@!$&'()*+,;=~[]|^`{}\"<>"  # all printable characters without a meaning in a URL


def parse_target(url: str) -> Target:
    """Split `url`. Raises `Refusal` (`invalid_request`) if requests cannot be sent to this URL."""
    if len(url) > URL_LIMIT:
        raise _refusal(f"the URL must have at most {URL_LIMIT} characters")
    if _FORBIDDEN.search(url):
        raise _refusal("the URL must have no spaces, control characters or backslashes")
    match = _URL.fullmatch(url)
    if match is None:
        raise _refusal("the URL must begin with http:// or https://")
    authority = match["authority"]
    if "@" in authority:
        raise _refusal("the URL must have no user name or password")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or not parts["host"]:
        raise _refusal("the URL's host or port is malformed")
    scheme = match["scheme"].lower()
    host, shown = _host(parts["host"])
    port = int(parts["port"] or _PORTS[scheme])
    if not 1 <= port <= 65535:
        raise _refusal("the URL's port must be between 1 and 65535")
    if port != _PORTS[scheme]:
        shown = f"{shown}:{port}"
    return Target(
        tls=scheme == "https",
        host=host,
        port=port,
        authority=shown.encode("ascii"),
        path=_origin_form(match["path"], match["query"]),
    )


def _host(text: str) -> tuple[str, str]:
    """Return two forms of a host: the form for connections, and the form for the Host header."""
    if text.startswith("["):
        try:
            address = str(IPv6Address(text[1:-1]))
        except AddressValueError:
            raise _refusal("the URL's host is not an IPv6 address") from None
        if "%" in address:
            raise _refusal("the URL's address must have no zone")
        return address, f"[{address}]"
    name = text.lower() if text.isascii() else _to_ascii(text)
    if len(name.rstrip(".")) > HOST_LIMIT or _NAME.fullmatch(name) is None:
        raise _refusal("the URL's host is not a name or address")
    return name, name


def _to_ascii(name: str) -> str:
    try:
        return idna.encode(name, uts46=True, transitional=False).decode("ascii")
    except idna.IDNAError:
        raise _refusal("the URL's host is not a valid international name") from None


def _origin_form(path: str | None, query: str | None) -> bytes:
    # An ASCII path is sent exactly as written, with its escapes.
    text = (path or "/") + (query or "")
    return (text if text.isascii() else quote(text, safe=_PATH_SAFE + "?")).encode("ascii")


def _refusal(message: str) -> Refusal:
    return Refusal("invalid_request", message, (Detail("url", message),))
