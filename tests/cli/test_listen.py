"""`angarium listen`: it answers like a real receiver, and escapes a request's control characters, except
newlines."""

import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
import httpx
import pytest
import trio

import angarium
from api.cli import receiver
from api.cli.listen import LocalListener

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
BODY = b'{"type":"order.created","data":{"n":1}}'


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(click, "echo", lambda line, err: lines.append(line))
    return lines


@asynccontextmanager
async def listening(listener: LocalListener) -> AsyncIterator[httpx.AsyncClient]:
    async with trio.open_nursery() as nursery:
        sockets = await receiver.listen("127.0.0.1", 0)
        nursery.start_soon(receiver.receive, sockets, listener.respond)
        address = f"http://127.0.0.1:{receiver.port_of(sockets)}"
        async with httpx.AsyncClient(base_url=address, trust_env=False) as client:
            yield client
        nursery.cancel_scope.cancel()


def signed(body: bytes = BODY, message: str = "msg_1") -> dict[str, str]:
    now = int(time.time())
    return {
        "Webhook-Id": message,
        "Webhook-Timestamp": str(now),
        "Webhook-Signature": angarium.sign(body, SECRET, message, now),
        "Angarium-Attempt": "2",
    }


async def test_a_genuine_webhook_is_printed_and_accepted(printed: list[str]) -> None:
    async with listening(LocalListener(secrets=(SECRET,))) as client:
        answer = await client.post("/hooks?a=1", content=BODY, headers=signed())
    assert answer.status_code == 200
    text = "\n".join(printed)
    assert "POST /hooks?a=1  answered 200" in text
    assert "event msg_1, attempt 2, signature verified" in text
    assert '"n": 1' in text


async def test_one_that_is_not_genuine_is_refused_and_said_so(printed: list[str]) -> None:
    async with listening(LocalListener(secrets=(SECRET,))) as client:
        answer = await client.post("/", content=BODY + b" ", headers=signed())
    assert answer.status_code == 400
    assert "signature REFUSED" in "\n".join(printed)


async def test_without_a_secret_nothing_is_claimed(printed: list[str]) -> None:
    async with listening(LocalListener()) as client:
        assert (await client.post("/", content=b"\xff\x00")).status_code == 200
    assert "not verified" in "\n".join(printed)


async def test_the_secret_file_may_appear_later(printed: list[str], tmp_path: Path) -> None:
    file = tmp_path / "hook.secret"
    async with listening(LocalListener(secret_file=file)) as client:
        await client.post("/", content=BODY, headers=signed())
        file.write_text(SECRET + "\n")
        await client.post("/", content=BODY, headers=signed())
    said = [line for line in printed if "event msg_1" in line]
    assert "not verified" in said[0]
    assert "signature verified" in said[1]
    assert "seen before" in said[1]


async def test_it_fails_as_often_as_it_is_told(printed: list[str]) -> None:
    async with listening(LocalListener(failures_left=2, status=202)) as client:
        statuses = [(await client.post("/", content=BODY)).status_code for _ in range(4)]
    assert statuses == [500, 500, 202, 202]


async def test_control_characters_of_a_stranger_do_not_reach_the_terminal(
    printed: list[str],
) -> None:
    async with listening(LocalListener()) as client:
        await client.post("/", content=b"\x1b[2J\x07hello")
        await client.post("/", content=json.dumps({"a": "\x1b[2J\u202e"}).encode())
    text = "\n".join(printed)
    assert "hello" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


async def test_a_long_body_is_cut(printed: list[str]) -> None:
    async with listening(LocalListener()) as client:
        await client.post("/", content=b"x" * 100_000)
    assert "(100000 bytes)" in "\n".join(printed)
    assert len("\n".join(printed)) < 5_000


async def test_garbage_gets_a_400_and_the_receiver_lives(printed: list[str]) -> None:
    async with listening(LocalListener()) as client:
        port = client.base_url.port
        assert port is not None
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(b"\x00\x01 nonsense\r\n\r\n")
        assert b"400" in await stream.receive_some(1000)
        await stream.aclose()
        assert (await client.post("/", content=BODY)).status_code == 200
