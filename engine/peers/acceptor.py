"""The acceptor of links: other servers bring their clients' connections, which this one serves."""

import socket
from collections.abc import Awaitable, Callable, Mapping

import structlog
import trio

from engine.peers.handshake import Address, LinkError, accept

HANDSHAKES = 256  # at a time

log = structlog.get_logger("angarium.peers")

Adopt = Callable[[socket.socket, Address], None]


async def accept_links(
    bind: tuple[str, int],
    keys: Mapping[bytes, bytes],
    adopt: Adopt,
    task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept links until cancelled; `adopt` takes each with its client's address. Raises OSError when the
    address cannot be listened at."""
    host, port = bind
    welcome = welcome_links(keys, adopt)
    await trio.serve_tcp(welcome, port, host=host, task_status=task_status)


def welcome_links(
    keys: Mapping[bytes, bytes], adopt: Adopt
) -> Callable[[trio.SocketStream], Awaitable[None]]:
    """Return what handles each connection that comes: a handshake, a bounded number at a time."""
    places = trio.CapacityLimiter(HANDSHAKES)

    async def welcome(stream: trio.SocketStream) -> None:
        async with places:
            try:
                client = await accept(stream, keys)
            except LinkError as error:
                log.info("peer.refused", error=str(error))
            else:
                adopt(socket.socket(fileno=stream.socket.detach()), client)

    return welcome
