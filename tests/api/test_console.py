"""The console's files, and its sessions, which replace a key."""

import gzip
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from api.call import Answer
from api.web import ASSETS, FOLDER, WebFiles
from engine.control.console import (
    CODE_PREFIX,
    CODE_TTL_S,
    ENDED,
    PREFIX,
    PURPOSE,
    TTL_S,
    ConsoleTokens,
)
from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from storage.audit.changes import Change, Changes
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import House

HTML = [(b"accept", b"text/html,*/*;q=0.8")]


def told(files: WebFiles, path: str, fields: list[tuple[bytes, bytes]] = HTML) -> Answer:
    answer = files.answer("GET", path.encode(), fields, "an-id")
    assert answer is not None, path
    return answer


@pytest.mark.parametrize(
    "path", ["/console", "/console/dev/events/x", "/console/", "/console/assetsx"]
)
def test_each_address_of_the_console_is_the_page(path: str) -> None:
    files = WebFiles()
    answer = told(files, path)
    assert answer.status == 200
    assert isinstance(answer.body, bytes)
    assert b"{assets}" not in answer.body
    assert answer.body.count(f"/console/assets/{files.digest}/".encode()) > 5
    headers = dict(answer.headers)
    assert "require-trusted-types-for 'script'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-cache"


def test_each_file_is_served_zipped_or_not_and_kept_for_good() -> None:
    files = WebFiles()
    names = [path for path in FOLDER.rglob("*.js") if path.is_file()]
    assert len(names) > 20
    for path in names:
        address = f"/console/assets/{files.digest}/{path.relative_to(FOLDER).as_posix()}"
        plain = told(files, address)
        zipped = told(files, address, [(b"accept-encoding", b"br, gzip")])
        assert plain.body == path.read_bytes() == gzip.decompress(zipped.body)  # type: ignore[arg-type]  # bytes
        assert dict(zipped.headers)["Content-Encoding"] == "gzip"
        assert "immutable" in dict(plain.headers)["Cache-Control"]
        tag = dict(plain.headers)["ETag"]
        again = told(files, address, [(b"if-none-match", tag.encode())])
        assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "{assets}../../pyproject.toml",
        "{assets}console/../../../pyproject.toml",
        "{assets}console/%2e%2e/main.js",
        "{assets}console/index.html",
        "{assets}",
        "/console/assets/0000000000000000/console/main.js",
        "/console/assets/",
    ],
)
def test_nothing_else_of_the_machine_is_a_file(path: str) -> None:
    files = WebFiles()
    assets = f"{ASSETS.decode()}{files.digest}/"
    assert told(files, path.replace("{assets}", assets)).status == 404


def test_the_first_address_is_the_console_for_browsers_alone(tmp_path: Path) -> None:
    files = WebFiles()
    assert dict(told(files, "/").headers)["Location"] == "/console"
    assert files.answer("GET", b"/", [(b"accept", b"*/*")], "an-id") is None
    assert files.answer("POST", b"/", HTML, "an-id") is None
    refused = files.answer("POST", b"/console", HTML, "an-id")
    assert refused is not None
    assert refused.status == 405
    assert files.answer("POST", b"/console/sessions", HTML, "an-id") is None
    assert files.answer("GET", b"/consoles", HTML, "an-id") is None
    assert WebFiles(tmp_path).answer("GET", b"/console", HTML, "an-id") is None


async def test_a_session_has_the_rights_of_its_key_and_ends_with_it(
    house: House, tenant: Tenant
) -> None:
    key = await house.key(tenant)
    api = await house.caller(key)
    opened = await api("POST", "/console/sessions", {})
    assert opened.status == 201
    assert opened.json["scope"] == "manage"
    assert opened.json["environments"] == ["DEVELOPMENT"]
    visit = await house.caller(opened.json["token"])
    context = await visit("GET", "/auth/context")
    own = (await api("GET", "/auth/context")).json
    assert (context.json["kind"], own["kind"]) == ("CONSOLE", "API_KEY")
    assert context.json["keyId"] == own["keyId"]
    # No session can be extended.
    assert (await visit("POST", "/console/sessions", {})).status == 403
    # A key has no session to end.
    assert (await api("DELETE", "/console/sessions", {})).status == 200
    assert (await api("GET", "/destinations")).status == 200
    assert (await visit("GET", "/destinations")).status == 200
    assert (await visit("DELETE", "/console/sessions", {})).status == 200
    assert (await visit("GET", "/destinations")).status == 401


async def test_a_session_is_opened_and_ended_in_the_audit_log(house: House, tenant: Tenant) -> None:
    api = await house.caller(await house.key(tenant))
    key = (await api("GET", "/auth/context")).json["keyId"]
    visit = await house.caller((await api("POST", "/console/sessions", {})).json["token"])
    code = await house.caller(house.console.code(key, time.time()))
    assert (await code("POST", "/console/sessions", {})).status == 201
    assert (await visit("DELETE", "/console/sessions", {})).status == 200
    items = (await api("GET", "/audit-logs?objectType=console_session")).json["items"]
    assert [each["action"].partition(".")[2] for each in items] == ["delete", "create", "create"]
    assert [each["changes"]["by"]["to"] for each in items[1:]] == ["LOGIN_CODE", "KEY"]
    assert items[0]["objectId"] == items[2]["objectId"]
    assert [each["actorType"] for each in items] == ["CONSOLE", "API_KEY", "API_KEY"]
    assert {each["actorId"] for each in items} == {key}


async def test_the_end_of_a_session_is_told_to_the_other_nodes(
    house: House, tenant: Tenant, bridge: Bridge
) -> None:
    api = await house.caller(await house.key(tenant))
    token = (await api("POST", "/console/sessions", {})).json["token"]
    visit = await house.caller(token)
    there = ConsoleTokens(SecretBox([b"k" * 32]).derived(PURPOSE), house.models)  # another node's
    assert there.credential(token.encode(), time.time()) is not None
    heard = trio.Event()

    async def hear(news: Sequence[Change]) -> None:
        for change in news:
            if change.kind == ENDED:
                there.end(change.id)
                heard.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(Changes(bridge, hear, trio.lowlevel.checkpoint).run)
        assert (await visit("DELETE", "/console/sessions", {})).status == 200
        await heard.wait()
        nursery.cancel_scope.cancel()
    assert there.credential(token.encode(), time.time()) is None


async def test_a_session_of_a_revoked_key_has_ended(house: House, tenant: Tenant) -> None:
    first, second = await house.key(tenant), await house.key(tenant)
    api, other = await house.caller(first), await house.caller(second)
    visit = await house.caller((await other("POST", "/console/sessions", {})).json["token"])
    key = (await visit("GET", "/auth/context")).json["keyId"]
    assert (await api("DELETE", f"/api-keys/{key}", {})).status == 200
    assert (await visit("GET", "/destinations")).status == 401


async def test_a_login_code_opens_one_session_and_does_nothing_else(
    house: House, tenant: Tenant
) -> None:
    api = await house.caller(await house.key(tenant))
    key = (await api("GET", "/auth/context")).json["keyId"]
    visitor = await house.caller(house.console.code(key, time.time()))
    assert (await visitor("GET", "/destinations")).status == 401
    assert (await visitor("POST", "/events", {"eventType": "a", "payload": {}})).status == 401
    opened = await visitor("POST", "/console/sessions", {})
    assert opened.status == 201
    # The code was already used.
    assert (await visitor("POST", "/console/sessions", {})).status == 401
    visit = await house.caller(opened.json["token"])
    assert (await visit("GET", "/destinations")).status == 200
    code, late = house.console.code(key, 1_000.0).encode(), 1_000.0 + CODE_TTL_S
    assert house.console.credential(code, late - 1) is not None
    assert house.console.credential(code, late) is None
    renamed = PREFIX + code.removeprefix(CODE_PREFIX)
    assert house.console.credential(renamed, 1_000.0) is None  # a code is not a session


async def test_a_key_that_only_sends_events_opens_no_session(house: House, tenant: Tenant) -> None:
    api = await house.caller(await house.key(tenant, scope=Scope.INGEST))
    assert (await api("POST", "/console/sessions", {})).status == 403


async def test_a_token_that_was_changed_or_is_too_old_lets_nobody_in(
    house: House, tenant: Tenant
) -> None:
    await house.key(tenant)
    api = await house.caller(await house.key(tenant))
    key = (await api("GET", "/auth/context")).json["keyId"]
    tokens: ConsoleTokens = house.console
    token = tokens.open(key, 1_000.0).token.encode()
    assert tokens.credential(token, 1_000.0 + TTL_S - 1) is not None
    assert tokens.credential(token, 1_000.0 + TTL_S) is None
    for place in range(len(b"angcs_"), len(token)):
        changed = (
            token[:place]
            + (b"A" if token[place : place + 1] != b"A" else b"B")
            + token[place + 1 :]
        )
        found = tokens.credential(changed, 1_000.0)
        # The last character's unused bits are not part of the claims.
        assert found is None or place == len(token) - 1
    assert tokens.credential(b"angcs_" + b"A" * 5_000, 0.0) is None
    assert tokens.credential(b"angcs_\xff", 0.0) is None
