"""Event schemas end to end: versions, states, refusals and inference."""

from typing import Any

import trio

from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.cases import each_case
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse

ORDER = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string"}, "n": {"type": "integer"}},
}


async def made(api: Caller, event_type: str = "order.created", schema: Any = ORDER) -> Any:
    answer = await api("POST", "/schemas", {"eventType": event_type, "schema": schema})
    assert answer.status == 201, answer.body
    return answer.json


async def activated(api: Caller, event_type: str = "order.created", schema: Any = ORDER) -> str:
    version = await made(api, event_type, schema)
    assert (await api("POST", f"/schemas/{version['id']}/activate", {})).status == 200
    return str(version["id"])


async def test_a_version_is_made_activated_and_replaced(api: Caller) -> None:
    first = await made(api)
    assert (first["version"], first["status"], first["activatedAt"]) == (1, "DRAFT", None)
    assert first["schema"] == ORDER
    assert (await api("GET", "/schemas/types/order.created/active")).status == 404
    answer = await api("POST", f"/schemas/{first['id']}/activate", {})
    assert (answer.status, answer.json["status"]) == (200, "ACTIVE")
    assert (await api("POST", f"/schemas/{first['id']}/activate", {})).code == "conflict"
    second = await made(api, schema=True)
    assert (await api("POST", f"/schemas/{second['id']}/activate")).json["version"] == 2
    found = (await api("GET", "/schemas/types/order.created/versions")).json["items"]
    assert [(v["version"], v["status"]) for v in found] == [(2, "ACTIVE"), (1, "DEPRECATED")]
    assert (await api("GET", "/schemas/types/order.created/active")).json["id"] == second["id"]
    back = await api("POST", f"/schemas/{first['id']}/activate", {})
    assert (back.status, back.json["status"]) == (200, "ACTIVE")
    assert (await api("GET", f"/schemas/{second['id']}")).json["status"] == "DEPRECATED"


async def test_an_event_that_the_active_schema_refuses_names_the_failing_paths(api: Caller) -> None:
    event = {"eventType": "order.created", "payload": {"n": 1.5}}
    identifier = await activated(api)
    answer = await api("POST", "/events", event)
    assert (answer.status, answer.code) == (400, "schema_violation")
    assert sorted(answer.paths) == ["payload", "payload.n"]
    good = {"eventType": "order.created", "payload": {"id": "o", "n": 1}}
    batch = await api("POST", "/events/batch", {"events": [event, good]})
    assert [line["status"] for line in batch.json["results"]] == ["REJECTED", "ACCEPTED"]
    assert batch.json["results"][0]["error"]["code"] == "schema_violation"
    ended = await api("POST", f"/schemas/{identifier}/deprecate", {})
    assert (ended.status, ended.json["status"]) == (200, "DEPRECATED")
    assert (await api("POST", "/events", event)).status == 202
    assert (await api("POST", f"/schemas/{identifier}/deprecate", {})).code == "conflict"


async def test_a_key_is_looked_up_before_the_schema_is(api: Caller) -> None:
    event = {"eventType": "order.created", "payload": {"n": 1}, "idempotencyKey": "k"}
    first = (await api("POST", "/events", event)).json
    await activated(api)
    again = await api("POST", "/events", event)
    assert (again.status, again.json) == (202, first | {"duplicate": True})
    other = {**event, "payload": {"n": 2}}
    assert (await api("POST", "/events", other)).code == "idempotency_mismatch"
    assert (await api("POST", "/events", {**event, "idempotencyKey": "new"})).code == (
        "schema_violation"
    )
    good = {**event, "payload": {"id": "o"}, "idempotencyKey": "g"}
    batch = [event, other, {**event, "idempotencyKey": "new"}, good, {**good, "payload": {}}]
    told = await api("POST", "/events/batch", {"events": batch})
    assert (told.status, told.json["accepted"], told.json["duplicates"]) == (202, 1, 1)
    lines = told.json["results"]
    assert lines[0]["id"] == first["id"]
    codes = [line["error"] and line["error"]["code"] for line in lines]
    mismatch, violation = "idempotency_mismatch", "schema_violation"
    assert codes == [None, mismatch, violation, None, mismatch]
    alone = await api("POST", "/events/batch", {"events": [event]})
    assert [line["status"] for line in alone.json["results"]] == ["DUPLICATE"]
    assert (await api("POST", "/events/batch", {"events": [other]})).status == 400


async def test_a_type_may_hold_slashes(api: Caller) -> None:
    for event_type in ("a/b:c.d-e_f", "/x", "x/versions", "x//y"):
        identifier = await activated(api, event_type, True)
        for path in (event_type, event_type.replace("/", "%2F"), event_type.replace("/", "%2f")):
            found = await api("GET", f"/schemas/types/{path}/active", check=False)
            assert (found.status, found.json["id"]) == (200, identifier), path
            found = await api("GET", f"/schemas/types/{path}/versions?limit=1", check=False)
            assert [each["id"] for each in found.json["items"]] == [identifier]
    assert (await api("GET", "/schemas/types/none/versions")).json["items"] == []
    assert (await api("GET", "/schemas/types/no%20type/active")).status == 404


async def test_lists_are_filtered_and_paged(api: Caller, neighbour: Caller) -> None:
    first, second = await activated(api), await activated(api)
    draft = (await made(api, "other"))["id"]
    for query, expected in (
        ("", [draft, second, first]),
        ("?status=DRAFT", [draft]),
        ("?status=ACTIVE", [second]),
        ("?status=DEPRECATED&eventType=order.created", [first]),
        ("?eventType=other&status=ACTIVE", []),
    ):
        found = (await api("GET", f"/schemas{query}")).json
        assert [each["id"] for each in found["items"]] == expected, query
    page = (await api("GET", "/schemas?limit=2")).json
    rest = (await api("GET", f"/schemas?limit=2&cursor={page['nextCursor']}")).json
    assert [each["id"] for each in page["items"] + rest["items"]] == [draft, second, first]
    assert rest["nextCursor"] is None
    assert (await api("GET", "/schemas?status=LIVE")).paths == ["status"]
    assert (await neighbour("GET", "/schemas")).json["items"] == []
    for method, path in (("GET", ""), ("POST", "/activate"), ("POST", "/deprecate")):
        assert (await neighbour(method, f"/schemas/{draft}{path}")).status == 404
    assert (await neighbour("GET", "/schemas/types/other/versions")).json["items"] == []


async def test_versions_have_no_gaps_however_many_are_made_at_once(
    house: ServiceHouse, tenant: Tenant
) -> None:
    callers = [await house.caller(tenant) for _ in range(8)]
    numbers: list[int] = []

    async def some(api: Caller) -> None:
        numbers.extend([(await made(api))["version"] for _ in range(3)])

    async with trio.open_nursery() as nursery:
        for api in callers:
            nursery.start_soon(some, api)
    assert sorted(numbers) == list(range(1, 25))


async def test_of_two_who_activate_at_once_both_are_told_the_truth(
    house: ServiceHouse, tenant: Tenant
) -> None:
    callers = [await house.caller(tenant) for _ in range(4)]
    versions = [(await made(callers[0]))["id"] for _ in callers]
    statuses: list[int] = []

    async def activate(api: Caller, identifier: str) -> None:
        statuses.append((await api("POST", f"/schemas/{identifier}/activate", {})).status)

    async with trio.open_nursery() as nursery:
        for api, identifier in zip(callers, versions, strict=True):
            nursery.start_soon(activate, api, identifier)
    assert statuses == [200] * 4
    found = (await callers[0]("GET", "/schemas?status=ACTIVE")).json["items"]
    assert len(found) == 1
    assert len((await callers[0]("GET", "/schemas?status=DEPRECATED")).json["items"]) == 3


@each_case(
    ("body", "path"),
    [
        ({"eventType": "e"}, "schema"),
        ({"schema": {}}, "eventType"),
        ({"eventType": "e e", "schema": {}}, "eventType"),
        ({"eventType": "angarium.x", "schema": {}}, "eventType"),
        ({"eventType": "e", "schema": []}, "schema"),
        ({"eventType": "e", "schema": None}, "schema"),
        ({"eventType": "e", "schema": {}, "more": 1}, "more"),
        ({"eventType": "e", "schema": {"type": "objekt"}}, "schema.type"),
        ({"eventType": "e", "schema": {"$ref": "http://127.0.0.1:1/s"}}, "schema.$ref"),
        ({"eventType": "e", "schema": {"$ref": "#/$defs/none"}}, "schema.$ref"),
        ({"eventType": "e", "schema": {"$ref": "#"}}, "schema"),
        ({"eventType": "e", "schema": {"$schema": "urn:x"}}, "schema.$schema"),
        ({"eventType": "e", "schema": {"pattern": "(?=a)"}}, "schema.pattern"),
        ({"eventType": "e", "schema": {"enum": ["x" * 65_536]}}, "schema"),
        ({"eventType": "e", "schema": ORDER, "example": {"id": 1}}, "example.id"),
        ({"eventType": "e", "schema": ORDER, "description": "x" * 2_001}, "description"),
    ],
)  # fmt: skip
async def test_what_is_wrong_with_a_schema_is_named(api: Caller, body: Any, path: str) -> None:
    answer = await api("POST", "/schemas", body)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert path in answer.paths, answer.body


async def test_an_mcp_key_and_a_reader_get_their_own(house: ServiceHouse, tenant: Tenant) -> None:
    mcp = await house.caller(tenant, environment=None, X_Environment="STAGING")
    identifier = await activated(mcp)
    api = await house.caller(tenant)
    assert (await api("GET", f"/schemas/{identifier}")).status == 404
    assert (
        await api("POST", "/events", {"eventType": "order.created", "payload": {}})
    ).status == 202
    reader = await house.caller(tenant, Scope.READ, None, X_Environment="STAGING")
    assert (await reader("GET", f"/schemas/{identifier}")).json["environment"] == "STAGING"
    assert (await reader("POST", "/schemas", {"eventType": "e", "schema": {}})).status == 403
    assert (await reader("POST", "/schemas/infer", {"eventType": "e"})).status == 403


async def test_what_another_server_activates_is_in_force_within_a_second(
    house: ServiceHouse, api: Caller
) -> None:
    """The test writes to the database and notifies the server through PostgreSQL, as another server
    would."""
    identifier = await activated(api)
    event = {"eventType": "order.created", "payload": {}}
    pool, environment = house.server.bridge.pool, next(iter(house.server.models.environments))
    for active, status in ((None, 202), (identifier, 400)):
        await pool.fetch(
            "WITH changed AS (UPDATE event_schema_types SET active = $1::uuid RETURNING 1) "
            "SELECT pg_notify('angarium_changes', json_build_object('kind', 'schema', 'id', "
            "$2::text)::text) FROM changed",
            active,
            identifier,
        )
        with trio.fail_after(HANGS_S):
            # No event announces that the schema is in force.
            while (await api("POST", "/events", event)).status != status:  # noqa: ASYNC110 - see above
                await trio.sleep(0.01)
    # After a lost connection the server reads everything again.
    await pool.fetch("UPDATE event_schema_types SET active = NULL")
    await house.server.loader.load()
    assert house.server.models.check_of(environment, "order.created") is None
    assert (await api("POST", "/events", event)).status == 202


async def test_the_audit_log_says_who_changed_what(house: ServiceHouse, api: Caller) -> None:
    identifier = await activated(api)
    await api("POST", f"/schemas/{identifier}/deprecate", {})
    rows = await house.server.bridge.pool.fetch(
        "SELECT action, object_type, convert_from(changes, 'UTF8')::jsonb ->> 'status' AS status "
        "FROM audit_log WHERE object_id = $1 ORDER BY id",
        identifier,
    )
    assert [row["action"] for row in rows] == [
        "schema.create",
        "schema.activate",
        "schema.deprecate",
    ]
    assert {row["object_type"] for row in rows} == {"schema"}


async def test_a_schema_is_inferred_from_recent_events(api: Caller) -> None:
    assert (await api("POST", "/schemas/infer", {"eventType": "order.created"})).status == 404
    for n in range(25):
        payload = {
            "id": f"01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b{n:02d}",
            "state": ("open", "paid")[n % 2],
            "total": n + 0.5 if n % 3 else n,
            "note": None if n % 2 else "n",
            "items": [{"sku": f"s{n}", "count": n}] * (n % 3),
            "mixed": n if n % 2 else [n],
        }
        event = {"eventType": "order.created", "payload": payload}
        assert (await api("POST", "/events", event)).status == 202
    assert (await api("POST", "/events", {"eventType": "other", "payload": {}})).status == 202
    body = {"eventType": "order.created", "create": True}
    found = (await api("POST", "/schemas/infer", body)).json
    assert found["sampled"] == 25
    properties = found["schema"]["properties"]
    assert properties["id"] == {"type": "string", "format": "uuid"}
    assert properties["state"] == {"type": "string", "enum": ["open", "paid"]}
    assert properties["total"] == {"type": "number"}
    assert properties["note"]["type"] == ["string", "null"]
    assert properties["items"]["items"]["properties"]["count"] == {"type": "integer"}
    assert properties["mixed"]["type"] == ["array", "integer"]
    assert [each["path"] for each in found["conflicts"]] == ["payload.mixed"]
    assert sorted(found["schema"]["required"]) == sorted(properties)
    assert (found["created"]["version"], found["created"]["status"]) == (1, "DRAFT")
    few = (await api("POST", "/schemas/infer", {"eventType": "order.created", "sample": 2})).json
    assert (few["sampled"], few["created"]) == (2, None)
    late = {"eventType": "order.created", "from": "2126-01-01T00:00:00Z"}
    assert (await api("POST", "/schemas/infer", late)).status == 404


async def test_a_page_of_large_schemas_is_short_and_goes_on(api: Caller) -> None:
    large = {"enum": ["x" * 60_000]}
    made_ids = [(await made(api, schema=large))["id"] for _ in range(40)]
    listed: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api("GET", f"/schemas/types/order.created/versions{cursor}")).json
        assert 0 < len(page["items"]) < 40
        listed += [each["id"] for each in page["items"]]
        cursor = page["nextCursor"] and f"?cursor={page['nextCursor']}"
    assert listed == made_ids[::-1]
