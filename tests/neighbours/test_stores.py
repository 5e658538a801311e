"""A file store that does not answer. Uploads to the store wait, but events and the API's other requests
do not."""

import threading
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from storage.files.blobs import ObjectBlobs
from tests.api.house import Caller
from tests.files.s3 import Bucket, open_bucket
from tests.files.sending import raw
from tests.patience import HANGS_S
from tests.service.house import LOOK_EVERY_S, ServiceHouse, destination, open_service, post
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
            caller = await house.caller(tenant)  # a separate connection
            nursery.start_soon(upload, caller, b"%d" % number)
        with trio.fail_after(HANGS_S):
            while len(held) < UPLOADS:
                await wait_all_tasks_blocked(0.001)
        try:
            event = await post(neighbour, "fine")
            with trio.fail_after(HANGS_S):
                await receiver.reaches(1)
            # Even for the tenant itself, only its files wait.
            assert (await api("GET", f"/events/{event}")).status == 404
            assert (await api("GET", "/files")).status == 200
            await post(api, "other")
            assert statuses == []
        finally:
            let.set()
    assert statuses == [202] * UPLOADS


async def test_a_bucket_that_never_answers_keeps_no_neighbour_waiting(
    bridge: Bridge, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    with open_bucket() as bucket:
        setting = f"s3://bucket?region=eu-x&endpoint={bucket.url}&allow_http=true"
        async with open_service(bridge, file_store=setting) as house:
            tenant = await house.tenant("acme")
            api = await house.caller(tenant)
            neighbour = await house.caller(await house.tenant("neighbour"))
            await destination(neighbour, receiver.url(), ["fine"])
            kept = await raw(api, b"kept")
            assert kept.status == 202
            asked, bucket.hanging = len(bucket.requests), True
            statuses: list[int] = []

            async def upload(caller: Caller, content: bytes) -> None:
                statuses.append((await raw(caller, content)).status)

            async def download(caller: Caller) -> None:
                told = await caller("GET", f"/files/{kept.json['id']}/content")
                statuses.append(told.status)

            async with trio.open_nursery() as nursery:
                for number in range(UPLOADS):
                    nursery.start_soon(upload, await house.caller(tenant), b"%d" % number)
                    nursery.start_soon(download, await house.caller(tenant))
                await _asked(bucket, asked + UPLOADS + 1)
                await post(neighbour, "fine")
                with trio.fail_after(HANGS_S):
                    await receiver.reaches(1)
                listed = await api("GET", "/files")
                assert listed.status == 200, listed.body
                await post(api, "other")
                assert statuses == []
                bucket.let.set()
            assert sorted(statuses) == [200] * UPLOADS + [202] * UPLOADS


async def test_a_server_ends_beside_a_bucket_that_never_answers(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "key")
    with open_bucket() as bucket:
        bucket.hanging = True
        setting = f"s3://bucket?region=eu-x&endpoint={bucket.url}&allow_http=true"
        statuses: list[int] = []

        async def upload(caller: Caller) -> None:
            try:
                statuses.append((await raw(caller, b"content")).status)
            except (EOFError, trio.ClosedResourceError):
                statuses.append(0)

        async with trio.open_nursery() as nursery:
            async with open_service(bridge, file_store=setting) as house:
                nursery.start_soon(upload, await house.caller(await house.tenant("acme")))
                await _asked(bucket, 1)
            assert not bucket.let.is_set(), "the server has ended all the same"
        assert 202 not in statuses


async def _asked(bucket: Bucket, times: int) -> None:
    with trio.fail_after(HANGS_S):
        while len(bucket.requests) < times:
            await wait_all_tasks_blocked(LOOK_EVERY_S)
