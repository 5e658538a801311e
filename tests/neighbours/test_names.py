"""Name servers that never answer. The look-ups of one workspace occupy a limited share of the resolver's
threads, so the look-ups of other workspaces continue."""

import socket
import threading
from typing import Any

import pytest
import trio

from engine.wire.resolver import THREADS_WORKSPACE
from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.wire.street import until

NAMES = THREADS_WORKSPACE + 2


async def test_names_that_hang_keep_no_other_workspace_waiting(
    house: ServiceHouse,
    api: Caller,
    neighbour: Caller,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let, system = threading.Event(), socket.getaddrinfo

    def lookup(host: Any, *arguments: Any, **named: Any) -> Any:
        if str(host).endswith(".hangs.test"):
            let.wait(HANGS_S)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return system(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    try:
        async with trio.open_nursery() as nursery:
            # Other workspaces' changes do not wait for these lookups.
            for number in range(NAMES):
                url = f"http://{number}.hangs.test/hook"
                nursery.start_soon(destination, api, url, [f"hangs.{number}"])
            await until(lambda: house.server.wire.statistics().lookups == THREADS_WORKSPACE)
            await destination(neighbour, f"http://localhost:{receiver.port}/hook", ["fine"])
        for number in range(NAMES):
            await post(api, f"hangs.{number}")
        await until(lambda: house.server.wire.statistics().lookups == THREADS_WORKSPACE)
        for number in range(5):
            await post(neighbour, "fine")
            with trio.fail_after(HANGS_S):
                await receiver.reaches(number + 1)
        assert house.server.wire.statistics().lookups == THREADS_WORKSPACE
    finally:
        let.set()
