"""The listener for operations.

It shares nothing with the door, so it answers while the door is full. It only reads.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

import orjson
import structlog
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from hypercorn.typing import ASGIFramework

from api.metrics.dead_letters import DeadLetterCount
from api.metrics.exposition import Exposition
from engine.plans.plans import Visibility
from storage.log.troubles import PostgresTroubles

if TYPE_CHECKING:
    from api.composition import Server

CONNECTIONS = 32  # requests at once: probes, and one or two operators
UNSTORED = (b"cache-control", b"no-store")
REFUSED = (b"www-authenticate", b"Bearer")
READING = ("GET", "HEAD")
PROBES = ("/livez", "/readyz")  # they send no key
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

log = structlog.get_logger("angarium")


async def operate(
    server: "Server", task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve until cancelled; return at once without an address."""
    bind = server.settings.operations_bind
    task_status.started()
    if bind is None:
        return
    config = Config()
    config.bind = [bind]
    config.accesslog = None
    config.include_server_header = False
    config.h2_max_concurrent_streams = 1
    visibility = Visibility(server.plans, server.clock.now)
    troubles = PostgresTroubles(server.bridge.pool)
    counted = DeadLetterCount(server.models, server.part, visibility, troubles)
    app = cast("ASGIFramework", OperationsServer(server, counted.sizes))
    log.info("operations.served", address=bind)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(counted.keep_counting)
        await serve(app, config, shutdown_trigger=trio.sleep_forever, mode="asgi")


class OperationsServer:
    """The ASGI application of three documents, and metrics."""

    def __init__(self, server: "Server", dead_letters: Mapping[int, int]) -> None:
        self._server = server
        self._at_once = trio.CapacityLimiter(CONNECTIONS)
        self._metrics = Exposition(server, dead_letters)
        key = server.settings.operations_key
        self._authorization = None if key is None else f"Bearer {key}".encode()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            raise ValueError("the address for operations serves only HTTP")
        given = dict(scope["headers"])
        async with self._at_once:
            if not self._allowed(scope["path"], given.get(b"authorization", b"")):
                body = orjson.dumps({"error": "unauthenticated"})
                status, headers = 401, [(b"content-type", b"application/json"), UNSTORED, REFUSED]
            elif scope["path"] == "/metrics" and scope["method"] in READING:
                accept = given.get(b"accept", b"").decode("latin-1")
                body, content_type = await self._metrics.text(accept)
                status, headers = 200, [(b"content-type", content_type.encode()), UNSTORED]
            else:
                status, document = self._answer(scope["method"], scope["path"])
                body = orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS)
                headers = [(b"content-type", b"application/json"), UNSTORED]
            start = {"type": "http.response.start", "status": status, "headers": headers}
            await send(start)
            await send({"type": "http.response.body", "body": body})

    def _allowed(self, path: str, authorization: bytes) -> bool:
        wanted = self._authorization
        return wanted is None or path in PROBES or hmac.compare_digest(authorization, wanted)

    def _answer(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        if method not in READING:
            return 405, {"error": "method_not_allowed"}
        if path == "/livez":
            return 200, {"status": "ok"}
        if path == "/readyz":
            reasons = self._server.unready()
            return (503, {"status": reasons}) if reasons else (200, {"status": "ok"})
        if path == "/process":
            return 200, self._process()
        return 404, {"error": "not_found"}

    def _process(self) -> dict[str, Any]:
        server = self._server
        watch = server.watch.statistics()
        return {
            "loop": {
                "limitMs": watch.limit_s * 1000,
                "longSteps": watch.long_steps,
                "longestStepMs": round(watch.longest_s * 1000, 3),
                "mostStepCpuMs": round(watch.most_cpu_s * 1000, 3),
            },
            "door": asdict(server.door.statistics()),
            "children": [
                {"name": each.name, "restarts": each.restarts}
                for each in server.supervisor.statistics()
            ],
        }


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
