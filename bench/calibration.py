"""The floor that this machine sets, in a process of its own: `python -m bench.calibration URL`.

One thread posts a prepared 400-byte body over 16 kept connections, driven by bare epoll and httptools,
nothing signed, nothing stored. Prints CPU microseconds a request and requests a second as JSON.
"""

import json
import select
import socket
import sys
import time
from urllib.parse import urlsplit

import httptools

CONNECTIONS = 16
_BODY = b'{"type":"bench.event","data":{"k":"' + b"x" * 360 + b'"}}'


class Poster:
    """One kept connection that posts again as soon as it was answered."""

    def __init__(self, sock: socket.socket, request: bytes, left: list[int]) -> None:
        self.sock = sock
        self.parser = httptools.HttpResponseParser(self)
        self._request = request
        self._left = left  # shared: requests to send, answers to come

    def post(self) -> None:
        """Send the next request, if one is left."""
        if self._left[0] > 0:
            self._left[0] -= 1
            self.sock.send(self._request)

    def on_message_complete(self) -> None:
        self._left[1] -= 1
        self.post()


def measure(url: str, requests: int) -> dict[str, float]:
    """Post `requests` times; return the cost."""
    parts = urlsplit(url)
    request = (
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(_BODY)}\r\n\r\n"
    ).encode() + _BODY
    left = [requests, requests]
    poll = select.epoll()
    posters: dict[int, Poster] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(CONNECTIONS):
        sock = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 80))
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        posters[sock.fileno()] = Poster(sock, request, left)
        poll.register(sock.fileno(), select.EPOLLIN)
        posters[sock.fileno()].post()
    while left[1] > 0:
        for fd, _ in poll.poll():
            posters[fd].parser.feed_data(posters[fd].sock.recv(65536))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    for poster in posters.values():
        poster.sock.close()
    return {"cpuMicros": round(cpu / requests * 1e6, 3), "perSecond": round(requests / wall)}


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60_000
    print(json.dumps(measure(sys.argv[1], count)), flush=True)
