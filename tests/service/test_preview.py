"""The preview of an event: the result of each rule, and the destinations. It agrees with ingestion."""

from typing import Any

import pytest
import trio

from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from engine.model.read_models import SessionCustomer
from engine.routing.judge import EventJudge
from tests.api.house import Caller
from tests.engine.test_pattern_index import dearest
from tests.engine.test_router import rule as made_rule
from tests.service.house import ServiceHouse, post
from tests.service.test_filters import a_destination, deliveries_of, rule

HOOK = "https://example.com/hook"
EVENT = {"eventType": "order.created", "payload": {"total": 50, "country": "DE"}}


async def preview(api: Caller, event: Any = None, **more: Any) -> Any:
    return await api("POST", "/routing-rules/preview", {"event": event or EVENT, **more})


async def test_each_rule_that_names_the_type_says_why(house: ServiceHouse, api: Caller) -> None:
    everyone = await a_destination(api, HOOK)
    ada = await a_destination(api, HOOK, customerExternalId="ada")
    archived = await a_destination(api, HOOK)
    held = await a_destination(api, HOOK)
    rules: dict[str, dict[str, Any]] = {
        "plain": {"to": everyone},
        "high": {"to": everyone, "priority": "HIGH", "filter": "event.payload.total < 100"},
        "false": {"to": everyone, "priority": "CRITICAL", "filter": "event.payload.total > 100"},
        "failing": {"to": everyone, "filter": "event.payload.none == 1"},
        "off": {"to": everyone, "enabled": False},
        "other type": {"to": everyone, "eventTypes": ["refund.*"]},
        "ada's": {"to": ada, "eventTypes": ["x.y", "order.created"]},
        "archived": {"to": archived},
        "held": {"to": held},
    }
    ids = {}
    for name, fields in rules.items():
        to = str(fields.pop("to"))
        made = await rule(api, to, **{"name": name, **fields})
        assert made.status == 201, made.body
        ids[name] = made.json["id"]
    await api("DELETE", f"/destinations/{archived}")
    await api("POST", f"/destinations/{held}/disable", {})
    trial = {"name": "archived", "destinationId": archived, "eventTypes": ["order.*"]}
    found = (await preview(api, rule=trial)).json
    assert ids["archived"] not in {each["ruleId"] for each in found["rules"]}
    assert (found["accepted"], found["refusal"], found["otherRules"]) == (True, None, 1)
    by_name = {each["name"]: each for each in found["rules"]}
    assert {name: each["reason"] for name, each in by_name.items()} == {
        "plain": "MATCHES",
        "high": "MATCHES",
        "false": "FILTER_FALSE",
        "failing": "FILTER_FAILED",
        "off": "RULE_DISABLED",
        "ada's": "OTHER_CUSTOMER",
        "archived": "DESTINATION_ARCHIVED",
        "held": "MATCHES",
    }
    assert (by_name["high"]["filterValue"], by_name["false"]["filterValue"]) == (True, False)
    assert by_name["failing"]["filterError"] == "no such key: none"
    assert by_name["ada's"]["pattern"] == "order.created"
    assert by_name["plain"]["pattern"] == "order.*"
    reached = {each["destinationId"]: each for each in found["destinations"]}
    assert set(reached) == {everyone, held}
    assert (reached[everyone]["priority"], reached[everyone]["ruleId"]) == ("HIGH", ids["high"])
    assert reached[held]["status"] == "DISABLED"
    event = await post(api, "order.created", payload=EVENT["payload"])
    real = {d["destinationId"]: d["priority"] for d in await deliveries_of(api, event)}
    assert real == {key: each["priority"] for key, each in reached.items()}
    adas = (await preview(api, {**EVENT, "customerExternalId": "ada"})).json
    assert {each["destinationId"] for each in adas["destinations"]} == {everyone, held, ada}
    # No filter error was counted, for two reasons. A preview counts no errors. And routing the real event
    # did not evaluate the failing filter, because a rule of higher priority had matched.
    assert (await api("GET", f"/routing-rules/{ids['failing']}")).json["filterErrors"] is None


async def test_a_rule_is_tried_before_it_is_made(api: Caller) -> None:
    to = await a_destination(api, HOOK)
    trial = {"eventTypes": ["order.*"], "filter": "event.payload.total > 10", "priority": "HIGH"}
    alone = (await preview(api, rule=trial)).json
    assert alone["destinations"] == []
    assert alone["rules"][0]["ruleId"] is None
    assert (alone["rules"][0]["reason"], alone["rules"][0]["filterValue"]) == ("MATCHES", True)
    with_one = (await preview(api, rule={**trial, "destinationId": to})).json
    (reached,) = with_one["destinations"]
    assert (reached["destinationId"], reached["ruleId"], reached["priority"]) == (to, None, "HIGH")
    other = (await preview(api, rule={**trial, "eventTypes": ["refund.*"]})).json
    assert other["rules"][0]["reason"] == "OTHER_TYPE"
    assert (await api("GET", "/routing-rules")).json["items"] == []
    for bad, path in (({"filter": "x"}, "rule.filter"), ({"eventTypes": []}, "rule.eventTypes")):
        refused = await preview(api, rule={**trial, **bad})
        assert (refused.status, refused.paths) == (400, [path])


async def test_a_bad_example_is_refused_naming_the_field(api: Caller) -> None:
    for event, path in (
        ({"eventType": "a b", "payload": {}}, "event.eventType"),
        ({"eventType": "a"}, "event.payload"),
        ({"eventType": "a", "payload": []}, "event.payload"),
        ({"eventType": "a", "payload": {}, "x": 1}, "event.x"),
        ({"eventType": "a", "payload": {}, "occurredAt": "now"}, "event.occurredAt"),
    ):
        refused = await preview(api, event)
        assert (refused.status, refused.paths) == (400, [path]), event
    assert (await api("POST", "/routing-rules/preview", {})).paths == ["event"]


async def test_the_active_schema_has_its_say(api: Caller) -> None:
    to = await a_destination(api, HOOK)
    await rule(api, to)
    schema = {"type": "object", "required": ["id"]}
    made = await api("POST", "/schemas", {"eventType": "order.created", "schema": schema})
    await api("POST", f"/schemas/{made.json['id']}/activate", {})
    refused = (await preview(api)).json
    assert (refused["accepted"], refused["refusal"]["code"]) == (False, "schema_violation")
    assert refused["destinations"] == []
    assert refused["rules"][0]["matches"] is True
    fine = (await preview(api, {"eventType": "order.created", "payload": {"id": 1}})).json
    assert [each["destinationId"] for each in fine["destinations"]] == [to]


async def test_a_reader_may_preview_and_an_ingester_may_not(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    assert (await preview(await house.caller(tenant, Scope.READ))).status == 200
    assert (await preview(await house.caller(tenant, Scope.INGEST))).status == 403


async def test_rules_for_own_events_can_be_tried(api: Caller) -> None:
    to = await a_destination(api, HOOK)
    await rule(api, to, eventTypes=["angarium.*"])
    await rule(api, to, eventTypes=["*"])
    own = {"eventType": "angarium.destination.disabled", "payload": {}}
    found = (await preview(api, own)).json
    assert [each["pattern"] for each in found["rules"]] == ["angarium.*"]


async def test_an_embed_session_previews_its_customers_rules_alone(
    house: ServiceHouse, tenant: Tenant, api: Caller, neighbour: Caller
) -> None:
    everyone = await a_destination(api, HOOK)
    ada = await a_destination(api, HOOK, customerExternalId="ada")
    bob = await a_destination(api, HOOK, customerExternalId="bob")
    theirs = await a_destination(neighbour, HOOK)
    made = {to: (await rule(api, to)).json["id"] for to in (everyone, ada, bob)}
    account = (await api("GET", f"/destinations/{ada}")).json["customerAccountId"]
    number = tenant.environments[0].number
    ends_at_ms = int(house.server.clock.now() * 1000) + 60_000
    token = house.server.tokens.sign(number, SessionCustomer(account, "ada"), ends_at_ms)
    browser = house.caller_with(token)
    found = (await preview(browser, {**EVENT, "customerExternalId": "ada"})).json
    assert [each["ruleId"] for each in found["rules"]] == [made[ada]]
    assert [each["destinationId"] for each in found["destinations"]] == [ada]
    assert found["otherRules"] == 0
    for foreign in (everyone, bob, theirs):
        trial = {"eventTypes": ["order.*"], "destinationId": foreign}
        assert (await preview(browser, rule=trial)).status == 404
    listed = (await browser("GET", "/routing-rules")).json["items"]
    assert [each["id"] for each in listed] == [made[ada]]
    for to in (everyone, bob):
        path = f"/routing-rules/{made[to]}"
        assert (await browser("GET", path)).status == 404
        assert (await browser("PATCH", path, {"name": "mine"})).status == 404
        assert (await browser("POST", f"{path}/disable", {})).status == 404
        assert (await browser("DELETE", path)).status == 404
        assert (await rule(browser, to)).status == 404
        moved = await browser("PATCH", f"/routing-rules/{made[ada]}", {"destinationId": to})
        assert moved.status == 404
    assert (await rule(browser, ada, filter="event.payload.total > 1")).status == 201


async def test_a_preview_by_the_dearest_rules_gives_way_and_is_charged(
    house: ServiceHouse,
    tenant: Tenant,
    api: Caller,
    neighbour: Caller,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    to = await a_destination(api, HOOK)
    number = tenant.environments[0].number
    patterns = dearest(5_000)
    for each in range(0, len(patterns), 100):
        more = patterns[each : each + 100]
        house.server.models.put_rule(made_rule(f"r{each}", to, *more, environment=number))
    # These rules are only in the memory of the server, so a reload of the configuration would drop them.
    # A busy computer can cause a reload: the server takes its slow listening connection for a lost one.
    # Therefore the test makes the reload do nothing.
    monkeypatch.setattr(house.server.changes, "_on_lost", trio.lowlevel.checkpoint)
    slices, answered = 0, trio.Event()
    give_way = EventJudge._give_way

    async def giving_way(judge: EventJudge, environment: int) -> None:
        nonlocal slices
        slices += 1
        if slices == 10:
            await answered.wait()
        await give_way(judge, environment)

    monkeypatch.setattr(EventJudge, "_give_way", giving_way)
    event = {"eventType": ".".join(["a"] * 126), "payload": {}}
    async with trio.open_nursery() as nursery:

        async def previewed() -> None:
            found = await preview(api, event)
            assert (found.status, found.json["otherRules"]) == (200, len(patterns) // 100), found

        nursery.start_soon(previewed)
        await post(neighbour, "order.created")
        answered.set()
    assert slices > 300
    monkeypatch.setattr("engine.routing.judging_time.BURST_S", 0.0)
    refused = await preview(api, event)
    assert (refused.status, refused.code) == (503, "overloaded")
    assert (await preview(neighbour)).status == 200


async def test_a_preview_lists_a_bounded_number_of_rules_and_counts_the_others(
    house: ServiceHouse, tenant: Tenant, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.routing.preview.SHOWN", 5)
    everyone = await a_destination(api, HOOK)
    customers = {
        name: await a_destination(api, HOOK, customerExternalId=name) for name in ("ada", "bob")
    }
    for to in (everyone, *customers.values()):
        for _ in range(3):
            assert (await rule(api, to)).status == 201
    found = (await preview(api, {**EVENT, "customerExternalId": "ada"})).json
    assert [each["destinationId"] for each in found["rules"]].count(everyone) == 3
    assert (len(found["rules"]), found["omittedRules"], found["otherRules"]) == (5, 4, 0)
    # The preview also evaluates the rules that it does not list, except the rules of other customers.
    assert {each["destinationId"] for each in found["destinations"]} == {everyone, customers["ada"]}
    monkeypatch.setattr("engine.routing.preview.MAX_FANOUT", 1)
    found = (await preview(api, {**EVENT, "customerExternalId": "ada"})).json
    assert (found["accepted"], found["destinations"]) == (False, [])
    assert found["refusal"]["message"] == "more than 1 destinations match"
