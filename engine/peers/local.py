"""Links between the workers of one parent: sockets in a folder that only their account enters."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import trio

from engine.peers.acceptor import Adopt, welcome_links
from engine.peers.handshake import Address, LinkError, dial

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
