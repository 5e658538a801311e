"""Downloads from the real service: ranges, conditions, bad tokens, and content that could act as a
page."""

import base64
import hashlib
import os
from typing import Any

import pytest

from storage.database.bridge import Bridge
from tests.api.house import Caller, Response
from tests.cases import each_case
from tests.files_delivery.source import Origin
from tests.service.house import ServiceHouse, destination, open_service
from tests.service.receiver import Receiver

CONTENT = os.urandom(200_001)
SIZE = len(CONTENT)
TAG = f'"{hashlib.sha256(CONTENT).hexdigest()}"'


class Stranger:
    def __init__(self, house: ServiceHouse, api: Caller, url: str, file: str) -> None:
        self.path = "/" + url.partition("//")[2].partition("/")[2]
        self.file = file
        self.api = api
        self._caller = house.caller_with(None)

    async def __call__(self, method: str = "GET", **headers: str) -> Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self._caller(method, self.path, headers=given)

    async def keyed(self, method: str = "GET", **headers: str) -> Response:
        """Send the same request with a key, to the file's id."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.api(method, f"/files/{self.file}/content", headers=given)


@pytest.fixture
async def stranger(house: ServiceHouse, api: Caller) -> Stranger:
    return await given_url(house, api, content=CONTENT, fileName="a.bin")


async def given_url(house: ServiceHouse, api: Caller, content: bytes, **fields: Any) -> Stranger:
    told = await api("POST", "/files", {"content": base64.b64encode(content).decode(), **fields})
    assert told.status == 202, told.body
    file = told.json["id"]
    (environment,) = (await house.server.bridge.pool.fetch_row(
        "SELECT environment FROM files WHERE id = $1", file
    ) or (0,))  # fmt: skip
    return Stranger(house, api, house.server.carrying.urls.url(environment, file), file)


RANGES = [
    ("bytes=0-99", 206, 0, 100),
    ("bytes=-100", 206, SIZE - 100, SIZE),
    ("bytes=100000-", 206, 100_000, SIZE),
    ("bytes=0-999999", 206, 0, SIZE),
    ("bytes=0-1,5-6", 200, 0, SIZE),
    ("bytes=9-1", 200, 0, SIZE),
    ("lines=1-2", 200, 0, SIZE),
]


async def test_parts_are_what_was_asked_for(stranger: Stranger) -> None:
    for ask in (stranger, stranger.keyed):
        for wanted, status, start, end in RANGES:
            answer = await ask(Range=wanted)
            assert answer.status == status, wanted
            assert answer.body == CONTENT[start:end]
            assert answer.headers["content-length"] == str(end - start)
            whole = f"bytes {start}-{end - 1}/{SIZE}"
            assert answer.headers.get("content-range") == (whole if status == 206 else None)
        beyond = await ask(Range=f"bytes={SIZE}-")
        assert (beyond.status, beyond.code) == (416, "range_not_satisfiable")
        assert beyond.headers["content-range"] == f"bytes */{SIZE}"


async def test_conditions_spare_what_the_caller_has(stranger: Stranger) -> None:
    first = await stranger()
    assert first.headers["etag"] == TAG
    assert first.headers["accept-ranges"] == "bytes"
    digest = base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()
    assert first.headers["repr-digest"] == f"sha-256=:{digest}:"
    known = await stranger(If_None_Match=TAG)
    assert (known.status, known.body) == (304, b"")
    assert known.headers["etag"] == TAG
    assert "content-type" not in known.headers
    assert (await stranger(If_None_Match='"other"')).status == 200
    assert (await stranger(Range="bytes=0-9", If_Range=TAG)).status == 206
    assert (await stranger(Range="bytes=0-9", If_Range='"other"')).body == CONTENT


async def test_head_tells_all_but_the_bytes(stranger: Stranger) -> None:
    for ask in (stranger, stranger.keyed):
        head, whole = await ask("HEAD"), await ask()
        assert (head.status, head.body) == (200, b"")
        told = {"content-length", "content-type", "etag", "repr-digest", "content-disposition"}
        for name in told:
            assert head.headers[name] == whole.headers[name]
        assert (await ask("HEAD", Range="bytes=0-9")).headers["content-length"] == str(SIZE)


async def test_an_empty_file_is_one_too(house: ServiceHouse, api: Caller) -> None:
    stranger = await given_url(house, api, b"", fileName="empty.txt", contentType="text/plain")
    answer = await stranger()
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == "0"
    assert (await stranger(Range="bytes=0-")).status == 416


PAGES = [
    ("text/html", b"<script>alert(1)</script>", "x.html"),
    ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "x.svg"),
    ("application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'/>", "x.xhtml"),
    ("text/xml", b"<?xml-stylesheet href='evil.xsl'?><a/>", "x.xml"),
    ("application/javascript", b"alert(1)", "x.js"),
    ("image/png", b"<html><script>alert(1)</script>", "x.png"),
    ("text/plain; charset=utf-7", b"+ADw-script+AD4-", "x.txt"),
    ("application/pdf", b"%PDF-1.4 <script>", 'a"\u202efdp.exe'),
    ("text/plain", b"x", "../../a/b\\c\u2028.txt"),
]


@each_case(("content_type", "content", "name"), PAGES)
async def test_no_content_is_ever_a_page_of_ours(
    house: ServiceHouse, api: Caller, content_type: str, content: bytes, name: str
) -> None:
    stranger = await given_url(house, api, content, contentType=content_type, fileName=name)
    for ask in (stranger, stranger.keyed):
        answer = await ask()
        assert answer.body == content
        headers = answer.headers
        assert headers["content-disposition"].startswith('attachment; filename="')
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "default-src 'none'; sandbox"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "private, no-store"
        essence = headers["content-type"].partition(";")[0]
        assert essence not in ("text/html", "text/xml", "image/svg+xml", "application/xhtml+xml")
        assert "javascript" not in essence
        for value in headers.values():
            assert "\u202e" not in value
            assert ".." not in value.partition("filename")[2].partition(";")[0].strip('="')[:2]


async def test_a_bad_token_is_a_path_that_does_not_exist(
    house: ServiceHouse, stranger: Stranger
) -> None:
    token = stranger.path.rpartition("/")[2]
    other = house.server.carrying.urls.url(1_000_000, stranger.file).rpartition("/")[2]
    caller = house.caller_with(None)
    found = set()
    for bad in ("x", "A" * 80, token[:-1] + ("A" if token[-1] != "A" else "B"), token + "A", other):
        answer = await caller("GET", f"/downloads/{bad}")
        assert answer.status == 404
        found.add((answer.code, answer.json["message"]))
    assert len(found) == 1  # the same answer for any fault
    assert (await caller("POST", stranger.path)).status == 405
    assert (await caller("OPTIONS", stranger.path)).status == 204


async def test_a_file_that_is_gone_has_no_url(stranger: Stranger, house: ServiceHouse) -> None:
    assert (await stranger()).status == 200
    await house.server.bridge.pool.fetch("DELETE FROM files")
    assert (await stranger()).status == 404
    assert (await stranger.keyed()).status == 404


async def test_content_that_is_lost_is_an_error_and_no_answer_that_breaks_off(
    stranger: Stranger, house: ServiceHouse
) -> None:
    folder = house.server.settings.data_dir / "files"
    for path in [each for each in folder.rglob("*") if len(each.name) == 64]:
        path.unlink()
    assert ((await stranger()).status, (await stranger()).code) == (500, "internal")


async def test_urls_expire_and_are_in_no_log(bridge: Bridge, receiver: Receiver) -> None:
    async with open_service(
        bridge, file_url_lifetime=60, public_url="https://files.example/a/"
    ) as house:
        api = await house.caller(await house.tenant("acme"))
        await destination(api, receiver.url())
        told = await api("POST", "/files", {"content": "aGk="})
        assert told.status == 202
        (request,) = await receiver.reaches(1)
        url = request.headers["angarium-file-url"]
        assert url.startswith("https://files.example/a/downloads/")
        token = url.rpartition("/")[2]
        path = f"/downloads/{token}"
        assert (await house.caller_with(None)("GET", path)).body == b"hi"
        house.issued.secrets.add(token)  # the logs are searched for it at the end
        signer = house.server.carrying.urls
        now, signer._now = signer._now, lambda: 61.0 + now()
        assert (await house.caller_with(None)("GET", path)).status == 404


async def test_another_workspace_reads_nothing(
    stranger: Stranger, neighbour: Caller, origin: Origin
) -> None:
    assert (await neighbour("GET", f"/files/{stranger.file}/content")).status == 404
    attachment = {"source": {"kind": "FILE", "uri": stranger.file}}
    told = await neighbour(
        "POST", "/events", {"eventType": "e", "payload": {}, "attachments": [attachment]}
    )
    assert (told.status, told.paths) == (404, ["attachments[0].source.uri"])
