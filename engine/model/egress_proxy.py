"""The operator's egress proxy: all requests to receivers go through it."""

from base64 import b64encode
from typing import Annotated
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from pydantic import AfterValidator

FORM = "must be http://host:port or http://user:password@host:port"


class EgressProxy(Struct, frozen=True):
    """The proxy's address. `authorization`: the value of Proxy-Authorization, if the proxy needs one."""

    host: str
    port: int
    authorization: bytes | None = None

    @classmethod
    def of(cls, url: str) -> "EgressProxy":
        """Return the proxy of a URL. Raises ValueError. The message does not contain the URL, because the
        URL can contain a password."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise ValueError(FORM) from None
        more = parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme != "http" or not host or not port or more:
            raise ValueError(FORM)
        if parts.username is None:
            return cls(host, port)
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return cls(host, port, b"Basic " + b64encode(pair.encode()))


def _judged(url: str) -> str:
    EgressProxy.of(url)
    return url


ProxyUrl = Annotated[str, AfterValidator(_judged)]
