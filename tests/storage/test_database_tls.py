"""TLS to PostgreSQL with libpq's rules. The URL's `sslmode` decides. Without it, the environment variable
PGSSLMODE decides. Without both, the mode is `prefer`.

The embedded PostgreSQL is built without TLS, so a small proxy provides TLS.
"""

import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trio
import trustme

from storage.database.bridge import open_bridge
from storage.database.errors import StoreAwayError
from tests.pooler import SSL_REQUEST


class Front:
    """A TCP proxy in front of PostgreSQL's Unix socket. `spoke`: True if the last client used TLS."""

    def __init__(self, socket_path: str, context: ssl.SSLContext | None) -> None:
        self.spoke = False
        self._socket_path = socket_path
        self._context = context

    async def serve(self, tcp: trio.SocketStream) -> None:
        client: trio.abc.Stream = tcp
        self.spoke = False
        first = bytes(await tcp.receive_some(8))
        if first[4:] == struct.pack("!i", SSL_REQUEST):
            first = b""
            await tcp.send_all(b"N" if self._context is None else b"S")
            if self._context is not None:
                client = trio.SSLStream(tcp, self._context, server_side=True)
                try:
                    await client.do_handshake()
                except (trio.BrokenResourceError, ssl.SSLError):  # the client does not trust us
                    await tcp.aclose()
                    return
                self.spoke = True
        server = await trio.open_unix_socket(self._socket_path)
        async with tcp, server, trio.open_nursery() as nursery:
            if first:
                await server.send_all(first)
            nursery.start_soon(_copy, server, client, nursery.cancel_scope)
            await _copy(client, server, nursery.cancel_scope)


async def _copy(
    source: trio.abc.ReceiveStream, target: trio.abc.SendStream, everything: trio.CancelScope
) -> None:
    try:
        while data := await source.receive_some():
            await target.send_all(data)
    except (trio.BrokenResourceError, trio.ClosedResourceError, ssl.SSLError):
        pass
    everything.cancel()


@asynccontextmanager
async def front(url: str, context: ssl.SSLContext | None) -> AsyncIterator[tuple[Front, str]]:
    parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
    made = Front(f"{query['host'][0]}/.s.PGSQL.{query['port'][0]}", context)
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, made.serve, 0, host="127.0.0.1")
        listeners = await nursery.start(serve)
        port = listeners[0].socket.getsockname()[1]
        yield made, f"postgresql://postgres@127.0.0.1:{port}{parts.path}"
        nursery.cancel_scope.cancel()


# Each case has four fields: the URL's query, the environment variables, the result if the server offers
# TLS, and the result if the server does not. A result tells whether TLS is used, or is an error.
REFUSED = StoreAwayError
CASES: list[tuple[str, dict[str, str], object, object]] = [
    ("", {}, True, False),
    ("?sslmode=prefer", {}, True, False),
    ("?sslmode=disable", {}, False, False),
    ("?sslmode=require", {}, True, REFUSED),
    ("", {"PGSSLMODE": "disable"}, False, False),
    ("", {"PGSSLMODE": "require"}, True, REFUSED),
    ("?sslmode=disable", {"PGSSLMODE": "require"}, False, False),
    ("", {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "ca.pem"}, True, REFUSED),
    ("", {"PGSSLMODE": "verify-full", "PGSSLROOTCERT": "strangers.pem"}, REFUSED, REFUSED),
    ("?sslmode=verify-full&sslrootcert={}/ca.pem", {}, True, REFUSED),
]


@pytest.mark.parametrize("offered", [True, False])
async def test_tls_is_spoken_as_libpq_would(
    offered: bool, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, strangers = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(tmp_path / "ca.pem")
    strangers.cert_pem.write_to_path(tmp_path / "strangers.pem")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.issue_cert("127.0.0.1").configure_cert(context)
    async with front(database_url, context if offered else None) as (server, url):
        for query, environment, with_tls, without in CASES:
            for name in ("PGSSLMODE", "PGSSLROOTCERT"):
                monkeypatch.delenv(name, raising=False)
            for name, value in environment.items():
                path = str(tmp_path / value) if value.endswith(".pem") else value
                monkeypatch.setenv(name, path)
            expected = with_tls if offered else without
            async with open_bridge(url + query.format(tmp_path)) as bridge:
                if expected is REFUSED:
                    with pytest.raises(StoreAwayError):
                        await bridge.pool.fetch("SELECT 1")
                else:
                    await bridge.pool.fetch("SELECT 1")
                    assert server.spoke is expected, (query, environment)


async def test_a_socket_of_this_machine_serves_without_tls(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLMODE", "prefer")
    async with open_bridge(database_url) as bridge:
        assert await bridge.pool.fetch_value("SELECT 1") == 1
