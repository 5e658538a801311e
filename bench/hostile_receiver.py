"""A hostile receiver in its own process: `python -m bench.hostile_receiver PAPERS`.

PAPERS is a file with the key and the certificates for HTTPS. The process prints its ports as JSON: `port`
for HTTP; `tls` for HTTPS with a handshake for each request; `stalling`, which never completes a
handshake; and `closed`, on which no program listens.
"""

import asyncio
import json
import os
import socket
import ssl
import sys
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer

import uvloop

DRIP_S = 1.0  # between two bytes
PIECE = b"x" * 65_536
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
OK_AND_CLOSE = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
DRIPPED = b"HTTP/1.1 200 OK\r\nx-a: b\r\ncontent-length: 100000\r\n\r\n" + b"x" * 100_000
HUGE = b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\n\r\n"  # its body ends with the connection


async def serve(reader: Reader, writer: Writer) -> None:
    """Serve one connection according to the paths of its requests."""
    over_tls = writer.get_extra_info("ssl_object") is not None
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, after = head.lower().partition(b"content-length: ")
            await reader.readexactly(int(after.split(b"\r\n")[0] or 0))
            path = head.split(b" ", 2)[1]
            if path.startswith(b"/never"):
                await reader.read()
                return
            if path.startswith(b"/reset"):
                linger = b"\1\0\0\0\0\0\0\0"
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
                writer.transport.abort()
                return
            if path.startswith(b"/drip"):
                await _drip(writer)
                return
            if path.startswith(b"/huge"):
                await _pour(writer)
                return
            writer.write(OK_AND_CLOSE if over_tls else OK)
            await writer.drain()
            if over_tls:
                return
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return
    finally:
        writer.close()


async def _drip(writer: Writer) -> None:
    for at in range(len(DRIPPED)):
        if writer.is_closing():
            return
        writer.write(DRIPPED[at : at + 1])
        await writer.drain()
        await asyncio.sleep(DRIP_S)


async def _pour(writer: Writer) -> None:
    writer.write(HUGE)
    while True:
        writer.write(PIECE)
        await writer.drain()


async def stall(reader: Reader, writer: Writer) -> None:
    """Read all bytes without an answer."""
    try:
        while await reader.read(65_536):
            pass
    except OSError:
        return
    finally:
        writer.close()


async def main(papers: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(papers)
    plain = await asyncio.start_server(serve, "127.0.0.1", backlog=4096)
    tls = await asyncio.start_server(serve, "127.0.0.1", ssl=context, backlog=4096)
    stalling = await asyncio.start_server(stall, "127.0.0.1", backlog=4096)
    with socket.socket() as closed:  # bound, so that the port stays reserved
        closed.bind(("127.0.0.1", 0))
        ports = [server.sockets[0].getsockname()[1] for server in (plain, tls, stalling)]
        named = dict(zip(("port", "tls", "stalling"), ports, strict=True))
        print(json.dumps({**named, "closed": closed.getsockname()[1]}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    os.nice(10)  # in production, this work is on another machine
    uvloop.run(main(sys.argv[1]))
