"""The command: serve HTTP until terminated. With `--tls PAPERS`, serve HTTPS, too: PAPERS is a file with
a key and its certificates."""

import argparse
import asyncio
import json
import ssl
import sys
from contextlib import suppress

import uvloop

from bench.receiver.connection import Connection

BACKLOG = 4_096  # 20,000 destinations can connect at once


async def serve(host: str, port: int, tls: str | None) -> None:
    """Serve until cancelled; print the ports."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, host, port, backlog=BACKLOG)
    ports = {"port": server.sockets[0].getsockname()[1]}
    if tls is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tls)
        secure = await loop.create_server(Connection, host, 0, ssl=context, backlog=BACKLOG)
        ports["tls"] = secure.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(prog="python -m bench.receiver", description=__doc__)
    arguments.add_argument("--host", default="127.0.0.1")
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--tls", metavar="PAPERS")
    parsed = arguments.parse_args()
    try:
        with suppress(KeyboardInterrupt):  # the terminal sends it for the parent
            uvloop.run(serve(parsed.host, parsed.port, parsed.tls))
    except OSError as error:
        sys.stderr.write(f"receiver: {error}\n")
        sys.exit(2)
