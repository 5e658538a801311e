"""A server that accepts every request and does nothing, in its own process: `python -m
bench.null_server`.

It measures the limit of the load generator. It prints its port as JSON, and answers 202 to each request
once the body is complete.
"""

import json
import select
import socket

ANSWER = b"HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
READ_BYTES = 262_144
BACKLOG = 1_024
_LENGTH = b"content-length:"


class Peer:
    """One connection, which counts the bytes that are missing."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._head = b""  # the incomplete head of a request
        self._missing = 0  # bytes of the body

    def ready(self) -> bool:
        """Read, and answer the requests that are complete. Return False if the connection has ended."""
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        answers = self.take(data)
        if answers:
            self.sock.send(ANSWER * answers)
        return True

    def take(self, data: bytes) -> int:
        """Take bytes; return the number of requests that they complete."""
        ended = 0
        while data:
            if self._missing:
                taken = min(self._missing, len(data))
                self._missing -= taken
                data = data[taken:]
                ended += not self._missing
                continue
            data = self._head + data
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._head = data
                break
            head = data[:end].lower()
            self._head, data = b"", data[end + 4 :]
            _, found, after = head.partition(_LENGTH)
            self._missing = int(after.partition(b"\r")[0]) if found else 0
            ended += not self._missing
        return ended


def serve() -> None:
    """Serve until terminated."""
    poll = select.epoll()
    peers: dict[int, Peer] = {}
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
        listener.setblocking(False)
        poll.register(listener.fileno(), select.EPOLLIN)
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        while True:
            for fd, _ in poll.poll():
                if fd == listener.fileno():
                    sock, _ = listener.accept()
                    sock.setblocking(False)
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    peers[sock.fileno()] = Peer(sock)
                    poll.register(sock.fileno(), select.EPOLLIN)
                elif not peers[fd].ready():
                    peers.pop(fd).sock.close()


if __name__ == "__main__":
    serve()
