"""Event schemas end to end: versions, their states, what they refuse, and what is inferred."""

from typing import Any

from tests.api.house import Caller

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
