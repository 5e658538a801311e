"""Real exhaustion of descriptors, in a separate process."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import trio

from api.door.limits import limits_for
from tests.door.house import Client, post
from tests.patience import HANGS_S

ROOT = Path(__file__).parents[2]


class Lines:
    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._read = b""

    async def next(self) -> bytes:
        while b"\n" not in self._read:
            data = await self._stream.receive_some()
            if not data:
                return self._read
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line


async def test_the_listener_rests_when_descriptors_run_out_and_goes_on() -> None:
    async with trio.open_nursery() as nursery:
        process: trio.Process = await nursery.start(
            partial(
                trio.run_process,
                [sys.executable, "-m", "tests.door.exhausted"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with trio.fail_after(HANGS_S):
            printed = Lines(process.stdout)
            port = int(await printed.next())
            kept = Client(await trio.open_tcp_stream("127.0.0.1", port))
            await kept.send(post())
            assert (await kept.response()).status == 202
            # Each connection sends half of a request. Without it, the connections would be idle, and the
            # door could close them.
            crowd = [await trio.open_tcp_stream("127.0.0.1", port) for _ in range(60)]
            for stream in crowd:
                await stream.send_all(b"POST /events HTTP/1.1\r\n")
            assert await printed.next() == b"rests"
            for stream in crowd:
                await stream.aclose()
            late = Client(await trio.open_tcp_stream("127.0.0.1", port))
            await late.send(post())
            assert (await late.response()).status == 202
            await late.stream.aclose()
            await kept.stream.aclose()
            await process.stdin.aclose()
            assert await printed.next() == b"True 0"
            assert await printed.next() == b""


def test_the_inbound_share_bounds_the_connections() -> None:
    assert 1 <= limits_for(0.0001).connections < limits_for(0.4).connections
