"""Answered requests leave no garbage and use no threads.

Otherwise a client with many requests would delay others. Python's garbage collector stops all requests
while it runs, and threads compete for the interpreter's lock.
"""

import weakref
from typing import Any

import pytest
import trio
from quart import request

from tests.api.house import Caller, House
from tests.postgres import eventually

ASKED = [
    ("GET", "/livez", 200),
    ("GET", "/deliveries", 200),
    ("GET", "/nowhere", 404),
    ("PUT", "/deliveries", 405),
    ("GET", "/deliveries?limit=none", 400),
    ("POST", "/routing-rules", 400),
]


@pytest.mark.usefixtures("uncollected")
async def test_a_request_is_gone_once_it_was_answered(house: House, api: Caller) -> None:
    seen: list[weakref.ref[Any]] = []
    house.door.heads = None  # the application answers every request, as over HTTP/2

    async def look() -> None:
        seen.append(weakref.ref(request._get_current_object()))  # type: ignore[attr-defined]  # a proxy's

    house.app.before_request_funcs[None].insert(0, look)  # before the head is judged

    async def gone() -> bool:
        return seen[-1]() is None

    for number, (method, path, status) in enumerate(ASKED, 1):
        body = b"{}" if method == "POST" else None
        answer = await api(method, path, body=body, check=path != "/nowhere")
        assert (answer.status, len(seen)) == (status, number)
        await eventually(gone)


async def test_requests_take_no_thread(api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[object] = []
    threaded = trio.to_thread.run_sync

    async def run_sync(function: Any, *arguments: Any, **options: Any) -> Any:
        taken.append(function)
        return await threaded(function, *arguments, **options)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_sync)
    for path in ("/livez", "/deliveries", "/routing-rules", "/nowhere"):
        await api("GET", path, check=path != "/nowhere")
    assert taken == []
