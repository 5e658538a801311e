"""Clients that send requests to every endpoint and read no answer. Their answers use a bounded amount of
memory, and another workspace's requests and events continue."""

import re
import socket

import trio
from trio.testing import wait_all_tasks_blocked

from api.table import ROUTES
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

EACH = 10  # the number of requests on each connection, whose answers are not read
NONE = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
PATHS = sorted(
    {re.sub(r"\{\w+\}", NONE, route.path) for route in ROUTES if route.method == "GET"}
    | {"/openapi.json", "/docs", "/console", "/healthz", "/readyz"}
)


async def test_readers_of_every_endpoint_that_read_nothing_hold_no_slot(
    house: ServiceHouse, tenant: Tenant, neighbour: Caller, receiver: Receiver
) -> None:
    key = await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "a test's")
    api = house.caller_with(key.secret)
    await destination(api, receiver.url(), ["fine"])
    await destination(neighbour, receiver.url(), ["fine"])
    await post(api, "fine")
    await receiver.reaches(1)
    crowd = [await _unread(house, path, key.secret) for path in PATHS]
    door = house.server.door
    await wait_all_tasks_blocked(0.01)
    assert door.statistics().untaken_bytes <= house.server.settings.answer_bytes // 2
    assert (await neighbour("GET", "/destinations")).status == 200
    assert (await neighbour("GET", "/events")).status == 200
    await post(neighbour, "fine")
    with trio.fail_after(HANGS_S):
        await receiver.reaches(2)
    for each in crowd:
        each.close()
    with trio.fail_after(HANGS_S):
        while door.statistics().untaken_bytes:
            await wait_all_tasks_blocked(0.01)


async def _unread(house: ServiceHouse, path: str, secret: str) -> trio.socket.SocketType:
    sock = trio.socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    await sock.connect(house.door.address)
    head = f"GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n\r\n"
    await trio.SocketStream(sock).send_all(head.encode() * EACH)
    return sock
