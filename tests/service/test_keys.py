"""Keys over HTTP: who can see, create, rotate and revoke which keys, and the validity of each secret."""

from typing import Any

import pytest
import trio

from engine.control.keys import MAX_SECRETS, KeyCommands
from engine.control.last_use import AGAIN_S, LastUse
from engine.control.writer import writer_without_models
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from engine.model.identity import Identity
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.cases import each_case
from tests.patience import HANGS_S
from tests.service.house import LOOK_EVERY_S, ServiceHouse, destination
from tests.service.receiver import Receiver

UNKNOWN = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"


async def make(caller: Caller, **fields: Any) -> dict[str, Any]:
    made = await caller("POST", "/api-keys", {"name": "a test's", "scope": "read", **fields})
    assert made.status == 201, made.body
    found: dict[str, Any] = made.json
    return found


async def audited(bridge: Bridge, action: str) -> list[dict[str, Any]]:
    rows = await bridge.pool.fetch("SELECT * FROM audit_log WHERE action = $1 ORDER BY id", action)
    return [dict(row) for row in rows]


async def status_of(house: ServiceHouse, secret: str) -> int:
    return (await house.caller_with(secret)("GET", "/auth/context")).status


async def becomes(house: ServiceHouse, secret: str, status: int) -> None:
    """Poll until requests with a secret get this status. The test polls, because no event tells it when
    the server has read a change of the keys."""
    with trio.fail_after(HANGS_S):
        while True:
            if await status_of(house, secret) == status:
                return
            await trio.sleep(LOOK_EVERY_S)


async def test_a_key_is_made_listed_rotated_and_revoked(
    house: ServiceHouse, api: Caller, bridge: Bridge
) -> None:
    made = await make(api, name="billing", scope="ingest", environment="DEVELOPMENT")
    secret = made.pop("secret")
    assert secret.startswith("ang_dev_")
    assert (made["prefix"], made["lastFour"]) == ("ang_dev_", secret[-4:])
    assert (made["kind"], made["name"], made["scope"]) == ("API_KEY", "billing", "ingest")
    assert made["environment"] == "DEVELOPMENT"
    assert made["lastUsedAt"] is made["expiresAt"] is None
    listed = (await api("GET", "/api-keys")).json["items"]
    assert listed[0] == made
    assert "secret" not in listed[0]

    rotated = (await api("POST", f"/api-keys/{made['id']}/rotate")).json
    assert rotated["id"] == made["id"]
    assert rotated["secret"] != secret
    assert rotated["fingerprint"] != made["fingerprint"]
    assert await status_of(house, secret) == await status_of(house, rotated["secret"]) == 200
    (entry,) = await audited(bridge, "api_key.rotate")
    own = (await api("GET", "/auth/context")).json["keyId"]
    assert (entry["actor_type"], entry["actor_id"]) == ("API_KEY", own)
    assert entry["previous_fingerprint"] == made["fingerprint"]
    assert rotated["fingerprint"].encode() in entry["changes"]

    assert (await api("DELETE", f"/api-keys/{made['id']}")).json == {"success": True}
    assert await status_of(house, secret) == await status_of(house, rotated["secret"]) == 401
    assert made["id"] not in [key["id"] for key in (await api("GET", "/api-keys")).json["items"]]
    for method, path in (("DELETE", ""), ("POST", "/rotate")):
        assert (await api(method, f"/api-keys/{made['id']}{path}")).status == 404
    (entry,) = await audited(bridge, "api_key.revoke")
    assert entry["previous_fingerprint"] == rotated["fingerprint"]


async def test_what_is_made_works_as_it_says(house: ServiceHouse, api: Caller) -> None:
    event = {"eventType": "e", "payload": {}}
    for scope, send, read, write in (("ingest", 202, 403, 403), ("read", 403, 200, 403)):
        caller = house.caller_with((await make(api, scope=scope))["secret"])
        assert (await caller("POST", "/events", event)).status == send, scope
        assert (await caller("GET", "/api-keys")).status == read, scope
        assert (await caller("POST", "/api-keys", {"name": "k", "scope": "read"})).status == write


@each_case(
    ("body", "status", "path"),
    [
        ({"scope": "read"}, 400, "name"),
        ({"name": "k"}, 400, "scope"),
        ({"name": "", "scope": "read"}, 400, "name"),
        ({"name": "a\nb", "scope": "read"}, 400, "name"),
        ({"name": "k" * 257, "scope": "read"}, 400, "name"),
        ({"name": "k", "scope": "MANAGE"}, 400, "scope"),
        ({"name": "k", "scope": ""}, 400, "scope"),
        ({"name": "k", "scope": "read", "kind": "EMBED_SESSION"}, 400, "kind"),
        ({"name": "k", "scope": "read", "environment": "TESTING"}, 400, "environment"),
        ({"name": "k", "scope": "read", "environment": 1}, 400, "environment"),
        ({"name": "k", "scope": "read", "secret": "x"}, 400, "secret"),
        ({"name": "k", "scope": "read", "kind": "MCP_KEY"}, 403, None),
        ({"name": "k", "scope": "read", "environment": "STAGING"}, 403, None),
        ({"name": "k", "scope": "read", "kind": "MCP_KEY", "environment": "DEVELOPMENT"}, 400,
         "environment"),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused(
    api: Caller, body: dict[str, Any], status: int, path: str | None
) -> None:
    refused = await api("POST", "/api-keys", body)
    assert refused.status == status, refused.body
    if path is not None:
        assert path in refused.paths


async def test_an_mcp_key_names_the_environment_and_manages_keys_of_all_and_its_own_kind(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    mcp = await house.caller(tenant, environment=None)
    assert (await mcp("GET", "/api-keys")).status == 400
    body = {"name": "k", "scope": "read"}
    assert (await mcp("POST", "/api-keys", body)).status == 400
    by_body = (await mcp("POST", "/api-keys", {**body, "environment": "STAGING"})).json
    by_header = await mcp("POST", "/api-keys", body, headers={"X-Environment": "PRODUCTION"})
    assert by_body["secret"].startswith("ang_sta_")
    assert by_header.json["secret"].startswith("ang_pro_")
    both = {**body, "environment": "STAGING"}
    twice = await mcp("POST", "/api-keys", both, headers={"X-Environment": "PRODUCTION"})
    assert twice.status == 400

    in_dev = house.caller_with((await make(mcp_at(mcp), kind="MCP_KEY", scope="manage"))["secret"])
    kinds = [
        key["kind"] for key in (await mcp("GET", "/api-keys?environment=STAGING")).json["items"]
    ]
    assert sorted(kinds) == ["API_KEY", "MCP_KEY", "MCP_KEY"]
    context = await in_dev("GET", "/auth/context")
    assert context.json["kind"] == "MCP_KEY"
    assert context.json["environment"] is None

    mine = context.json["keyId"]
    for stranger in (
        api,
        await house.caller(tenant, Scope.READ, None, X_Environment="DEVELOPMENT"),
    ):
        seen = [key["id"] for key in (await stranger("GET", "/api-keys")).json["items"]]
        assert mine not in seen
    assert (await api("POST", f"/api-keys/{mine}/rotate")).status == 404
    assert (await api("DELETE", f"/api-keys/{mine}")).status == 404
    assert (await api("DELETE", f"/api-keys/{by_body['id']}")).status == 404, "of STAGING"
    at = {"X-Environment": "DEVELOPMENT"}
    assert (await mcp("POST", f"/api-keys/{mine}/rotate", headers=at)).status == 200
    wrong = await mcp("DELETE", f"/api-keys/{by_body['id']}", headers=at)
    assert wrong.status == 404, "an API key is found in its own environment alone"
    assert (await mcp("DELETE", f"/api-keys/{mine}", headers=at)).status == 200


def mcp_at(caller: Caller, environment: str = "DEVELOPMENT") -> Any:
    async def call(method: str, path: str, document: Any = None) -> Any:
        return await caller(method, path, document, headers={"X-Environment": environment})

    return call


async def test_an_mcp_key_of_scope_ingest_is_refused(house: ServiceHouse, tenant: Tenant) -> None:
    mcp = await house.caller(tenant, environment=None, X_Environment="DEVELOPMENT")
    body = {"kind": "MCP_KEY", "name": "k", "scope": "ingest"}
    refused = await mcp("POST", "/api-keys", body)
    assert (refused.status, refused.paths) == (400, ["scope"])


async def test_an_mcp_key_sends_events_into_the_environment_that_it_names(
    house: ServiceHouse, tenant: Tenant
) -> None:
    mcp = await house.caller(tenant, environment=None)
    event = {"eventType": "e", "payload": {}}
    for path, document in (("/events", event), ("/events/batch", {"events": [event]})):
        assert (await mcp("POST", path, document)).status == 400
        at = {"X-Environment": "STAGING"}
        assert (await mcp("POST", path, document, headers=at)).status == 202
        assert (await mcp("POST", f"{path}?environment=PRODUCTION", document)).status == 202
    for environment, count in (("STAGING", 2), ("PRODUCTION", 2), ("DEVELOPMENT", 0)):
        found = (await mcp("GET", "/events", headers={"X-Environment": environment})).json["items"]
        assert len(found) == count, environment


async def test_keys_come_in_pages(api: Caller) -> None:
    made = [(await make(api, name=f"k{n}"))["id"] for n in range(3)]
    own = (await api("GET", "/auth/context")).json["keyId"]
    seen: list[str] = []
    path = "/api-keys?limit=2"
    while True:
        page = (await api("GET", path)).json
        seen += [key["id"] for key in page["items"]]
        if page["nextCursor"] is None:
            break
        path = f"/api-keys?limit=2&cursor={page['nextCursor']}"
    assert seen == [*reversed(made), own]
    assert (await api("GET", "/api-keys?cursor=x")).status == 400


async def test_rotations_without_end_are_refused(api: Caller) -> None:
    made = await make(api)
    path = f"/api-keys/{made['id']}/rotate"
    for _ in range(MAX_SECRETS - 1):
        assert (await api("POST", path)).status == 200
    refused = await api("POST", path)
    assert (refused.status, refused.code) == (409, "conflict")


@pytest.mark.parametrize("kind", ["API_KEY", "MCP_KEY"])
async def test_a_secret_that_was_rotated_out_manages_no_keys(
    house: ServiceHouse, tenant: Tenant, kind: str
) -> None:
    environment = None if kind == "MCP_KEY" else Environment.DEVELOPMENT
    former = await house.caller(tenant, environment=environment)
    named = {} if environment else {"X-Environment": "DEVELOPMENT"}
    path = f"/api-keys/{(await former('GET', '/auth/context')).json['keyId']}"
    rotated = (await former("POST", f"{path}/rotate", headers=named)).json
    draft = {"name": "another", "scope": "manage"}
    for method, address, body in (
        ("POST", "/api-keys", draft),
        ("POST", f"{path}/rotate", None),
        ("DELETE", path, None),
    ):
        refused = await former(method, address, body, headers=named)
        assert (refused.status, refused.code) == (403, "forbidden")
        assert "rotated out" in refused.json["message"]
    # All other requests succeed.
    assert (await former("GET", "/api-keys", headers=named)).status == 200
    assert (await former("GET", "/events", headers=named)).status == 200
    new = house.caller_with(rotated["secret"])
    assert (await new("POST", f"{path}/rotate", headers=named)).status == 200


async def test_a_key_may_rotate_and_revoke_itself(house: ServiceHouse, tenant: Tenant) -> None:
    caller = await house.caller(tenant)
    own = (await caller("GET", "/auth/context")).json["keyId"]
    rotated = await caller("POST", f"/api-keys/{own}/rotate")
    assert rotated.status == 200
    old = (await caller("GET", "/auth/context")).json
    assert old["keyId"] == own
    assert old["expiresAt"] is not None
    new = house.caller_with(rotated.json["secret"])
    assert (await new("DELETE", f"/api-keys/{own}")).status == 200
    assert (await new("GET", "/auth/context")).status == 401
    assert (await caller("GET", "/auth/context")).status == 401


async def test_what_another_process_revokes_ends_here_within_a_second(
    house: ServiceHouse, api: Caller, bridge: Bridge
) -> None:
    made = await make(api)
    tables, clock = house.server.tables, house.server.clock
    elsewhere = KeyCommands(
        tables.tenants, tables.keys, writer_without_models(Identity(), clock.now)
    )
    assert await status_of(house, made["secret"]) == 200
    rotated = await elsewhere.rotate(made["id"])
    await becomes(house, rotated.secret, 200)
    await elsewhere.revoke(made["id"])
    await becomes(house, rotated.secret, 401)


async def test_the_last_use_is_shown_at_once_and_written_once_a_minute(
    house: ServiceHouse, api: Caller, bridge: Bridge
) -> None:
    made = await make(api)
    use = house.server.last_use

    async def shown() -> str | None:
        keys = (await api("GET", "/api-keys")).json["items"]
        found: str | None = next(k["lastUsedAt"] for k in keys if k["id"] == made["id"])
        return found

    async def written() -> int | None:
        value: int | None = await bridge.pool.fetch_value(
            "SELECT last_used_at_ms FROM api_keys WHERE id = $1::uuid", made["id"]
        )
        return value

    assert await shown() is None
    await status_of(house, made["secret"])
    assert await shown() is not None
    assert await written() is None, "the request itself writes nothing"
    await use.flush()
    first = await written()
    assert first is not None
    await status_of(house, made["secret"])
    await use.flush()
    assert await written() == first, "within the minute the row is left alone"
    later = LastUse(house.server.tables.keys, lambda: house.server.clock.now() + AGAIN_S)
    later.seen = use.seen
    later._written = use._written
    await later.flush()
    second = await written()
    assert second is not None
    assert second > first


async def test_a_last_use_that_the_row_has_is_forgotten(house: ServiceHouse) -> None:
    now = 1_000.0
    use = LastUse(house.server.tables.keys, lambda: now)
    use.seen[UNKNOWN] = now
    await use.flush()
    assert UNKNOWN in use.seen
    now += AGAIN_S
    await use.flush()
    assert use.seen == {}
    assert use.latest_ms(UNKNOWN, None) is None


async def test_a_rotation_is_announced_where_the_key_is_valid(
    house: ServiceHouse, tenant: Tenant, api: Caller, receiver: Receiver
) -> None:
    mcp = await house.caller(tenant, environment=None)
    staging = await house.caller(tenant, environment=Environment.STAGING)
    for caller, path in ((api, "/dev"), (staging, "/staging")):
        await destination(caller, receiver.url(path), ["angarium.key.rotated"])
    made = await make(api)
    rotated = (await api("POST", f"/api-keys/{made['id']}/rotate")).json
    (told,) = await receiver.reaches(1, "/dev")
    data = told.json["data"]
    assert (data["keyId"], data["previousFingerprint"]) == (made["id"], made["fingerprint"])
    assert data["fingerprint"] == rotated["fingerprint"]
    assert rotated["secret"].encode() not in told.body
    own = (await mcp("GET", "/auth/context")).json["keyId"]
    at = {"X-Environment": "PRODUCTION"}
    assert (await mcp("POST", f"/api-keys/{own}/rotate", headers=at)).status == 200
    await receiver.reaches(2, "/dev")
    (told,) = await receiver.reaches(1, "/staging")
    assert told.json["data"]["keyId"] == own


async def test_rotations_at_once_each_give_a_secret_that_works(
    house: ServiceHouse, api: Caller, tenant: Tenant
) -> None:
    made = await make(api)
    secrets = [made["secret"]]

    async def rotate(caller: Caller) -> None:
        answer = await caller("POST", f"/api-keys/{made['id']}/rotate")
        assert answer.status == 200
        secrets.append(answer.json["secret"])

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(rotate, await house.caller(tenant))
    assert len(set(secrets)) == 5
    for secret in secrets:
        assert await status_of(house, secret) == 200


async def test_keys_of_other_owners_are_not_found(
    house: ServiceHouse, tenant: Tenant, api: Caller, neighbour: Caller
) -> None:
    made = await make(api)
    staging = await house.caller(tenant, environment=Environment.STAGING)
    for stranger in (neighbour, staging):
        seen = [key["id"] for key in (await stranger("GET", "/api-keys")).json["items"]]
        assert made["id"] not in seen
        refused = await stranger("POST", f"/api-keys/{made['id']}/rotate")
        nothing = await stranger("POST", f"/api-keys/{UNKNOWN}/rotate")
        assert refused.status == nothing.status == 404
        assert refused.json["message"] == nothing.json["message"]
        assert (await stranger("DELETE", f"/api-keys/{made['id']}")).status == 404
