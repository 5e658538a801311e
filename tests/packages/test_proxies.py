"""nginx and HAProxy in front of a server, with the configurations that we ship."""

import http.client
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from bench.service import free_port
from tests.cli.programs import Program, environment, manage_key, running
from tests.packages.tools import ROOT, tool
from tests.postgres import eventually

CLIENT = "127.0.0.2"  # differs from the proxy's own address, 127.0.0.1
FORGED = "6.6.6.6"


def nginx(folder: Path, config: Path) -> list[str]:
    daemon = "daemon off; master_process off;"  # one process, which a signal can end
    return [
        tool("nginx", "apt-get install nginx-light"),
        "-p",
        f"{folder}",
        "-c",
        f"{config}",
        "-g",
        daemon,
    ]


def haproxy(_: Path, config: Path) -> list[str]:
    return [tool("haproxy", "apt-get install haproxy"), "-db", "-f", f"{config}"]


PROXIES = {"nginx.conf": nginx, "haproxy.cfg": haproxy}


class Ask:
    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, 30, (CLIENT, 0))
        self._key = key

    def __call__(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {
            "authorization": f"Bearer {self._key}",
            "content-type": "application/json",
            "x-forwarded-for": FORGED,
        }
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def close(self) -> None:
        self._connection.close()


@asynccontextmanager
async def behind(
    name: str, env: dict[str, str], folder: Path
) -> AsyncIterator[tuple[Program, int, int]]:
    ports = {"8080": free_port(), "8081": free_port(), "8000": free_port()}
    config = folder / name
    text = (ROOT / "deploy/proxies" / name).read_text()
    for shipped, free in ports.items():
        text = text.replace(f":{shipped}", f":{free}").replace(f"port {shipped}", f"port {free}")
    config.write_text(text)
    env |= {
        "ANGARIUM_BIND": f"127.0.0.1:{ports['8080']}",
        "ANGARIUM_OPERATIONS_BIND": f"127.0.0.1:{ports['8081']}",
        "ANGARIUM_TRUSTED_PROXIES": "127.0.0.1/32",
    }
    async with running("serve", env=env) as server:
        await server.wait_for("Next, in another terminal")
        async with running(env=env, command=PROXIES[name](folder, config)):
            yield server, ports["8080"], ports["8000"]


@pytest.mark.parametrize("name", PROXIES)
async def test_a_proxy_passes_requests_and_tells_the_clients_address(
    name: str, database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url, tmp_path)
    async with behind(name, env, tmp_path) as (server, port, through):
        key = await manage_key(env, f"http://127.0.0.1:{port}")

        async def open_for_business() -> bool:
            first = Ask(through, key)
            try:
                return (await trio.to_thread.run_sync(first, "GET", "/readyz"))[0] == 200
            except (OSError, ValueError):  # the proxy is starting, or gives its own answer
                return False
            finally:
                first.close()

        await eventually(open_for_business)
        ask, direct = Ask(through, key), Ask(port, key)
        destination = {"name": "One", "url": "https://example.com/hooks"}
        status, made_one = await trio.to_thread.run_sync(ask, "POST", "/destinations", destination)
        assert status == 201, made_one
        log = await server.wait_for("api.change_made")
        assert entry(log)["address"] == CLIENT, "what the proxy appended, not what the client wrote"
        _, entries = await trio.to_thread.run_sync(
            ask, "GET", "/audit-logs?action=destination.create"
        )
        assert entries["items"][0]["requestId"] == entry(log)["request_id"]

        status, _ = await trio.to_thread.run_sync(direct, "POST", "/destinations", destination)
        assert status == 201
        log = await server.wait_for("api.change_made", times=2)
        assert entry(log)["address"] == CLIENT, "a client without a proxy is no proxy"

        for number in range(50):
            event = {"eventType": "a.b", "payload": {"n": number, "text": "x" * 2_000}}
            status, _ = await trio.to_thread.run_sync(ask, "POST", "/events", event)
            assert status == 202
        status, refused = await trio.to_thread.run_sync(ask, "POST", "/events", {"eventType": 1})
        assert status == 400, refused
        assert FORGED not in server.printed
        ask.close()
        direct.close()


def entry(log: str) -> dict[str, Any]:
    lines = [line for line in log.splitlines() if "api.change_made" in line]
    return dict(json.loads(lines[-1]))
