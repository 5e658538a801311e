"""Embed sessions: the rights of a customer's browser, their duration and their limits."""

from typing import Any

import pytest

from engine.control.sessions import PURPOSE, SessionTokens
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from engine.model.read_models import SessionCustomer
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, open_service, post
from tests.service.receiver import Receiver

HOOK = {"name": "d", "url": "http://127.0.0.1:1/"}


async def session_of(
    house: ServiceHouse, api: Caller, customer: str = "ada", **more: Any
) -> Caller:
    made = await api("POST", "/embed/sessions", {"customerExternalId": customer, **more})
    assert made.status == 201, made.body
    return house.caller_with(made.json["token"])


async def test_a_session_says_whose_it_is_and_when_it_ends(
    house: ServiceHouse, tenant: Tenant, api: Caller, bridge: Bridge
) -> None:
    before = house.server.clock.now()
    made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    assert made.json["token"].startswith("anges_")
    workspace = (await api("GET", "/auth/context")).json["workspaceId"]
    own = f"http://127.0.0.1:{house.door.address[1]}/portal/{workspace}"
    assert made.json["url"] == f"{own}#token={made.json['token']}"
    browser = house.caller_with(made.json["token"])
    shown = (await browser("GET", "/embed/context")).json
    context = (await browser("GET", "/auth/context")).json
    assert context == {
        "kind": "EMBED_SESSION",
        "workspaceId": tenant.workspace.id,
        "workspaceName": "acme",
        "environment": "DEVELOPMENT",
        "scope": None,
        "keyId": None,
        "customerAccountId": made.json["customerAccountId"],
        "customerExternalId": "ada",
        "plan": "scale",
        "expiresAt": made.json["expiresAt"],
        **{name: shown[name] for name in ("returnUrl", "branding", "permissions")},
    }
    tokens = house.server.tokens
    token = made.json["token"].encode()
    assert tokens.credential(token, before + 299) is not None
    assert tokens.credential(token, house.server.clock.now() + 300) is None
    again = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    assert again.json["customerAccountId"] == made.json["customerAccountId"]
    rows = await bridge.pool.fetch("SELECT * FROM audit_log WHERE action = 'embed_session.create'")
    assert [row["object_id"] for row in rows] == [made.json["customerAccountId"]] * 2
    assert made.json["token"] not in str([dict(row) for row in rows])


async def test_a_token_ends_to_the_millisecond_and_at_no_forgery(house: ServiceHouse) -> None:
    tenant = await house.tenant("acme")
    number = tenant.environments[0].number
    customer = SessionCustomer("01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", "ada é")
    tokens = house.server.tokens
    token = tokens.sign(number, customer, 1_800_000_000_123).encode()
    found = tokens.credential(token, 1_800_000_000.122)
    assert found is not None
    assert found.customer == customer
    assert tokens.credential(token, 1_800_000_000.123) is None
    now = 1_700_000_000.0
    for place in range(6, len(token)):
        for change in (b"A", b"B"):
            forged = token[:place] + change + token[place + 1 :]
            if forged == token:
                continue
            found = tokens.credential(forged, now)
            assert found is None or (found.customer == customer and place == len(token) - 1)
    for garbage in (
        b"",
        b"anges_",
        b"anges_====",
        b"anges_\xff",
        token[:-4],
        token * 40,
        b"\0" * 99,
    ):
        assert tokens.credential(garbage, now) is None


async def test_a_token_outlives_a_change_of_the_master_key_but_not_its_loss(
    house: ServiceHouse,
) -> None:
    tenant = await house.tenant("acme")
    number = tenant.environments[0].number
    models = house.server.models
    old, new = b"k" * 32, b"n" * 32

    def tokens_of(*keys: bytes) -> SessionTokens:
        return SessionTokens(SecretBox(keys).derived(PURPOSE), models)

    customer = SessionCustomer("01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10", "ada")
    token = tokens_of(old).sign(number, customer, 2_000_000_000_000).encode()
    assert tokens_of(new, old).credential(token, 1.0) is not None
    assert tokens_of(new).credential(token, 1.0) is None
    assert tokens_of(new, old).sign(number, customer, 2_000_000_000_000).encode() != token


@each_case(
    ("body", "paths"),
    [
        ({}, ["customerExternalId"]),
        ({"customerExternalId": ""}, ["customerExternalId"]),
        ({"customerExternalId": "a" * 257}, ["customerExternalId"]),
        ({"customerExternalId": "a\0b"}, ["customerExternalId"]),
        ({"customerExternalId": 7}, ["customerExternalId"]),
        ({"customerExternalId": "a", "ttlSeconds": 59}, ["ttlSeconds"]),
        ({"customerExternalId": "a", "ttlSeconds": 901}, ["ttlSeconds"]),
        ({"customerExternalId": "a", "ttlSeconds": "300"}, ["ttlSeconds"]),
        ({"customerExternalId": "a", "scope": "manage"}, ["scope"]),
    ],
)
async def test_a_session_that_cannot_be_is_refused(
    api: Caller, body: dict[str, Any], paths: list[str]
) -> None:
    refused = await api("POST", "/embed/sessions", body)
    assert (refused.status, refused.paths) == (400, paths)


async def test_only_manage_keys_open_sessions(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    body = {"customerExternalId": "ada"}
    for scope in (Scope.READ, Scope.INGEST):
        assert (
            await (await house.caller(tenant, scope))("POST", "/embed/sessions", body)
        ).status == 403
    browser = await session_of(house, api)
    assert (await browser("POST", "/embed/sessions", body)).status == 403
    mcp = await house.caller(tenant, environment=None)
    assert (await mcp("POST", "/embed/sessions", body)).status == 400
    at = {"X-Environment": "PRODUCTION"}
    made = await mcp("POST", "/embed/sessions", body, headers=at)
    context = await house.caller_with(made.json["token"])("GET", "/auth/context")
    assert context.json["environment"] == "PRODUCTION"


async def test_what_a_session_creates_is_its_customers(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    ada, bob = await session_of(house, api), await session_of(house, api, "bob")
    hook = {"name": "d", "url": receiver.url()}
    made = await ada("POST", "/destinations", hook)
    assert made.json["customerExternalId"] == "ada"
    destination = made.json["id"]
    account = made.json["customerAccountId"]
    for own in ({"customerExternalId": "ada"}, {"customerAccountId": account}):
        assert (await ada("POST", "/destinations", {**hook, **own})).status == 201
    for other in ({"customerExternalId": "bob"}, {"customerAccountId": account}):
        refused = await (ada if "customerExternalId" in other else bob)(
            "POST", "/destinations", {**hook, **other}
        )
        assert refused.status == 404
    rule = {"name": "r", "destinationId": destination, "eventTypes": ["*"]}
    assert (await bob("POST", "/routing-rules", rule)).status == 404
    mine = (await ada("POST", "/routing-rules", rule)).json["id"]
    theirs = (await bob("POST", "/destinations", hook)).json["id"]
    moved = await ada("PATCH", f"/routing-rules/{mine}", {"destinationId": theirs})
    assert moved.status == 404, "a rule cannot be tied to a destination that is not its customer's"
    assert (await ada("PATCH", f"/routing-rules/{mine}", {"name": "q"})).status == 200

    event = await post(api, customerExternalId="ada")
    await post(api, customerExternalId="bob")
    await post(api)
    await receiver.reaches(1)
    found = await house.until(ada, "/deliveries", lambda page: page["items"])
    assert [item["eventId"] for item in found["items"]] == [event]
    assert [item["id"] for item in (await ada("GET", "/events")).json["items"]] == [event]
    detail = await ada("GET", f"/deliveries/{found['items'][0]['id']}")
    assert detail.json["event"]["id"] == event
    assert (await bob("GET", "/deliveries")).json["items"] == []
    assert (await bob("GET", f"/events/{event}")).status == 404
    assert (await ada("GET", "/events?customerExternalId=bob")).json["items"] == []


async def test_the_audit_log_names_the_customer(
    house: ServiceHouse, api: Caller, bridge: Bridge
) -> None:
    ada = await session_of(house, api)
    made = (await ada("POST", "/destinations", HOOK)).json
    (row,) = await bridge.pool.fetch("SELECT * FROM audit_log WHERE action = 'destination.create'")
    assert (row["actor_type"], row["actor_id"]) == ("EMBED_SESSION", made["customerAccountId"])


async def test_a_session_counts_only_what_is_delivered_to_its_customer(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    ada = await session_of(house, api)
    for caller in (ada, api, api):
        made = await caller("POST", "/destinations", {"name": "d", "url": receiver.url()})
        rule = {"name": "r", "destinationId": made.json["id"], "eventTypes": ["*"]}
        assert (await caller("POST", "/routing-rules", rule)).status == 201
    event = await post(api, customerExternalId="ada")
    other = await post(api, "of.nobody", customerExternalId="ada")
    await receiver.reaches(6)
    for caller, count in ((api, 3), (ada, 1)):
        shown = (await caller("GET", f"/events/{event}")).json
        assert shown["deliveries"] == count
        listed = (await caller("GET", "/events")).json["items"]
        assert [(each["id"], each["deliveries"]) for each in listed] == [
            (other, count),
            (event, count),
        ]


async def test_an_embed_session_cannot_send_events_by_either_lane(
    house: ServiceHouse, api: Caller
) -> None:
    ada = await session_of(house, api)
    event = {"eventType": "e", "payload": {}}
    assert (await ada("POST", "/events", event)).status == 403
    assert (await ada("POST", "/events/batch", {"events": [event]})).status == 403


@pytest.mark.usefixtures("one_window")
async def test_customers_have_windows_of_their_own_a_tenth_of_the_workspaces(
    bridge: Bridge,
) -> None:
    async with open_service(bridge, control_rate_limit=60) as house:
        tenant = await house.tenant("acme")
        api = await house.caller(tenant)
        ada, bob = await session_of(house, api), await session_of(house, api, "bob")
        again = await session_of(house, api)
        for index in range(6):
            caller = (ada, again)[index % 2]
            answer = await caller("GET", "/destinations")
            assert answer.status == 200
            assert answer.headers["x-ratelimit-limit"] == "6"
            assert answer.headers["x-ratelimit-remaining"] == str(5 - index)
        refused = await again("GET", "/destinations")
        assert (refused.status, refused.code) == (429, "rate_limited")
        refused = await ada("POST", "/events", {"eventType": "e", "payload": {}})
        assert refused.status == 429, "429 comes before 403"
        assert (await bob("GET", "/destinations")).status == 200
        assert (await api("GET", "/destinations")).headers["x-ratelimit-limit"] == "60"


async def test_the_portals_address_takes_the_token_in_its_fragment(bridge: Bridge) -> None:
    async with open_service(bridge, portal_url="https://portal.example.com/acme") as house:
        api = await house.caller(await house.tenant("acme"), environment=Environment.STAGING)
        made = (await api("POST", "/embed/sessions", {"customerExternalId": "ada"})).json
        assert made["url"] == f"https://portal.example.com/acme#token={made['token']}"
