"""Routing rules: accepted values, shown values, and later changes."""

from typing import Any

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from engine.control import rules as control
from engine.core.vocabulary import Priority
from engine.plans.plans import BUILT_IN
from tests.api.house import Caller, House
from tests.api.test_destinations import make as make_destination

UNKNOWN = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"


async def make(api: Caller, **fields: Any) -> dict[str, Any]:
    if "destinationId" not in fields:
        fields["destinationId"] = (await make_destination(api))["id"]
    response = await api(
        "POST", "/routing-rules", {"name": "r", "eventTypes": ["order.*"], **fields}
    )
    assert response.status == 201, response.body
    return dict(response.json)


async def test_a_rule_is_created_shown_and_routed_by(api: Caller, house: House) -> None:
    made = await make(api, priority="HIGH", eventTypes=["order.*", "*", "angarium.*", "*.x.y-z_1"])
    assert (made["filter"], made["enabled"], made["environment"]) == (None, True, "DEVELOPMENT")
    assert (await api("GET", f"/routing-rules/{made['id']}")).json == made
    assert house.models.rules[made["id"]].priority is Priority.HIGH
    defaults = await make(api, filter=None)
    assert defaults["priority"] == "STANDARD"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "name"),
    ({"eventTypes": []}, "eventTypes"),
    ({"eventTypes": "order.*"}, "eventTypes"),
    ({"eventTypes": [""]}, "eventTypes[0]"),
    ({"eventTypes": ["ok", "order*"]}, "eventTypes[1]"),
    ({"eventTypes": ["**"]}, "eventTypes[0]"),
    ({"eventTypes": ["a b"]}, "eventTypes[0]"),
    ({"eventTypes": ["x" * 257]}, "eventTypes[0]"),
    ({"eventTypes": ["x"] * 101}, "eventTypes"),
    ({"filter": ""}, "filter"),
    ({"filter": 1}, "filter"),
    ({"filter": "event.payload.x =="}, "filter"),
    ({"filter": "event.other == 1"}, "filter"),
    ({"filter": "payload.x == 1"}, "filter"),
    ({"filter": "true || " + "x" * 2048}, "filter"),
    ({"filter": "event.source in ['" + "é" * 1020 + "']"}, "filter"),
    ({"priority": "URGENT"}, "priority"),
    ({"enabled": "true"}, "enabled"),
    ({"destinationId": "x"}, "destinationId"),
    ({"destinationId": None}, "destinationId"),
    ({"bogus": 1}, "bogus"),
]


async def test_a_bad_rule_is_refused_naming_the_field(api: Caller) -> None:
    made = await make(api)
    good = {"name": "r", "destinationId": made["destinationId"], "eventTypes": ["a"]}
    for fields, path in BAD:
        for method, where, document in (
            ("POST", "/routing-rules", {**good, **fields}),
            ("PATCH", f"/routing-rules/{made['id']}", fields),
        ):
            response = await api(method, where, document)
            assert (response.status, response.code) == (400, "invalid_request"), (fields, response)
            assert path in response.paths, (fields, response.body)
    assert (await api("GET", "/routing-rules")).json["items"] == [made]


async def test_a_destination_that_is_unknown_or_anothers_is_not_found(
    api: Caller, neighbour: Caller, staging: Caller
) -> None:
    theirs = [(await make_destination(other))["id"] for other in (neighbour, staging)]
    made = await make(api)
    for identifier in (UNKNOWN, *theirs):
        document = {"name": "r", "destinationId": identifier, "eventTypes": ["a"]}
        assert (await api("POST", "/routing-rules", document)).code == "not_found"
        patch = {"destinationId": identifier}
        assert (await api("PATCH", f"/routing-rules/{made['id']}", patch)).code == "not_found"


async def test_a_patch_merges_and_null_is_the_default(api: Caller, house: House) -> None:
    other = (await make_destination(api))["id"]
    made = await make(api, priority="CRITICAL", enabled=False)
    path = f"/routing-rules/{made['id']}"
    for patch, expected in (
        ({"name": "n"}, {"name": "n", "priority": "CRITICAL"}),
        ({"priority": None}, {"priority": "STANDARD"}),
        ({"enabled": None}, {"enabled": True}),
        ({"destinationId": other.upper()}, {"destinationId": other}),
        ({"eventTypes": ["b"], "filter": None}, {"eventTypes": ["b"]}),
        ({}, {"name": "n"}),
    ):
        changed = await api("PATCH", path, patch)
        assert changed.status == 200, changed.body
        assert expected.items() <= changed.json.items()
        assert (await api("GET", path)).json == changed.json
    assert house.models.rules[made["id"]].event_types == ("b",)


async def test_rules_are_switched_and_removed(api: Caller, house: House) -> None:
    made = await make(api)
    path = f"/routing-rules/{made['id']}"
    for verb, enabled in (("disable", False), ("disable", False), ("enable", True)):
        switched = await api("POST", f"{path}/{verb}", {})
        assert switched.json["enabled"] is enabled
        assert house.models.rules[made["id"]].enabled is enabled
    assert (await api("DELETE", path, {})).json == {"success": True}
    assert made["id"] not in house.models.rules
    for method, where in (("DELETE", path), ("GET", path), ("POST", f"{path}/enable")):
        assert (await api(method, where)).code == "not_found"
    assert (await api("PATCH", path, {"name": "x"})).code == "not_found"


async def test_lists_filter_and_page(api: Caller) -> None:
    one, two = [(await make_destination(api))["id"] for _ in range(2)]
    made = [
        await make(api, destinationId=destination, enabled=enabled)
        for destination, enabled in ((one, True), (two, False), (one, False))
    ]
    for query, expected in (
        ("", [2, 1, 0]),
        (f"?destinationId={one}", [2, 0]),
        ("?enabled=false", [2, 1]),
        (f"?enabled=true&destinationId={two}", []),
        ("?limit=3", [2, 1, 0]),
    ):
        listed = (await api("GET", f"/routing-rules{query}")).json
        assert [made.index(item) for item in listed["items"]] == expected
        assert listed["nextCursor"] is None
    first = (await api("GET", "/routing-rules?limit=2")).json
    rest = (await api("GET", f"/routing-rules?limit=2&cursor={first['nextCursor']}")).json
    assert [made.index(item) for item in first["items"] + rest["items"]] == [2, 1, 0]


async def test_an_environment_has_a_limited_number_of_rules(
    house: House, api: Caller, staging: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = {"scale": structs.replace(BUILT_IN["scale"], rules=2)}
    monkeypatch.setattr(house.plans, "_plans", plans)
    destination = (await make_destination(api))["id"]
    made = [await make(api, destinationId=destination) for _ in range(2)]
    body = {"name": "r", "destinationId": destination, "eventTypes": ["a"]}
    with capture_logs() as lines:
        assert (await api("POST", "/routing-rules", body)).code == "plan_limit"
    (line,) = [each for each in lines if each["event"] == "plan.limit_reached"]
    workspace = (await api("GET", "/auth/context")).json["workspaceId"]
    assert (line["log_level"], line["workspace"]) == ("warning", workspace)
    await make(staging)
    await api("DELETE", f"/routing-rules/{made[0]['id']}")
    assert (await api("POST", "/routing-rules", body)).status == 201


async def test_the_patterns_of_a_rule_have_a_bound_together(
    api: Caller, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = control.MAX_PATTERN_CHARACTERS
    patterns = ["a" * 256] * (limit // 256)
    made = await make(api, eventTypes=patterns)
    body = {"name": "r", "destinationId": made["destinationId"], "eventTypes": [*patterns, "a"]}
    refused = await api("POST", "/routing-rules", body)
    assert (refused.status, refused.paths) == (400, ["eventTypes"])
    path = f"/routing-rules/{made['id']}"
    refused = await api("PATCH", path, {"eventTypes": [*patterns, "a"]})
    assert (refused.status, refused.paths) == (400, ["eventTypes"])
    # The limit on characters becomes lower than the number of characters in the rule's patterns. The rule
    # can still be disabled and renamed.
    monkeypatch.setattr(control, "MAX_PATTERN_CHARACTERS", limit - 1)
    assert (await api("POST", f"{path}/disable", {})).status == 200
    assert (await api("PATCH", path, {"name": "other"})).status == 200
