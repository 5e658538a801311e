"""The abilities of a workspace's customers: each field, and what customers cannot see."""

import json
from collections.abc import Iterator
from typing import Any

from api.routes import Embed, Route
from api.table import ROUTES, openapi_json
from engine.control.customers import PermissionsDraft
from engine.model.configuration import Tenant
from engine.model.quotas import Ability
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, browser_of, destination, open_service, post
from tests.service.receiver import Receiver

DOCUMENT = json.loads(openapi_json())
# Fields of answers that contain the contents of events, requests or responses. Messages from scripts and
# receivers are among these fields, because a message can quote such contents.
BODIES = {
    *("payload", "metadata", "attachments", "body", "responseBody", "logs"),
    *("errorMessage", "lastError", "filterRead"),
}
# Fields about a sample, which contain nothing of an event.
OF_A_SAMPLE = {
    ("testDestination", "errorMessage"),
    ("previewRoutingRules", "rules.filterRead"),
}
# Routes whose answers have fields for payloads and headers. These fields contain only what the caller
# itself has sent.
OWN_INPUT = {"runTransformScript", "previewTransformScript", "previewDestinationTemplate"}
HOOK = {"name": "d", "url": "https://example.com/hooks"}
BEARER = {"kind": "BEARER", "token": "t0ken"}


async def let(api: Caller, **may: bool) -> None:
    """Give customers all abilities except those whose argument is False."""
    everything = {ability.value: True for ability in Ability}
    changed = await api("PATCH", "/workspace", {"customerMay": {**everything, **may}})
    assert changed.status == 200, changed.body


def resolved(schema: Any) -> Any:
    while isinstance(schema, dict) and "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def fields_of(schema: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    schema = resolved(schema)
    for choice in schema.get("anyOf", []):
        yield from fields_of(choice, path)
    if "items" in schema:
        yield from fields_of(schema["items"], path)
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name)
        yield from fields_of(inner, (*path, name))


def places_of(route: Route) -> set[str]:
    responses = DOCUMENT["paths"][route.path][route.method.lower()]["responses"]
    content = responses[str(min(route.responses))]["content"]
    return {".".join(path) for media in content.values() for path in fields_of(media["schema"])}


def test_whatever_holds_payloads_is_withheld_from_who_may_not_see_them() -> None:
    for route in ROUTES:
        if route.embed is not Embed.OWN or route.name in OWN_INPUT:
            continue
        found = {
            place
            for place in places_of(route)
            if place.rpartition(".")[2] in BODIES and (route.name, place) not in OF_A_SAMPLE
        }
        assert found == set(route.withheld), route.name
    named = {route.name: route for route in ROUTES}
    for name in OWN_INPUT & named.keys():
        ability = named[name].field_abilities.get("eventId")
        assert ability is Ability.VIEW_PAYLOADS, "what it shows of an event of the log"


@each_case(
    ("may", "change", "named"),
    [
        ({"editDestinations": False}, {"name": "n"}, "editDestinations"),
        ({"editDestinations": False}, {"url": "https://example.com/"}, "editDestinations"),
        ({"editDestinations": False}, {"description": None}, "editDestinations"),
        ({"editDestinations": False}, {}, "editDestinations"),
        ({"editDestinations": False}, {"name": "n", "rotateSecret": True}, "editDestinations"),
        ({"editDestinations": False}, {"rotateSecret": True}, None),
        ({"editDestinations": False}, {"headers": {"X-A": "1"}}, None),
        ({"editDestinations": False}, {"delivery": {"concurrency": 2}}, None),
        ({"editHeaders": False}, {"headers": {"X-A": "1"}}, "editHeaders"),
        ({"editHeaders": False}, {"headers": None}, "editHeaders"),
        ({"editHeaders": False}, {"name": "n", "headers": {}}, None),
        ({"editDeliveryOptions": False}, {"delivery": {"dryRun": True}}, "editDeliveryOptions"),
        ({"editDeliveryOptions": False}, {"name": "n", "delivery": None}, "editDeliveryOptions"),
        ({"editDeliveryOptions": False}, {"method": "PUT"}, "editDeliveryOptions"),
        ({"editDeliveryOptions": False}, {"disableAfterSeconds": 60}, "editDeliveryOptions"),
        ({"editDeliveryOptions": False}, {"authentication": BEARER}, None),
        ({"editHeaders": False}, {"authentication": BEARER}, "editHeaders"),
        ({"editHeaders": False}, {"authentication": None}, "editHeaders"),
        ({"editHeaders": False}, {"method": "PATCH", "disableAfterSeconds": None}, None),
        ({"editDestinations": False}, {"authentication": BEARER, "method": "PUT"}, None),
        ({"rotateSecrets": False}, {"rotateSecret": True}, "rotateSecrets"),
        ({"rotateSecrets": False}, {"name": "n", "rotateSecret": False}, None),
        ({"rotateSecrets": False}, {"signing": {"algorithm": "ED25519"}}, "rotateSecrets"),
        ({"rotateSecrets": False}, {"name": "n"}, None),
    ],
)
async def test_a_patch_needs_the_abilities_of_the_fields_that_it_names(
    house: ServiceHouse,
    api: Caller,
    may: dict[str, bool],
    change: dict[str, Any],
    named: str | None,
) -> None:
    # Use a customer per case, because a customer can have at most 20 destinations.
    ada = await browser_of(house, api, f"customer for {named}")
    path = f"/destinations/{(await ada('POST', '/destinations', HOOK)).json['id']}"
    before = (await ada("GET", path)).json
    await let(api, **may)
    answer = await ada("PATCH", path, change)
    if named is None:
        assert answer.status == 200, answer.body
        return
    assert (answer.status, answer.code) == (403, "forbidden")
    assert named in answer.json["message"]
    assert (await ada("GET", path)).json == before
    assert (await api("PATCH", path, change)).status == 200, "a key is not held to it"


@each_case(
    ("may", "more", "named"),
    [
        ({"createDestinations": False}, {}, "createDestinations"),
        ({"editHeaders": False}, {"headers": {"X-A": "1"}}, "editHeaders"),
        ({"editHeaders": False}, {"headers": {}}, None),
        ({"editHeaders": False}, {"headers": None}, None),
        ({"editDeliveryOptions": False}, {"delivery": {"concurrency": 1}}, "editDeliveryOptions"),
        ({"editHeaders": False}, {"authentication": BEARER}, "editHeaders"),
        ({"editHeaders": False}, {"authentication": None, "method": "PUT"}, None),
        ({"editDeliveryOptions": False}, {"method": "PUT"}, "editDeliveryOptions"),
        ({"editDeliveryOptions": False}, {"disableAfterSeconds": 60}, "editDeliveryOptions"),
        ({"editDeliveryOptions": False}, {"authentication": BEARER}, None),
        ({"editDestinations": False}, {"description": "mine"}, None),
        ({"rotateSecrets": False}, {"signing": {"algorithm": "ED25519"}}, None),
    ],
)
async def test_a_destination_is_made_of_what_a_customer_may_set(
    house: ServiceHouse, api: Caller, may: dict[str, bool], more: dict[str, Any], named: str | None
) -> None:
    ada = await browser_of(house, api)
    await let(api, **may)
    before = (await api("GET", "/destinations")).json
    answer = await ada("POST", "/destinations", {**HOOK, **more})
    if named is None:
        assert answer.status == 201, answer.body
        return
    assert (answer.status, answer.code) == (403, "forbidden")
    assert named in answer.json["message"]
    assert (await api("GET", "/destinations")).json == before
    assert answer.paths == list(more)


async def test_what_is_refused_says_nothing_of_what_exists_and_comes_before_other_faults(
    house: ServiceHouse, api: Caller
) -> None:
    ada = await browser_of(house, api)
    theirs = (await api("POST", "/destinations", HOOK)).json["id"]
    await let(api, archiveDestinations=False, createDestinations=False, editHeaders=False)
    nobody = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
    answers = [await ada("DELETE", f"/destinations/{which}") for which in (theirs, nobody)]
    assert [answer.status for answer in answers] == [403, 403]
    text = {"Content-Type": "text/plain"}
    refused = await ada("POST", "/destinations", body=b"{", headers=text)
    assert refused.status == 403, "403 comes before 415 and 400"
    refused = await ada("PATCH", f"/destinations/{nobody}", {"headers": {"X": "1"}, "name": 7})
    assert refused.status == 403, "and before what else is wrong with the body"


async def test_who_may_not_see_payloads_sees_everything_else(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    ada = await browser_of(house, api)
    made = await destination(ada, receiver.url())
    event = await post(api, customerExternalId="ada", payload={"card": "4111"}, metadata={"a": 1})
    page = await house.until(
        ada,
        f"/events/{event}/deliveries",
        lambda page: page["items"] and page["items"][0]["status"] == "DELIVERED",
    )
    delivery = page["items"][0]["id"]
    paths = [f"/events/{event}", f"/deliveries/{delivery}"]
    seen = [(await ada("GET", path)).json for path in paths]
    assert seen[0]["payload"] == seen[1]["event"]["payload"] == {"card": "4111"}
    assert "4111" in seen[1]["request"]["body"]
    await let(api, viewPayloads=False)
    hidden = [await ada("GET", path) for path in paths]
    assert all(b"4111" not in answer.body for answer in hidden)
    blank = {"payload": None, "metadata": None, "attachments": None}
    assert hidden[0].json == {**seen[0], **blank}
    (attempt,) = seen[1]["attempts"]
    assert hidden[1].json == {
        **seen[1],
        "event": {**seen[1]["event"], **blank},
        "request": {**seen[1]["request"], "body": None},
        "attempts": [{**attempt, "responseBody": None, "errorMessage": None, "logs": None}],
    }
    tested = (await ada("POST", f"/destinations/{made}/test")).json
    assert (tested["success"], tested["responseBody"]) == (True, None)
    for path, answer in zip(paths, seen, strict=True):
        assert (await api("GET", path)).json["id"] == answer["id"]
        assert b"4111" in (await api("GET", path)).body, "a key sees it"


async def test_a_script_that_fails_with_a_payloads_words_shows_them_to_nobody_else(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    ada = await browser_of(house, api)
    made = await destination(ada, receiver.url(), delivery={"retrySchedule": []})
    source = "function transform(event) { throw new Error('card ' + event.data.card); }"
    script = (
        await ada(
            "POST", "/transform-scripts", {"destinationId": made, "name": "s", "source": source}
        )
    ).json["id"]
    assert (await ada("POST", f"/transform-scripts/{script}/publish")).status == 200
    event = await post(api, customerExternalId="ada", payload={"card": "4111"})
    page = await house.until(
        ada,
        f"/events/{event}/deliveries",
        lambda page: page["items"] and page["items"][0]["dlqStatus"] == "IN_DLQ",
    )
    delivery = page["items"][0]["id"]
    paths = (f"/deliveries/{delivery}", "/dlq", f"/dlq/{delivery}", f"/destinations/{made}/health")
    assert all([b"card 4111" in (await ada("GET", path)).body for path in paths])
    await let(api, viewPayloads=False)
    for path in paths:
        hidden = await ada("GET", path)
        assert hidden.status == 200
        assert b"4111" not in hidden.body, path
        assert b"card 4111" in (await api("GET", path)).body, "a key sees it"


async def test_a_portal_learns_whose_session_it_is_and_what_to_offer(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    made = (await api("POST", "/embed/sessions", {"customerExternalId": "ada"})).json
    ada = house.caller_with(made["token"])
    first = (await ada("GET", "/embed/context")).json
    assert first == {
        "workspaceId": tenant.workspace.id,
        "workspaceName": "acme",
        "environment": "DEVELOPMENT",
        "customerAccountId": made["customerAccountId"],
        "customerExternalId": "ada",
        "expiresAt": made["expiresAt"],
        "branding": {
            "name": None,
            "logoUrl": None,
            "colors": {"primary": None, "accent": None, "background": None, "text": None},
            "locale": None,
            "supportUrl": None,
        },
        "locale": "en",
        "permissions": {ability.value: True for ability in Ability},
        "returnUrl": None,
        "limits": {
            "requestsPerMinute": 1_200,
            "destinations": 20,
            "rules": 100,
            "transforms": 20,
            "retentionDays": 30,
        },
    }
    branding = {"name": "Acme", "locale": "fr", "colors": {"primary": "#0b5fff"}}
    back = "https://acme.example.com/settings"
    change = {"branding": branding, "customerMay": {"replay": False}, "returnUrl": back}
    await api("PATCH", "/workspace", change)
    second = (await ada("GET", "/embed/context")).json
    seen = (await ada("GET", "/auth/context")).json
    assert second["returnUrl"] == back
    for name in ("workspaceId", "returnUrl", "branding", "permissions"):
        assert seen[name] == second[name], name
    of_key = (await api("GET", "/auth/context")).json
    assert (of_key["returnUrl"], of_key["branding"]) == (back, second["branding"])
    assert of_key["permissions"] is None
    assert (second["locale"], second["branding"]["name"]) == ("fr", "Acme")
    assert [name for name, may in second["permissions"].items() if not may] == ["replay"]
    mcp = await house.caller(tenant, environment=None, X_Environment="DEVELOPMENT")
    for caller in (api, mcp):
        refused = await caller("GET", "/embed/context")
        assert (refused.status, refused.code) == (403, "forbidden")


async def test_a_plan_without_scripts_offers_none(bridge: Bridge) -> None:
    async with open_service(bridge) as house:
        api = await house.caller(await house.tenant("small", "free"))
        shown = (await (await browser_of(house, api))("GET", "/embed/context")).json
        assert shown["permissions"]["manageTransforms"] is False
        assert shown["limits"] == {
            "requestsPerMinute": 120,
            "destinations": 10,
            "rules": 100,
            "transforms": 0,
            "retentionDays": 7,
        }


async def test_one_customers_permissions_stand_in_the_place_of_the_workspaces(
    house: ServiceHouse, api: Caller
) -> None:
    ada, bob = await browser_of(house, api), await browser_of(house, api, "bob")
    await let(api, editHeaders=False)
    own = {"editHeaders": True, "createDestinations": False, "replay": None}
    put = await api("PUT", "/customers/ada", {"permissions": own})
    assert put.json["permissions"] == dict.fromkeys(put.json["permissions"]) | own
    assert put.json["permissions"].keys() == {ability.value for ability in Ability}
    assert (await ada("POST", "/destinations", HOOK)).status == 403
    with_headers = {**HOOK, "headers": {"X-A": "1"}}
    assert (await bob("POST", "/destinations", with_headers)).status == 403
    for path in ("/embed/context", "/auth/context"):
        shown = (await ada("GET", path)).json["permissions"]
        assert (shown["editHeaders"], shown["createDestinations"]) == (True, False)
        assert (await bob("GET", path)).json["permissions"]["createDestinations"] is True
    (entry, *_) = (await api("GET", "/audit-logs?objectType=customer")).json["items"]
    assert entry["changes"]["permissions"]["to"]["editHeaders"] is True
    assert (await api("PUT", "/customers/ada", {})).status == 200
    assert (await ada("POST", "/destinations", HOOK)).status == 201
    assert (await ada("POST", "/destinations", with_headers)).status == 403
    for wrong in ({"everything": True}, {"replay": "no"}):
        refused = await api("PUT", "/customers/ada", {"permissions": wrong})
        assert (refused.status, refused.paths) == (400, [f"permissions.{next(iter(wrong))}"])


def test_customers_have_each_ability_of_their_own() -> None:
    names = {field.alias for field in PermissionsDraft.model_fields.values()}
    assert names == {ability.value for ability in Ability}
