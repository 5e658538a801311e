"""Issued secrets. A secret is only in the answer that issues it: in no later answer, no log, no table.

The servers of all tests (each a `house`) search their answers and their logs for the secrets that they
issued (`tests.api.issued`). These tests search the tables as well.
"""

import base64
import io
import logging

import pytest
import structlog

from api import logs
from engine.core.vocabulary import Scope
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.api.issued import Issued, logged
from tests.service.house import ServiceHouse, post
from tests.service.receiver import Receiver

HEADERS = {
    "Authorization": "Bearer of-the-receiver-0123456789",
    "X-Api-Key": "key-of-the-receiver-0123456789",
    "X-Plain": "plain-header-0123456789",
}
GENIE = {"apiKey": "genie-key-0123456789"}
TABLES = """
    SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
GETS = (
    "/destinations", "/routing-rules", "/events", "/deliveries", "/api-keys", "/audit-logs", "/dlq",
    "/replay-jobs", "/schemas", "/auth/context", "/openapi.json", "/destination-templates",
)  # fmt: skip


async def tell_a_story(house: ServiceHouse, api: Caller, receiver: Receiver) -> None:
    key = (await api("POST", "/api-keys", {"name": "k", "scope": "manage"})).json
    await api("POST", f"/api-keys/{key['id']}/rotate")
    token = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    browser = house.caller_with(token.json["token"])
    hook = {"name": "d", "url": receiver.url(), "headers": HEADERS}
    made = (await browser("POST", "/destinations", hook)).json
    other = {**hook, "signing": {"algorithm": "ED25519"}, "url": receiver.url("/dead")}
    signed = (await api("POST", "/destinations", other)).json
    path = f"/destinations/{made['id']}"
    await api("PATCH", path, {"rotateSecret": True})
    await api("PATCH", path, {"headers": {"Authorization": "Bearer another-0123456789"}})
    await api("PATCH", f"/destinations/{signed['id']}", {"rotateSecret": True})
    of_template = {"name": "t", "templateId": "opsgenie", "config": GENIE}
    paged = (await api("POST", "/destinations", of_template)).json
    another = {"config": {"apiKey": "another-genie-key-0123456789"}}
    assert (await api("PATCH", f"/destinations/{paged['id']}", another)).status == 200
    for destination in (made, signed):
        rule = {"name": "r", "destinationId": destination["id"], "eventTypes": ["*"]}
        assert (await api("POST", "/routing-rules", rule)).status == 201
        await api("POST", f"/destinations/{destination['id']}/test")
    await post(api, customerExternalId="ada")
    await receiver.reaches(4)
    for secret in sorted(house.issued.secrets):
        # Send each secret where it does not belong. No refusal repeats it.
        stranger = house.caller_with(secret.swapcase())
        assert (await stranger("GET", "/destinations")).status == 401
        for refused in (
            await api("POST", "/destinations", {**hook, "url": secret}),
            await api("POST", "/routing-rules", {"name": "r", "destinationId": secret}),
            await api("GET", f"/deliveries/{key['id']}"),
            await api("GET", "/deliveries?cursor=x"),
        ):
            assert refused.status in (400, 404)
    for caller in (api, browser):
        for listing in GETS:
            answer = await caller("GET", listing, check=False)
            if answer.status == 200 and "items" in answer.json:
                for item in answer.json["items"]:
                    await caller("GET", f"{listing}/{item['id']}", check=False)
    await api("DELETE", path)
    await api("DELETE", f"/api-keys/{key['id']}")


async def test_no_table_holds_a_secret_in_clear(
    house: ServiceHouse, api: Caller, receiver: Receiver, bridge: Bridge
) -> None:
    mcp = await house.keys.create(await house.tenant("more"), Scope.MANAGE, None, "m")
    house.issued.credential(mcp.secret)
    await tell_a_story(house, api, receiver)
    secrets = house.issued.secrets
    for prefix in ("ang_dev_", "angmk_", "anges_", "whsec_", "Bearer ", "key-of-"):
        assert any(secret.startswith(prefix) for secret in secrets), prefix
    raw = [secret.encode() for secret in secrets]
    raw += [base64.b64decode(s.removeprefix("whsec_")) for s in secrets if s.startswith("whsec_")]
    tables = [row[0] for row in await bridge.pool.fetch(TABLES)]
    assert {"api_keys", "key_secrets", "destinations", "audit_log", "deliveries"} <= set(tables)
    plain = 0
    for table in tables:
        for row in await bridge.pool.fetch(f"SELECT t::text AS row FROM {table} t"):
            for secret in raw:
                assert secret.hex() not in row["row"], table
                assert secret.decode("latin-1") not in row["row"], table
            plain += HEADERS["X-Plain"].encode().hex() in row["row"]
    assert plain > 0, "a header that is no secret is found, so the search works"


async def test_the_lines_of_all_libraries_show_no_secret_at_the_level_of_debugging(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    written = io.StringIO()
    logs.configure("json", "debug", written)
    await tell_a_story(house, api, receiver)
    logging.getLogger("a.library").debug("so that there is a line: %s", "of a library")
    text = written.getvalue()
    assert "of a library" in text
    house.issued.search("the log at the level of debugging", text)


def test_exceptions_within_groups_are_logged_without_what_looks_like_a_secret() -> None:
    written = io.StringIO()
    logs.configure("json", "debug", written)
    secrets = [
        "ang_pro_" + "k" * 40,
        "angmk_" + "m" * 40,
        "anges_" + "e" * 40,
        "whsec_" + "w" * 40,
        "Bearer of-somebody-0123456789",
        "postgresql://angarium:pass-of-the-database@db/angarium",
        "/downloads/" + "d" * 60,
    ]
    inner = ExceptionGroup("inner", [ValueError(secret) for secret in secrets[1:]])
    inner.add_note(f"a note with {secrets[3]}")
    error = ExceptionGroup(f"outer {secrets[1]}", [inner])
    error.__cause__ = KeyError(secrets[0])
    structlog.get_logger("test").error("it failed", exc_info=error)
    logging.getLogger("a.library").error("it failed", exc_info=error)
    text = written.getvalue()
    assert text.count("ExceptionGroup: outer") == 2
    for secret in (*secrets[:4], "of-somebody", "pass-of-the-database", "d" * 60):
        assert secret not in text


async def test_a_house_finds_a_secret_in_an_answer_or_in_the_log() -> None:
    issued = Issued()
    secret = "ang_dev_" + "s" * 40
    issued.answered("POST /api-keys", 201, b'{"secret":"%s"}' % secret.encode())
    with pytest.raises(AssertionError, match="GET /api-keys shows"):
        issued.answered("GET /api-keys", 200, b'{"items":[{"name":"%s"}]}' % secret.encode())
    with pytest.raises(AssertionError, match="shows secrets"):
        issued.answered("POST /again", 201, b'{"token":"anges_x","name":"%s"}' % secret.encode())
    issued.sent({"headers": {"Authorization": "Bearer 12345678", "X-Plain": "whatever"}})
    with pytest.raises(AssertionError, match="an error shows"):
        issued.search("an error", "no such header: Bearer 12345678")
    issued.search("an answer", "whatever")
    with pytest.raises(AssertionError, match="the log shows"), logged(issued):
        structlog.get_logger("test").info("something", about=secret)
