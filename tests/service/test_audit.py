"""The audit log on a whole server: every write leaves a complete entry without secrets."""

from collections.abc import Awaitable, Callable
from typing import Any

from api.routes import MANAGE
from api.table import ROUTES
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

Json = dict[str, Any]
Write = Callable[["Stage"], Awaitable[tuple[str, Json]]]
HOOK = "https://example.com/hooks"
EXEMPT = {
    "testDestination": "sends a sample, which is in the delivery log; no configuration changes",
    "runTransformScript": "answers what it would make; nothing is sent or kept",
    "previewTransformScript": "answers what it would make; nothing is sent or kept",
    "inferSchema": "answers a draft; the one that it makes is a createSchema, and leaves its entry",
}


class Stage:
    def __init__(self, house: ServiceHouse, api: Caller, receiver: Receiver) -> None:
        self.house, self.api, self.receiver = house, api, receiver

    async def made(self, path: str, document: Json) -> str:
        answer = await self.api("POST", path, document)
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    async def destination(self) -> str:
        return await self.made("/destinations", {"name": "n", "url": HOOK})

    async def rule(self, *, enabled: bool = True) -> str:
        draft = {"name": "r", "destinationId": await self.destination(), "eventTypes": ["a.b"]}
        return await self.made("/routing-rules", {**draft, "enabled": enabled})

    async def key(self) -> str:
        draft = {"kind": "API_KEY", "name": "k", "scope": "read", "environment": "DEVELOPMENT"}
        return await self.made("/api-keys", draft)

    async def schema(self) -> str:
        return await self.made("/schemas", {"eventType": "a.b", "schema": {"type": "object"}})

    async def script(self) -> str:
        source = "function transform(event) { return event; /* hidden */ }"
        draft = {"destinationId": await self.destination(), "name": "s", "source": source}
        return await self.made("/transform-scripts", draft)

    async def dead(self) -> str:
        self.receiver.answer = lambda _: 500
        await destination(self.api, self.receiver.url(), delivery={"retrySchedule": []})
        event = await post(self.api)
        path = f"/events/{event}/deliveries"
        page = await self.house.until(
            self.api, path, lambda page: page["items"][0]["dlqStatus"] == "IN_DLQ"
        )
        return str(page["items"][0]["id"])

    async def waiting(self) -> str:
        self.receiver.answer = lambda _: 500
        made = await destination(
            self.api, self.receiver.url(), ["waits"], delivery={"retrySchedule": [3600]}
        )
        await post(self.api, "waits")
        page = await self.house.until(
            self.api,
            f"/destinations/{made}/deliveries",
            lambda page: page["items"][0]["status"] == "RETRYING",
        )
        return str(page["items"][0]["id"])

    async def job(self) -> str:
        self.receiver.answer = lambda _: 204
        made = await destination(self.api, self.receiver.url(), ["job.one"])
        event = await post(self.api, "job.one")
        page = (await self.api("GET", f"/destinations/{made}/deliveries")).json
        await self.house.settled(self.api, page["items"][0]["id"])
        assert page["items"][0]["eventId"] == event
        assert (await self.api("POST", f"/destinations/{made}/disable", {})).status == 200
        return await self.made("/replay-jobs", {"destinationId": made})


async def _create_destination(stage: Stage) -> tuple[str, Json]:
    return "/destinations", {"name": "n", "url": HOOK, "headers": {"X-Api-Key": "hidden"}}


async def _update_destination(stage: Stage) -> tuple[str, Json]:
    return f"/destinations/{await stage.destination()}", {"name": "other", "rotateSecret": True}


async def _archive_destination(stage: Stage) -> tuple[str, Json]:
    return f"/destinations/{await stage.destination()}", {}


async def _enable_destination(stage: Stage) -> tuple[str, Json]:
    made = await stage.destination()
    await stage.api("POST", f"/destinations/{made}/disable", {})
    return f"/destinations/{made}/enable", {}


async def _disable_destination(stage: Stage) -> tuple[str, Json]:
    return f"/destinations/{await stage.destination()}/disable", {}


async def _create_rule(stage: Stage) -> tuple[str, Json]:
    made = await stage.destination()
    return "/routing-rules", {"name": "r", "destinationId": made, "eventTypes": ["a.b"]}


async def _update_rule(stage: Stage) -> tuple[str, Json]:
    return f"/routing-rules/{await stage.rule()}", {"priority": "HIGH"}


async def _delete_rule(stage: Stage) -> tuple[str, Json]:
    return f"/routing-rules/{await stage.rule()}", {}


async def _enable_rule(stage: Stage) -> tuple[str, Json]:
    return f"/routing-rules/{await stage.rule(enabled=False)}/enable", {}


async def _disable_rule(stage: Stage) -> tuple[str, Json]:
    return f"/routing-rules/{await stage.rule()}/disable", {}


async def _create_schema(stage: Stage) -> tuple[str, Json]:
    return "/schemas", {"eventType": "a.b", "schema": {"type": "object"}}


async def _activate_schema(stage: Stage) -> tuple[str, Json]:
    return f"/schemas/{await stage.schema()}/activate", {}


async def _deprecate_schema(stage: Stage) -> tuple[str, Json]:
    made = await stage.schema()
    assert (await stage.api("POST", f"/schemas/{made}/activate", {})).status == 200
    return f"/schemas/{made}/deprecate", {}


async def _create_script(stage: Stage) -> tuple[str, Json]:
    source = "function transform(event) { return event; /* hidden */ }"
    made = await stage.destination()
    return "/transform-scripts", {"destinationId": made, "name": "s", "source": source}


async def _publish_script(stage: Stage) -> tuple[str, Json]:
    return f"/transform-scripts/{await stage.script()}/publish", {}


async def _unpublish_script(stage: Stage) -> tuple[str, Json]:
    path, document = await _publish_script(stage)
    assert (await stage.api("POST", path, document)).status == 200
    return path.replace("publish", "unpublish"), {}


async def _delete_script(stage: Stage) -> tuple[str, Json]:
    return f"/transform-scripts/{await stage.script()}", {}


async def _retry(stage: Stage) -> tuple[str, Json]:
    return f"/dlq/{await stage.dead()}/retry", {}


async def _retry_many(stage: Stage) -> tuple[str, Json]:
    return "/dlq/retry", {"deliveryIds": [await stage.dead()]}


async def _discard_many(stage: Stage) -> tuple[str, Json]:
    return "/dlq/discard", {"deliveryIds": [await stage.dead()]}


async def _retry_waiting(stage: Stage) -> tuple[str, Json]:
    return f"/deliveries/{await stage.waiting()}/retry", {}


async def _erase(stage: Stage) -> tuple[str, Json]:
    return f"/events/{await post(stage.api, 'never.heard')}/payload", {}


async def _cancel_waiting(stage: Stage) -> tuple[str, Json]:
    return f"/deliveries/{await stage.waiting()}/cancel", {}


async def _resume(stage: Stage) -> tuple[str, Json]:
    return f"/destinations/{await stage.destination()}/resume", {}


async def _erase_customer(stage: Stage) -> tuple[str, Json]:
    return "/customers/audited", {}


async def _create_job(stage: Stage) -> tuple[str, Json]:
    return "/replay-jobs", {"destinationId": await stage.destination()}


async def _cancel_all(stage: Stage) -> tuple[str, Json]:
    return "/deliveries/cancel", {"destinationId": await stage.destination()}


async def _retry_all(stage: Stage) -> tuple[str, Json]:
    return "/deliveries/retry", {"destinationId": await stage.destination()}


async def _cancel_job(stage: Stage) -> tuple[str, Json]:
    return f"/replay-jobs/{await stage.job()}/cancel", {}


async def _update_job(stage: Stage) -> tuple[str, Json]:
    return f"/replay-jobs/{await stage.job()}", {"ratePerSecond": 7}


async def _create_key(stage: Stage) -> tuple[str, Json]:
    draft = {"kind": "API_KEY", "name": "k", "scope": "read", "environment": "DEVELOPMENT"}
    return "/api-keys", draft


async def _rotate_key(stage: Stage) -> tuple[str, Json]:
    return f"/api-keys/{await stage.key()}/rotate", {}


async def _revoke_key(stage: Stage) -> tuple[str, Json]:
    return f"/api-keys/{await stage.key()}", {}


async def _embed(stage: Stage) -> tuple[str, Json]:
    return "/embed/sessions", {"customerExternalId": "acme"}


async def _customer(stage: Stage) -> tuple[str, Json]:
    session = {"customerExternalId": "audited"}
    assert (await stage.api("POST", "/embed/sessions", session)).status == 201
    return "/customers/audited", {"quotas": {"rules": 7}}


async def _workspace(stage: Stage) -> tuple[str, Json]:
    return "/workspace", {"customerMay": {"replay": False}}


async def _drain(stage: Stage) -> tuple[str, Json]:
    path = "/observability/nodes"
    page = await stage.house.until(stage.api, path, lambda page: page["items"])
    return f"{path}/{page['items'][0]['machine']}/drain", {}


async def _undrain(stage: Stage) -> tuple[str, Json]:
    path, _ = await _drain(stage)
    assert (await stage.api("POST", path, {})).status == 200
    return path.replace("/drain", "/undrain"), {}


WRITES: dict[str, tuple[Write, str]] = {
    "createDestination": (_create_destination, "destination.create"),
    "updateDestination": (_update_destination, "destination.update"),
    "archiveDestination": (_archive_destination, "destination.archive"),
    "enableDestination": (_enable_destination, "destination.enable"),
    "disableDestination": (_disable_destination, "destination.disable"),
    "createRoutingRule": (_create_rule, "routing_rule.create"),
    "updateRoutingRule": (_update_rule, "routing_rule.update"),
    "deleteRoutingRule": (_delete_rule, "routing_rule.delete"),
    "enableRoutingRule": (_enable_rule, "routing_rule.enable"),
    "disableRoutingRule": (_disable_rule, "routing_rule.disable"),
    "createSchema": (_create_schema, "schema.create"),
    "activateSchema": (_activate_schema, "schema.activate"),
    "deprecateSchema": (_deprecate_schema, "schema.deprecate"),
    "createTransformScript": (_create_script, "transform_script.create"),
    "publishTransformScript": (_publish_script, "transform_script.publish"),
    "unpublishTransformScript": (_unpublish_script, "transform_script.unpublish"),
    "deleteTransformScript": (_delete_script, "transform_script.delete"),
    "retryDlqEntry": (_retry, "dlq.retry"),
    "retryDlq": (_retry_many, "dlq.retry"),
    "discardDlq": (_discard_many, "dlq.discard"),
    "retryDelivery": (_retry_waiting, "delivery.retry"),
    "cancelDelivery": (_cancel_waiting, "delivery.cancel"),
    "eraseEvent": (_erase, "event.erase"),
    "resumeDestination": (_resume, "destination.resume"),
    "createReplayJob": (_create_job, "replay_job.create"),
    "cancelDeliveries": (_cancel_all, "replay_job.create"),
    "retryDeliveries": (_retry_all, "replay_job.create"),
    "updateReplayJob": (_update_job, "replay_job.update"),
    "cancelReplayJob": (_cancel_job, "replay_job.cancel"),
    "createApiKey": (_create_key, "api_key.create"),
    "rotateApiKey": (_rotate_key, "api_key.rotate"),
    "revokeApiKey": (_revoke_key, "api_key.revoke"),
    "createEmbedSession": (_embed, "embed_session.create"),
    "putCustomer": (_customer, "customer.update"),
    "eraseCustomer": (_erase_customer, "customer.erase"),
    "updateWorkspace": (_workspace, "workspace.update"),
    "drainMachine": (_drain, "machine.drain"),
    "undrainMachine": (_undrain, "machine.undrain"),
}
_ROUTES = [route for route in ROUTES if route.scopes == MANAGE and route.method != "GET"]


def test_every_write_is_known_here() -> None:
    named = {route.name for route in _ROUTES}
    assert named - WRITES.keys() - EXEMPT.keys() == set(), "say here how it is called, or why not"
    assert (WRITES.keys() | EXEMPT.keys()) - named == set(), "no such write any more"


async def test_every_write_leaves_an_entry_with_before_and_after(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    stage = Stage(house, api, receiver)
    actor = (await api("GET", "/auth/context")).json["keyId"]
    for route in _ROUTES:
        if route.name in EXEMPT:
            continue
        prepare, action = WRITES[route.name]
        path, document = await prepare(stage)
        answer = await api(route.method, path, document, headers={"X-Request-Id": route.name})
        assert answer.status in (200, 201, 202), (route.name, answer.body)
        page = (await api("GET", f"/audit-logs?action={action}&limit=1")).json
        entry = page["items"][0]
        assert entry["requestId"] == route.name, f"{route.name} leaves no entry"
        assert (entry["actorType"], entry["actorId"]) == ("API_KEY", actor)
        assert entry["objectType"] == action.partition(".")[0]
        assert entry["environment"] == "DEVELOPMENT"
        assert entry["changes"], f"{route.name} does not say what changed"
        assert (await api("GET", f"/audit-logs/{entry['id']}")).json == entry
        if answer.json.get("id") and entry["objectId"] != "*":
            assert entry["objectId"] == answer.json["id"]
    assert b"hidden" not in (await api("GET", "/audit-logs?limit=100")).body


async def test_a_change_that_changes_nothing_and_one_that_is_refused_leave_no_entry(
    api: Caller,
) -> None:
    made = await api("POST", "/destinations", {"name": "n", "url": HOOK})
    path = f"/destinations/{made.json['id']}"
    assert (await api("PATCH", path, {"name": "n"})).status == 200
    assert (await api("POST", f"{path}/enable", {})).status == 200
    assert (await api("PATCH", path, {"name": ""})).status == 400
    page = (await api("GET", f"/audit-logs?objectId={made.json['id']}")).json
    assert [item["action"] for item in page["items"]] == ["destination.create"]


async def test_the_signing_secret_and_masked_headers_are_never_told(api: Caller) -> None:
    made = await api(
        "POST",
        "/destinations",
        {"name": "n", "url": HOOK, "headers": {"Authorization": "Bearer 1"}},
    )
    path = f"/destinations/{made.json['id']}"
    changed = await api(
        "PATCH", path, {"rotateSecret": True, "headers": {"Authorization": "Bearer 2"}}
    )
    page = await api("GET", "/audit-logs")
    for secret in (made.json["secret"], changed.json["secret"], "Bearer 1", "Bearer 2"):
        assert secret.encode() not in page.body
    assert page.json["items"][0]["changes"]["secret"] == {"from": "***", "to": "***"}


async def test_each_filter_and_their_combinations_select(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    other = await house.caller(tenant)
    mine = [await api("POST", "/destinations", {"name": "n", "url": HOOK}) for _ in range(3)]
    theirs = await other("POST", "/destinations", {"name": "n", "url": HOOK})
    ids = [each.json["id"] for each in (*mine, theirs)]
    await other("PATCH", f"/destinations/{ids[0]}", {"name": "m"})
    actor = (await other("GET", "/auth/context")).json["keyId"]
    entries = (await api("GET", "/audit-logs?objectType=destination")).json["items"]
    update, last, middle = entries[0], entries[1], entries[3]

    async def selected(query: str) -> list[str]:
        answer = await api("GET", f"/audit-logs?{query}")
        assert answer.status == 200, answer.body
        return [item["id"] for item in answer.json["items"]]

    everything = [entry["id"] for entry in entries]
    assert len(everything) == 5
    assert await selected("action=destination.update") == [update["id"]]
    assert await selected(f"objectId={ids[0]}") == [everything[0], everything[4]]
    assert await selected(f"actorId={actor}") == [update["id"], last["id"]]
    assert await selected(f"actorId={actor}&action=destination.create") == [last["id"]]
    assert await selected(f"objectId={ids[3]}&action=destination.update") == []
    assert await selected("objectType=destination&actorId=nobody") == []
    assert await selected(f"objectType=destination&from={middle['createdAt']}") == everything[:4]
    assert set(await selected(f"objectType=destination&to={middle['createdAt']}")) <= set(
        everything[3:]
    )
    first = (await api("GET", "/audit-logs?objectType=destination&limit=2")).json
    rest = await api(
        "GET", f"/audit-logs?objectType=destination&limit=3&cursor={first['nextCursor']}"
    )
    assert [item["id"] for item in (*first["items"], *rest.json["items"])] == everything
    assert rest.json["nextCursor"] is None


async def test_an_entry_is_seen_in_its_environment_and_workspace_alone(
    house: ServiceHouse, tenant: Tenant, api: Caller, neighbour: Caller
) -> None:
    await api("POST", "/destinations", {"name": "n", "url": HOOK})
    entry = (await api("GET", "/audit-logs?limit=1")).json["items"][0]["id"]
    staging = await house.caller(tenant, environment=Environment.STAGING)
    mcp = await house.caller(tenant, Scope.READ, environment=None, X_Environment="DEVELOPMENT")
    reader = await house.caller(tenant, Scope.READ)
    for caller, status in ((reader, 200), (mcp, 200), (staging, 404), (neighbour, 404)):
        assert (await caller("GET", f"/audit-logs/{entry}")).status == status
        listed = {item["id"] for item in (await caller("GET", "/audit-logs")).json["items"]}
        assert (entry in listed) is (status == 200)
    own = {item["action"] for item in (await mcp("GET", "/audit-logs")).json["items"]}
    assert {"workspace.create", "destination.create"} <= own
    assert "workspace.create" not in str((await api("GET", "/audit-logs?limit=100")).json)
    ingest = await house.caller(tenant, Scope.INGEST)
    assert (await ingest("GET", "/audit-logs")).status == 403
    assert (await api("GET", "/audit-logs/nothing")).status == 404
