"""A webhook receiver that counts, in a process of its own: `python -m bench.receiver`.

It prints its port as JSON and serves until it is terminated. `POST` to any path is a delivery: the body
names itself by `"n":<int>` and when it was sent by `"sentAt":<seconds>`. `GET /stats` tells counts and
latencies, `GET /log` every arrival in order, `POST /-/reset` starts over and may set a behaviour.
"""

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from typing import cast
from urllib.parse import parse_qs

import httptools
import uvloop

_NUMBER = re.compile(rb'"n"\s*:\s*(\d+)')
_SENT = re.compile(rb'"sentAt"\s*:\s*([0-9.]+)')
_OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok"
_FAILURE = b"HTTP/1.1 500 Failing\r\ncontent-length: 0\r\n\r\n"


class Record:
    """What arrived since the last reset, and how to answer."""

    def __init__(self, delay_ms: float = 0, fail_every: int = 0) -> None:
        self.delay_ms = delay_ms
        self.fail_every = fail_every
        self.requests = 0
        self.failed = 0
        self.first = self.last = 0.0
        self.log: list[tuple[str, int, float]] = []
        self.seen: Counter[tuple[str, int]] = Counter()
        self.latencies_ms: list[float] = []
        self.paths: Counter[str] = Counter()

    def arrive(self, path: str, body: bytes) -> bytes:
        """Note one delivery and return the answer to it."""
        now = time.time()
        self.requests += 1
        self.last = now
        self.first = self.first or now
        if self.fail_every and self.requests % self.fail_every == 0:
            self.failed += 1
            return _FAILURE
        number = _NUMBER.search(body)
        key = (path, int(number[1]) if number else -1)
        self.log.append((*key, now))
        self.seen[key] += 1
        self.paths[path] += 1
        if sent := _SENT.search(body):
            self.latencies_ms.append((now - float(sent[1])) * 1000)
        return _OK

    def stats(self) -> dict[str, object]:
        """Return counts, and latencies from `sentAt` to arrival in ms."""
        ordered = sorted(self.latencies_ms)

        def quantile(part: float) -> float | None:
            return (
                round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 2)
                if ordered
                else None
            )

        return {
            "received": len(self.log),
            "unique": len(self.seen),
            "duplicates": len(self.log) - len(self.seen),
            "failed": self.failed,
            "first": self.first,
            "last": self.last,
            "paths": len(self.paths),
            "leastOfAPath": min(self.paths.values(), default=0),
            "mostOfAPath": max(self.paths.values(), default=0),
            "p50Ms": quantile(0.5),
            "p95Ms": quantile(0.95),
            "p99Ms": quantile(0.99),
            "p999Ms": quantile(0.999),
        }


class Connection(asyncio.Protocol):
    """One kept connection of a sender."""

    record = Record()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by shape alone
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_url(self, url: bytes) -> None:
        self._url = url
        self._body = []

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        path, _, query = self._url.decode().partition("?")
        record = Connection.record
        if self._parser.get_method() == b"GET":
            self._answer(record.log if path == "/log" else record.stats())
        elif path == "/-/reset":
            values = parse_qs(query)
            Connection.record = Record(
                float(values.get("delayMs", ["0"])[0]), int(values.get("failEvery", ["0"])[0])
            )
            self._answer({})
        elif path.startswith("/never"):
            record.requests += 1
        else:
            answer = record.arrive(path, b"".join(self._body))
            if record.delay_ms:
                loop = asyncio.get_running_loop()
                loop.call_later(record.delay_ms / 1000, self._transport.write, answer)
            else:
                self._transport.write(answer)

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


async def serve(port: int) -> None:
    """Serve on 127.0.0.1 until cancelled; print the port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", port, backlog=4096)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=0)
    uvloop.run(serve(arguments.parse_args().port))
