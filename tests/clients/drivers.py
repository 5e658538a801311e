"""The drivers of the client libraries: each makes a call by its API name and returns the result."""

import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
import trio

import angarium
from angarium.retry import RetryPolicy
from deploy.typescript import compiled

HERE = Path(__file__).parent
RENAMED = {"from": "since", "to": "until"}
TOOLS = "the TypeScript client's tests need node and npm. On Debian and Ubuntu: apt install npm"


class Driver(Protocol):
    async def __call__(
        self, method: str, *path: str, fields: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Make a call. Returns {"value"}, or {"error": {"name", "message", "status", "code", "details",
        "failed"}}."""


Open = Callable[[str, str], AbstractAsyncContextManager[Driver]]


class PythonDriver:
    def __init__(self, client: angarium.AsyncClient) -> None:
        self._client = client

    async def __call__(
        self, method: str, *path: str, fields: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        try:
            return {"value": await self._perform(method, path, dict(fields or {}))}
        except (angarium.AngariumError, ValueError) as error:
            return {
                "error": {
                    "name": type(error).__name__,
                    "message": str(error),
                    "status": getattr(error, "status", None),
                    "code": getattr(error, "code", None),
                    "details": [
                        {"path": camel(each.path), "message": each.message}
                        for each in getattr(error, "details", ())
                    ],
                    "failed": getattr(error, "failed", None),
                }
            }

    async def _perform(self, method: str, path: tuple[str, ...], fields: dict[str, Any]) -> Any:
        if method == "verify":
            body, headers, secret = fields["body"], fields["headers"], fields["secret"]
            return angarium.verify(body, headers, secret, now=fields["now"])
        if method == "sign":
            body = fields["body"].encode()
            return angarium.sign(body, fields["secret"], fields["id"], fields["timestamp"])
        if method == "produce":
            return await self._produce(fields)
        if method == "files.create":
            named = {snake(name): value for name, value in fields.items()}
            return await self._client.files.create(path[0].encode(), **named)
        found: Any = self._client
        for name in method.split("."):
            found = getattr(found, snake(name))
        if method.endswith(".update"):
            return await found(*path, fields)
        named = {snake(RENAMED.get(name, name)): value for name, value in fields.items()}
        result = found(*path, **named)
        if hasattr(result, "__aiter__"):
            return [item async for item in result]
        return await result

    async def _produce(self, fields: dict[str, Any]) -> Any:
        options = {snake(name): value for name, value in fields["options"].items()}
        async with angarium.AsyncProducer(self._client, **options) as producer:
            sent = [
                await producer.send(**{snake(name): value for name, value in event.items()})
                for event in fields["events"]
            ]
        failed = sum(each.error is not None for each in sent)
        return {"accepted": len(sent) - failed, "failed": failed}


class ScriptDriver:
    """The TypeScript client, in a process of a JavaScript runtime."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self._held = b""

    async def __call__(
        self, method: str, *path: str, fields: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        call = {"method": method, "path": path, **({} if fields is None else {"fields": fields})}
        assert self._process.stdin
        assert self._process.stdout
        await self._process.stdin.send_all(json.dumps(call).encode() + b"\n")
        while b"\n" not in self._held:
            more = await self._process.stdout.receive_some()
            assert more, "the runtime ended"
            self._held += more
        line, self._held = self._held.split(b"\n", 1)
        told: dict[str, Any] = json.loads(line)
        return told


def built(target: Path) -> Path:
    """Without node, skip, or fail in CI."""
    if not compiled(target):
        if os.environ.get("CI"):
            pytest.fail(TOOLS)
        pytest.skip(TOOLS)
    return target / "index.js"


@asynccontextmanager
async def python_driver(url: str, key: str) -> AsyncIterator[Driver]:
    retry = RetryPolicy(first_delay_s=0.001)
    async with angarium.AsyncClient(url, key, retry=retry, trust_env=False) as client:
        yield PythonDriver(client)


def script_driver(module: Path, *runtime: str | Path) -> Open:
    """Return a function that opens the TypeScript client. `runtime` is the command that runs a script."""

    @asynccontextmanager
    async def opened(url: str, key: str) -> AsyncIterator[Driver]:
        command = [*map(str, runtime), str(HERE / "driver.mjs"), str(module), url, key]
        async with trio.open_nursery() as nursery:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            process = await nursery.start(partial(trio.run_process, command, **pipes))
            try:
                yield ScriptDriver(process)
            finally:
                await process.stdin.aclose()

    return opened


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def camel(path: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), path)
