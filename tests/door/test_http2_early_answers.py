"""Early answers, while the request's body is still being sent: every client must receive the status.

The tests with httpx always run. The tests with curl, Node.js and Go run where these are installed.
"""

import os
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import h2.errors
import httpx
import pytest
import trio

from api.budget import BodyBudget
from api.door.http2_protocol import STREAM_WINDOW
from engine.ingest.event_json import EVENT_BYTES
from tests.door.house import EVENT, INGEST, QUICK, READ, open_house
from tests.door.http2_client import dial
from tests.patience import HANGS_S

SIZE = 300_000
TIMES = 8
FOLDER = Path(__file__).parent / "clients"
JSON = "application/json"
# status: (key, type of the body, its size)
CASES = {
    401: (b"", JSON, SIZE),
    403: (READ, JSON, SIZE),
    413: (INGEST, JSON, SIZE),
    415: (INGEST, "text/plain", SIZE),
    503: (INGEST, JSON, EVENT_BYTES),  # no budget has room for it
}
Ask = Callable[[str, int, bytes, str], Awaitable[list[str]]]


async def by_httpx(url: str, size: int, key: bytes, kind: str) -> list[str]:
    headers = {"content-type": kind} | ({"authorization": f"Bearer {key.decode()}"} if key else {})
    async with httpx.AsyncClient(http1=False, http2=True, trust_env=False) as client:
        return [
            str(
                (
                    await client.post(f"{url}/events", content=b"x" * size, headers=headers)
                ).status_code
            )
            for _ in range(TIMES)
        ]


async def by_curl(url: str, size: int, key: bytes, kind: str) -> list[str]:
    command = ["curl", "-sS", "--http2-prior-knowledge", "-H", f"content-type: {kind}"]
    if key:
        command += ["-H", f"authorization: Bearer {key.decode()}"]
    one = ["--data-binary", "@-", "-o", "/dev/null", "-w", "%{http_code}\n", f"{url}/events"]
    found = []
    for _ in range(TIMES):
        done = await trio.run_process([*command, *one], stdin=b"x" * size, capture_stdout=True)
        found.append(done.stdout.decode().strip())
    return found


async def by_node(url: str, size: int, key: bytes, kind: str) -> list[str]:
    script = str(FOLDER / "early.js")
    return await told(["node", script, url, str(TIMES), str(size), key.decode(), kind])


async def told(command: list[str]) -> list[str]:
    done = await trio.run_process(command, capture_stdout=True)
    return [line.split(" ")[0] for line in done.stdout.decode().splitlines()]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ask]:
    found: dict[str, Ask] = {"httpx": by_httpx}
    if shutil.which("curl"):
        found["curl"] = by_curl
    if shutil.which("node"):
        found["node"] = by_node
    if shutil.which("go"):
        program = tmp_path_factory.mktemp("go") / "early"
        environment = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
        build = ["go", "build", "-o", str(program), str(FOLDER / "early.go")]
        subprocess.run(build, check=True, env=environment)

        async def by_go(url: str, size: int, key: bytes, kind: str) -> list[str]:
            return await told([str(program), url, str(TIMES), str(size), key.decode(), kind])

        found["go"] = by_go
    return found


@pytest.mark.parametrize("status", CASES)
async def test_every_client_gets_an_early_status_every_time(
    clients: dict[str, Ask], status: int
) -> None:
    key, kind, size = CASES[status]
    bodies = BodyBudget(1 << 20, 1_000) if status == 503 else None
    found = {}
    async with open_house(bodies=bodies) as house:
        url = f"http://127.0.0.1:{house.door.address[1]}"
        for name, ask in clients.items():
            found[name] = await ask(url, size, key, kind)
    assert found == dict.fromkeys(clients, [str(status)] * TIMES)


HEADERS = [("content-type", JSON)]


async def test_a_refused_body_is_read_to_its_end_up_to_a_bound() -> None:
    """The door reads the whole refused body, so the stream ends normally: the door sends no reset, and
    does not keep the stream open.
    """
    async with open_house() as house:
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        answer = await client.response(number)
        assert answer.status == 401
        sent = 0
        while sent < QUICK.http2_drain_bytes - 100_000:
            window = client.h2.local_flow_control_window(number)
            piece = min(window, 16_000)
            if not piece:
                await client.pump()
                continue
            client.h2.send_data(number, b"x" * piece)
            await client.flush()
            sent += piece
        client.h2.end_stream(number)
        await client.flush()
        authorized = [*HEADERS, ("authorization", "Bearer " + INGEST.decode())]
        assert (await client.ask("POST", "/events", authorized, EVENT)).status == 202
        assert client.reset == {}


async def test_a_refused_body_without_end_has_its_stream_reset_without_an_error() -> None:
    async with open_house() as house:
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        # The door resets the stream after `http2_drain_bytes` bytes of the body. It counts only bytes
        # that come after its answer. Up to STREAM_WINDOW bytes can come before the answer.
        needed = QUICK.http2_drain_bytes + STREAM_WINDOW
        sent = 0
        with trio.fail_after(HANGS_S):
            while number not in client.reset:
                window = client.h2.local_flow_control_window(number)
                piece = min(window, 16_000, needed - sent)
                if not piece:
                    await client.pump()
                    continue
                client.h2.send_data(number, b"x" * piece)
                await client.flush()
                sent += piece
        assert (await client.response(number)).status == 401
        assert client.reset[number] == h2.errors.ErrorCodes.NO_ERROR
        assert sent >= QUICK.http2_drain_bytes


async def test_a_refused_body_that_stays_away_has_its_stream_reset() -> None:
    async with open_house(limits=replace(QUICK, body_s=0.1)) as house:
        client = await dial(house)
        number = await client.open("POST", "/events", HEADERS, end=False)
        while number not in client.reset:
            await client.pump()
        assert (await client.response(number)).status == 401
        assert client.reset[number] == h2.errors.ErrorCodes.NO_ERROR
