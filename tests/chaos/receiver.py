"""Receivers in a process of their own: each request is in the log on disk before it is answered.

    python -m tests.chaos.receiver

Commands set how each path answers. In the modes `ok` and `slow`, each request gets a complete 200. In the
mode `flap`, chance decides whether a request gets one. In the other modes, no request gets a complete
200.

The log has up to three lines for a request. The first line says that the request arrived. The second line
says that a 200 is about to be written. The third line says whether the 200 was written.
"""

import hashlib
import json
import os
import random
import socket
import struct
import sys
import time
from contextlib import suppress
from typing import Any

import trio

from tests.chaos.tool import answer

RESET = struct.pack("ii", 1, 0)
READ = 64 * 1024
SLOW_S = (0.05, 0.6)
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
FAILED = b"HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\nno"
CUT = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nbut no more than this"
GARBAGE = (
    b"\x00\xff\x16\x03\x01 this is not HTTP\r\n\r\n",
    b"HTTP/9.9 wonderful\r\n\r\n",
    b"HTTP/1.1 200\x00 OK\r\ncontent-length: -2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
)
HELD = "stall"


class Receiver:
    """The receiver of one port: it logs every request, and then answers it as its path's mode says."""

    def __init__(self, log: str, seed: int) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._log = os.open(log, flags, 0o600)
        self._chance = random.Random(seed)
        self._modes: dict[str, str] = {}
        self._changed = trio.Event()
        self._count = 0

    def behave(self, path: str, mode: str) -> None:
        self._modes[path] = mode
        self._changed.set()
        self._changed = trio.Event()

    async def take(self, stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            buffer = bytearray()
            while (request := await self._read(stream, buffer)) is not None:
                if not await self._answered(stream, *request):
                    break
        await stream.aclose()

    async def _read(
        self, stream: trio.SocketStream, buffer: bytearray
    ) -> tuple[str, dict[str, str], bytes] | None:
        while (end := buffer.find(b"\r\n\r\n")) < 0:
            data = await stream.receive_some(READ)
            if not data:
                return None
            buffer += data
        first, *lines = buffer[:end].decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        whole = end + 4 + int(headers["content-length"])
        while len(buffer) < whole:
            data = await stream.receive_some(READ)
            if not data:
                return None
            buffer += data
        body = bytes(buffer[end + 4 : whole])
        del buffer[:whole]
        return first.split()[1], headers, body

    async def _answered(
        self, stream: trio.SocketStream, path: str, headers: dict[str, str], body: bytes
    ) -> bool:
        mode = self._modes.get(path, "ok")
        if mode == "flap":
            mode = self._chance.choice(("ok", "fail"))
        told = json.loads(body)
        data = told["data"]
        self._count += 1
        number = self._count
        self._note(
            {
                "k": number,
                "run": os.getpid(),
                "path": path,
                "n": data.get("n") or data.get("fileName"),
                "event": headers["webhook-id"],
                "inside": told["id"],
                "delivery": headers["angarium-delivery-id"],
                "attempt": int(headers["angarium-attempt"]),
                "sha": hashlib.sha256(body).hexdigest()[:16],
                "mode": mode,
                "at": time.monotonic(),
                "age": int(time.time()) - int(headers["webhook-timestamp"]),
            }
        )
        if mode == "slow":
            await trio.sleep(self._chance.uniform(*SLOW_S))
        elif mode == HELD:
            while self._modes.get(path) == HELD:
                await self._changed.wait()
        if mode in ("ok", "slow"):
            # If this process is killed between the line "answering" and the next line for this request,
            # nobody knows if the answer was sent.
            self._tell_of(number, "answering")
            try:
                await stream.send_all(OK)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                self._tell_of(number, "unanswered")
                raise
            self._tell_of(number, "answered")
            return True
        if mode == "fail":
            await stream.send_all(FAILED)
            return True
        if mode == "garbage":
            await stream.send_all(self._chance.choice(GARBAGE))
        elif mode == "cut":
            await stream.send_all(CUT)
        else:
            with suppress(OSError):
                stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        return False

    def _tell_of(self, number: int, what: str) -> None:
        self._note({"k": number, "run": os.getpid(), what: time.monotonic()})

    def _note(self, line: dict[str, Any]) -> None:
        os.write(self._log, json.dumps(line, separators=(",", ":")).encode() + b"\n")


async def main() -> None:
    plan = json.loads(sys.stdin.readline())
    receiver = Receiver(plan["log"], plan["seed"])
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(plan["port"], host="127.0.0.1", backlog=1024)
        nursery.start_soon(trio.serve_listeners, receiver.take, listeners)
        answer({"port": listeners[0].socket.getsockname()[1]})
        while line := await trio.to_thread.run_sync(sys.stdin.readline):
            told = json.loads(line)
            receiver.behave(told["path"], told["mode"])
            answer()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
