"""Commands that run until they are stopped, as processes: `listen --events`, `stream` and `top`."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.terminal import Terminal, open_terminal


class Running:
    def __init__(self, process: trio.Process, output: trio.abc.ReceiveStream) -> None:
        self.process = process
        self.printed = b""
        self._output = output

    async def until(self, told: Callable[[str], object]) -> str:
        with trio.fail_after(HANGS_S):
            while not told(text := self.printed.decode("utf-8", "replace")):
                piece = await self._output.receive_some()
                assert piece, text
                self.printed += piece
        return text


@asynccontextmanager
async def running(shell: Terminal, *words: str) -> AsyncIterator[Running]:
    env = {**os.environ, **{name: value for name, value in shell.env.items() if value}}
    command = [sys.executable, "-m", "api.cli", *words]
    async with trio.open_nursery() as nursery:
        start = partial(
            trio.run_process,
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        process = await nursery.start(start)
        yield Running(process, process.stdout)
        nursery.cancel_scope.cancel()


@pytest.fixture
async def shell(house: ServiceHouse, tenant: Tenant) -> Terminal:
    return await open_terminal(house, tenant)


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGINT])
async def test_listen_makes_a_destination_for_itself_and_removes_it_at_the_end(
    shell: Terminal, api: Caller, ended_by: signal.Signals
) -> None:
    async with running(shell, "listen", "--events", "order.*") as listener:
        await listener.until(lambda text: "Listening for order.*" in text)
        (made,) = (await api("GET", "/destinations")).json["items"]
        await post(api, "order.created")
        await post(api, "cart.emptied")
        await listener.until(lambda text: "signature verified" in text)
        listener.process.send_signal(ended_by)
        text = await listener.until(lambda text: "are removed" in text)
        assert await listener.process.wait() == 0
    assert text.count("attempt 1") == 1
    assert (await api("GET", "/destinations")).json["items"] == []
    assert (await api("GET", f"/destinations/{made['id']}")).json["status"] == "ARCHIVED"
    assert (await api("GET", "/routing-rules")).json["items"] == []


async def test_listen_leaves_no_destination_where_its_rule_is_refused(
    shell: Terminal, api: Caller
) -> None:
    async with running(shell, "listen", "--events", "not a pattern") as listener:
        await listener.until(lambda text: "eventTypes" in text)
        assert await listener.process.wait() == 1
    assert (await api("GET", "/destinations")).json["items"] == []


async def test_listen_needs_a_port_or_events(shell: Terminal) -> None:
    for words in (("listen",), ("listen", "0", "--address", "http://a/")):
        async with running(shell, *words) as listener:
            assert await listener.process.wait() == 2


async def test_stream_prints_a_line_for_each_thing_that_is_told(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url(), ["a.*"])
    async with running(shell, "stream", "--topic", "throughput", "--topic", "deliveries") as stream:
        await stream.until(lambda text: '"topic": "throughput"' in text)
        await post(api, "a.one")
        await stream.until(lambda text: '"topic": "deliveries"' in text and "a.one" in text)


async def test_top_shows_destinations_in_a_terminal_and_changes_one_by_keys(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.header = lambda _: 429, b"Retry-After: 600"
    delivery: dict[str, Any] = {"retrySchedule": [600]}
    made = await destination(api, receiver.url(), ["a.*"], delivery=delivery)
    await post(api, "a.one")
    path = f"/destinations/{made}"
    await house.until(api, f"{path}/health", lambda now: now["hold"] is not None)
    env = {
        **os.environ,
        **{name: value for name, value in shell.env.items() if value},
        "TERM": "xterm",
        "LINES": "24",
        "COLUMNS": "80",
    }
    ours, theirs = pty.openpty()
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", "api.cli", "top"],
        env=env,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen, shown = bytearray(), trio.Event()

    async def look() -> None:
        while True:
            await trio.lowlevel.wait_readable(ours)
            seen.extend(os.read(ours, 4_096))
            if b"q quit" in seen:
                shown.set()

    try:
        with trio.fail_after(HANGS_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(look)
                await shown.wait()
                os.write(ours, b"+")
                await house.until(api, path, lambda now: now["delivery"]["concurrency"] == 10)
                os.write(ours, b"r")
                await house.until(api, f"{path}/health", lambda now: now["hold"] is None)
                os.write(ours, b"hy")
                await house.until(api, path, lambda now: now["status"] == "DISABLED")
                os.write(ours, b"h")
                await house.until(api, path, lambda now: now["status"] == "ACTIVE")
                nursery.cancel_scope.cancel()
            os.write(ours, b"q")
            assert await process.wait() == 0
    finally:
        process.kill()
        os.close(ours)
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b" ", bytes(seen)).decode()
    assert "PENDING" in text
    assert "RETRY_AFTER" in text


async def test_top_says_what_to_use_where_there_is_no_terminal(shell: Terminal) -> None:
    async with running(shell, "top") as top:
        await top.until(lambda text: "destinations list --watch" in text)
        assert await top.process.wait() != 0
