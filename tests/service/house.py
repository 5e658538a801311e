"""A whole server within the test's process: the real composition, a real database, real sockets.

Every answer is checked against the OpenAPI document. A server refuses requests if its configuration has
not been confirmed for some time. In tests this time is longer than in production, because the database
of a busy computer can take seconds to confirm the configuration.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest import mock

import trio

from api.composition import Server
from engine.control.keys import KeyCommands
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from engine.settings import Settings
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller, Response
from tests.api.issued import Issued, logged
from tests.patience import HANGS_S

FINISHED = ("DELIVERED", "FAILED", "DRY_RUN")
LOOK_EVERY_S = 0.01
RARELY_S = 0.05  # the interval after a long wait, to leave the CPU to the awaited work


class ServiceHouse:
    """A running server and its callers."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.door = server.door
        self.streams: list[trio.SocketStream] = []
        self.issued = Issued()
        self.keys = KeyCommands(server.tables.tenants, server.tables.keys, server.writer)

    async def tenant(self, name: str, plan: str = "scale") -> Tenant:
        return await self.keys.create_workspace(name, plan)

    async def caller(
        self,
        tenant: Tenant,
        scope: Scope = Scope.MANAGE,
        environment: Environment | None = Environment.DEVELOPMENT,
        **headers: str,
    ) -> Caller:
        """Create a key and return a caller that uses it. A key without an environment is an MCP key."""
        made = await self.keys.create(tenant, scope, environment, "a test's")
        return self.caller_with(made.secret, **headers)

    def caller_with(self, secret: str | None, **headers: str) -> Caller:
        return Caller(self, secret, headers)

    async def until(
        self, caller: Caller, path: str, condition: Any, within_s: float = HANGS_S
    ) -> Any:
        """Poll `path` until `condition` of its JSON holds, then return the JSON."""
        pause_s = LOOK_EVERY_S
        with trio.fail_after(within_s):
            while True:
                answer: Response = await caller("GET", path)
                assert answer.status == 200, answer
                if condition(answer.json):
                    return answer.json
                await trio.sleep(pause_s)
                pause_s = min(pause_s * 1.5, RARELY_S)

    async def settled(self, caller: Caller, delivery: str) -> Any:
        return await self.until(
            caller, f"/deliveries/{delivery}", lambda found: found["status"] in FINISHED
        )


async def browser_of(house: ServiceHouse, api: Caller, customer: str = "ada") -> Caller:
    made = await api("POST", "/embed/sessions", {"customerExternalId": customer})
    return house.caller_with(made.json["token"])


async def destination(caller: Caller, url: str, types: list[str] | None = None, **more: Any) -> str:
    """Create a destination with a rule for `types` (default: all types)."""
    made = await caller("POST", "/destinations", {"name": "a test's", "url": url, **more})
    assert made.status == 201, made.body
    rule = {"name": "r", "destinationId": made.json["id"], "eventTypes": types or ["*"]}
    ruled = await caller("POST", "/routing-rules", rule)
    assert ruled.status == 201, ruled.body
    return str(made.json["id"])


async def post(caller: Caller, event_type: str = "e.one", **fields: Any) -> str:
    told = await caller("POST", "/events", {"eventType": event_type, "payload": {}, **fields})
    assert told.status == 202, told.body
    return str(told.json["id"])


@asynccontextmanager
async def open_service(
    bridge: Bridge, within_s: float = HANGS_S, **settings: Any
) -> AsyncIterator[ServiceHouse]:
    async with open_with(bridge, SecretBox([b"k" * 32]), within_s, **settings) as house:
        yield house


@asynccontextmanager
async def open_with(
    bridge: Bridge, box: SecretBox, within_s: float = HANGS_S, **settings: Any
) -> AsyncIterator[ServiceHouse]:
    with tempfile.TemporaryDirectory(prefix="angarium-service-") as folder:
        async with _open_service(bridge, within_s, box, {"data_dir": folder, **settings}) as house:
            yield house


@asynccontextmanager
async def _open_service(
    bridge: Bridge, within_s: float, box: SecretBox, settings: dict[str, Any]
) -> AsyncIterator[ServiceHouse]:
    given = {
        "bind": "127.0.0.1:0",
        "egress_allow": "127.0.0.0/8",
        "shutdown_grace": 5.0,
        **settings,
    }
    server = Server(Settings.model_validate(given), bridge, box, None)
    await server.prepare()
    house = ServiceHouse(server)
    with logged(house.issued), mock.patch("engine.runtime.freshness.STALE_S", HANGS_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(server.supervisor.run)
            try:
                with trio.fail_after(within_s):
                    # Wait until the first reload of the models has ended. Tests create keys directly in
                    # the database. A reload that read the keys earlier would remove a new key from the
                    # models.
                    await server.changes.reloaded.wait()
                    yield house
            finally:
                for stream in house.streams:
                    stream.socket.close()
                with trio.CancelScope(shield=True):
                    await server.stop()
