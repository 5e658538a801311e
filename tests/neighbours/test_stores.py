"""A file store that hangs holds its uploads, and neither events nor what is asked of the database."""

import threading
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.model.configuration import Tenant
from storage.files.blobs import ObjectBlobs
from tests.api.house import Caller
from tests.files.sending import raw
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

UPLOADS = 4


async def test_uploads_to_a_store_that_hangs_keep_no_event_waiting(
    house: ServiceHouse,
    tenant: Tenant,
    api: Caller,
    neighbour: Caller,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let, held = threading.Event(), list[str]()
    kind = type(house.server.filing.blobs)
    put: Any = kind._put

    def hanging(self: ObjectBlobs, key: str, path: Path) -> None:
        held.append(key)
        let.wait(HANGS_S)
        put(self, key, path)

    monkeypatch.setattr(kind, "_put", hanging)
    await destination(neighbour, receiver.url(), ["fine"])
    statuses: list[int] = []

    async def upload(caller: Caller, content: bytes) -> None:
        statuses.append((await raw(caller, content)).status)

    async with trio.open_nursery() as nursery:
        for number in range(UPLOADS):
            caller = await house.caller(tenant)  # a connection of its own
            nursery.start_soon(upload, caller, b"%d" % number)
        with trio.fail_after(HANGS_S):
            while len(held) < UPLOADS:
                await wait_all_tasks_blocked(0.001)
        try:
            event = await post(neighbour, "fine")
            with trio.fail_after(HANGS_S):
                await receiver.reaches(1)
            # Of the tenant itself only its files wait.
            assert (await api("GET", f"/events/{event}")).status == 404
            assert (await api("GET", "/files")).status == 200
            await post(api, "other")
            assert statuses == []
        finally:
            let.set()
    assert statuses == [202] * UPLOADS
