"""The acceptor of links from other servers, and the sockets that link the workers of one parent."""

import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import structlog
import trio

from engine.peers.handshake import NO_TLS, Address, LinkError, accept, dial
from engine.peers.relay import REST_S

HANDSHAKES = 256  # at a time

log = structlog.get_logger("angarium.peers")

Adopt = Callable[[socket.socket, Address], None]


async def accept_links(
    bind: tuple[str, int],
    keys: Mapping[bytes, bytes],
    adopt: Adopt,
    adopt_requests: Adopt | None = None,
    digest: Callable[[], bytes] = lambda: NO_TLS,
    task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept links until cancelled; `adopt` takes each with its client's address, `adopt_requests` those
    for single requests. `digest`: see `accept`. Raises OSError when the address cannot be listened at."""
    host, port = bind
    welcome = welcome_links(keys, adopt, adopt_requests, digest)
    await trio.serve_tcp(welcome, port, host=host, task_status=task_status)


def welcome_links(
    keys: Mapping[bytes, bytes],
    adopt: Adopt,
    adopt_requests: Adopt | None = None,
    digest: Callable[[], bytes] = lambda: NO_TLS,
) -> Callable[[trio.SocketStream], Awaitable[None]]:
    """Return what handles each connection that comes: a handshake, a bounded number at a time."""
    places = trio.CapacityLimiter(HANDSHAKES)

    async def welcome(stream: trio.SocketStream) -> None:
        async with places:
            try:
                caller = await accept(stream, keys, digest())
            except LinkError as error:
                log.info("peer.refused", error=str(error))
            else:
                take = adopt if adopt_requests is None or not caller.requests else adopt_requests
                take(socket.socket(fileno=stream.socket.detach()), caller.address)

    return welcome


BACKLOG = 256
LINK, PASSAGE = "worker", "passage"  # names of sockets


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
            await sock.connect(str(self._path(number, LINK)))
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
        sock = trio.socket.from_stdlib_socket(self._bound(socket.SOCK_STREAM, LINK))
        listener = trio.SocketListener(sock)
        await trio.serve_listeners(
            welcome_links(self._keys, adopt), [listener], task_status=task_status
        )

    def passage(self, number: int) -> socket.socket:
        """Open a passage to a worker: a socket that does not block, for descriptors. Messages stay whole.
        Who may open it is the folder's matter: only its owner enters. Raises OSError."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            sock.setblocking(False)
            sock.connect(str(self._path(number, PASSAGE)))
        except OSError:
            sock.close()
            raise
        return sock

    async def accept_passages(
        self,
        receive: Callable[[socket.socket], None],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept passages until cancelled; `receive` takes each."""
        with trio.socket.from_stdlib_socket(self._bound(socket.SOCK_SEQPACKET, PASSAGE)) as sock:
            task_status.started()
            while True:
                try:
                    passage, _ = await sock.accept()
                except OSError as error:  # the descriptors have run out: requests are relayed
                    log.warning("passage.not_accepted", error=str(error))
                    await trio.sleep(REST_S)
                else:
                    receive(socket.socket(fileno=passage.detach()))

    def _bound(self, kind: int, name: str) -> socket.socket:
        path = self._path(self._own, name)
        with suppress(FileNotFoundError):
            path.unlink()  # a predecessor's
        sock = socket.socket(socket.AF_UNIX, kind)
        sock.setblocking(False)
        sock.bind(str(path))
        sock.listen(BACKLOG)
        return sock

    def _path(self, number: int, name: str) -> Path:
        return self._folder / f"{name}-{number}"
