"""The acceptor of links from other servers, and the sockets that link the workers of one parent."""

import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import structlog
import trio

from engine.peers.handshake import Address, LinkError, accept, dial

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


BACKLOG = 256


class LocalLinks:
    """The way to the other workers. `folder` has a socket for each, `own` is this worker's number."""

    def __init__(self, folder: Path, own: int, keys: Mapping[bytes, bytes]) -> None:
        self._folder = folder
        self._own = own
        self._keys = keys

    async def dial(self, number: int, client: Address) -> trio.SocketStream:
        """Open a link to a worker for a client's requests. Raises OSError."""
        sock = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            await sock.connect(str(self._path(number)))
            link = trio.SocketStream(sock)
            await dial(link, self._keys, client)
        except LinkError as error:
            sock.close()
            raise ConnectionError(str(error)) from error
        except BaseException:
            sock.close()
            raise
        return link

    async def accept(
        self, adopt: Adopt, task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Accept links until cancelled; `adopt` takes each with its client's address."""
        path = self._path(self._own)
        with suppress(FileNotFoundError):
            path.unlink()  # a predecessor's
        sock = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        await sock.bind(str(path))
        sock.listen(BACKLOG)
        listener = trio.SocketListener(sock)
        await trio.serve_listeners(
            welcome_links(self._keys, adopt), [listener], task_status=task_status
        )

    def _path(self, number: int) -> Path:
        return self._folder / f"worker-{number}"
