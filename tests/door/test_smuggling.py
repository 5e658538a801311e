"""Request smuggling over HTTP/1.1: the door answers no hidden request.

Each case of the table in `smuggling.py` is sent over a real socket: once to ingestion, and once to a path
of the application behind the door.
"""

from typing import Any

import pytest
import trio

from tests.door.house import Client, House, open_house, post
from tests.door.smuggling import BODY, ONE_MEANING, REFUSED, Page
from tests.patience import HANGS_S

PATHS = (b"/events", b"/passed/on")


class Echo:
    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise ValueError("no lifespan here")
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            more = message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def played(house: House, page: Page, path: bytes) -> list[int]:
    client = await house.connect()
    try:
        await client.send(page.data.replace(b"/lane", path))
        if page.statuses != (400,):  # otherwise the door must end the connection
            await client.stream.send_eof()  # type: ignore[attr-defined]  # a socket's
    except trio.BrokenResourceError:
        pass  # refused before all was sent
    return await statuses(client)


async def statuses(client: Client) -> list[int]:
    found = []
    while True:
        try:
            found.append((await client.response()).status)
        except (EOFError, trio.BrokenResourceError):
            assert client.buffer == b""
            await client.stream.aclose()
            return found


@pytest.mark.parametrize("path", PATHS, ids=["ingestion", "the rest"])
@pytest.mark.parametrize("book", [REFUSED, ONE_MEANING], ids=["refused", "of one meaning"])
async def test_no_hidden_request_is_answered(book: dict[str, Page], path: bytes) -> None:
    echo = Echo()
    wrong = []
    async with open_house(app=echo) as house:
        for name, page in book.items():
            echo.bodies.clear()
            house.ingest.bodies.clear()
            with trio.move_on_after(HANGS_S) as waiting:
                found = await played(house, page, path)
            if waiting.cancelled_caught:
                wrong.append(f"{name}: the connection stays open")
                continue
            taken = house.ingest.bodies if path == b"/events" else echo.bodies
            if BODY in house.ingest.bodies or BODY in echo.bodies:
                wrong.append(f"{name}: what was hidden was served")
            elif (tuple(found), tuple(taken)) != (page.statuses, page.bodies):
                wrong.append(f"{name}: {found}, {taken}")
        assert wrong == [], "\n".join(wrong)
        house.ingest.bodies.clear()
        assert (await house.ask(post())).status == 202
        assert len(house.ingest.bodies) == 1
