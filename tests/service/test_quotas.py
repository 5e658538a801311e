"""Quotas of customers: one customer's use never causes a refusal for another."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from engine.control import rules as control
from engine.control.audit import Auditor, Principal
from engine.control.replays import MAX_UNFINISHED_CUSTOMER
from engine.model.quotas import CustomerTally
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, open_service, post
from tests.service.receiver import Receiver
from tests.service.test_embed import session_of

HOOK = "http://127.0.0.1:1/"
SMALL = """
[plans.scale]
customer_destinations = 2
customer_rules = 3
customer_transforms = 2
"""
SCRIPT = "function transform(event) { return event; }"


@pytest.fixture
async def small(bridge: Bridge, tmp_path: Path) -> Any:
    path = tmp_path / "plans.toml"
    path.write_text(SMALL)
    async with open_service(bridge, plans_file=path) as house:
        yield house


async def add(caller: Caller, **fields: Any) -> Any:
    return await caller("POST", "/destinations", {"name": "d", "url": HOOK, **fields})


async def rule(caller: Caller, to: str, **fields: Any) -> Any:
    body = {"name": "r", "destinationId": to, "eventTypes": ["order.*"], **fields}
    return await caller("POST", "/routing-rules", body)


async def script(caller: Caller, to: str) -> Any:
    body = {"destinationId": to, "name": "s", "source": SCRIPT}
    return await caller("POST", "/transform-scripts", body)


async def test_a_customer_at_its_quotas_is_refused_alone(small: ServiceHouse) -> None:
    api = await small.caller(await small.tenant("acme"))
    ada, bob = await session_of(small, api), await session_of(small, api, "bob")
    first, second = [(await add(ada)).json["id"] for _ in range(2)]
    refused = await add(ada)
    assert (refused.status, refused.code) == (402, "plan_limit")
    assert "your account has at most 2 destinations" in refused.json["message"]
    for _ in range(3):
        assert (await rule(ada, first)).status == 201
    for to in (first, second):
        refused = await rule(ada, to)
        assert (refused.status, refused.code) == (402, "plan_limit")
    for _ in range(2):
        assert (await script(ada, second)).status == 201
    for to in (first, second):
        refused = await script(ada, to)
        assert (refused.status, refused.code) == (402, "plan_limit")
    for caller, more in ((bob, {}), (api, {}), (api, {"customerExternalId": "ada"})):
        made = await add(caller, **more)
        assert made.status == 201, made.body
        assert (await rule(caller, made.json["id"])).status == 201
        assert (await script(caller, made.json["id"])).status == 201
    # Objects that the workspace creates count, and archived ones do not.
    assert (await ada("DELETE", f"/destinations/{first}", {})).status == 200
    assert (await add(ada)).status == 402
    assert (await ada("DELETE", f"/destinations/{second}", {})).status == 200
    third = (await add(ada)).json["id"]
    assert [(await rule(ada, third)).status for _ in range(3)] == [201, 201, 402]
    assert [(await script(ada, third)).status for _ in range(2)] == [201, 402]


async def test_sessions_of_a_customer_at_once_do_not_pass_its_quotas(small: ServiceHouse) -> None:
    api = await small.caller(await small.tenant("acme"))
    sessions = [await session_of(small, api) for _ in range(5)]
    statuses: list[int] = []

    async def create(caller: Caller) -> None:
        statuses.append((await add(caller)).status)

    async with trio.open_nursery() as nursery:
        for caller in sessions:
            nursery.start_soon(create, caller)
    assert sorted(statuses) == [201, 201, 402, 402, 402]


async def test_two_processes_cannot_pass_a_quota_together(small: ServiceHouse) -> None:
    """Two writers have counted the same objects. One of them writes, and the other must count again."""
    tables = small.server.tables
    api = await small.caller(await small.tenant("acme"))
    ada = await session_of(small, api)
    context = (await ada("GET", "/embed/context")).json
    account = context["customerAccountId"]
    made = (await add(ada)).json["id"]
    assert (await rule(ada, made)).status == 201
    (present,) = small.server.models.rules.values()
    used = await tables.customers.used(present.environment, account, 9)
    assert used is not None
    assert (used.destinations, used.rules, used.transforms) == (1, 1, 0)
    results = await _raced(small, present, account, used.tally)
    assert sorted(results) == [False, False, False, True]
    assert await tables.rules.count(present.environment) == 2


async def _raced(house: ServiceHouse, present: Any, account: str, tally: int) -> list[bool]:
    identity, results = house.server.identity, []
    workspace = next(iter(house.server.models.workspaces))

    async def write() -> None:
        principal = Principal(
            kind="CLI", id="t", workspace=workspace, environment=present.environment
        )
        entry = Auditor(identity).entry(principal, "routing_rule.create", "x")
        another = msgspec.structs.replace(present, id=identity.other())
        held = CustomerTally(account, tally)
        results.append(await house.server.tables.rules.create(another, 9, entry, None, held))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(write)
    return results


async def test_one_customers_filters_are_not_counted_with_anothers(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MAX_FILTERS", 2)
    ada, bob = await session_of(house, api), await session_of(house, api, "bob")
    for caller in (ada, bob, api):
        to = (await add(caller, url=receiver.url())).json["id"]
        made = [(await rule(caller, to, filter="true")).status for _ in range(3)]
        assert made == [201, 201, 400]
    event = await post(api, "order.made", customerExternalId="ada")
    items = (await api("GET", f"/events/{event}/deliveries")).json["items"]
    assert len(items) == 2  # to ada's destination, and to the one without a customer
    plain = await rule(api, (await add(api, customerExternalId="ada")).json["id"], filter="true")
    assert plain.status == 400
    moved = (await rule(api, to)).json["id"]
    assert (await api("PATCH", f"/routing-rules/{moved}", {"filter": "true"})).status == 400


async def test_archiving_a_destination_removes_its_rules(house: ServiceHouse, api: Caller) -> None:
    first, second = [(await add(api)).json["id"] for _ in range(2)]
    made = [(await rule(api, first, name=f"r{number}")).json["id"] for number in range(120)]
    kept = (await rule(api, second, filter="true")).json["id"]
    number = next(iter(house.server.models.rules.values())).environment
    assert await house.server.tables.rules.count(number) == 121
    assert (await api("DELETE", f"/destinations/{first}", {})).status == 200
    listed = (await api("GET", "/routing-rules")).json["items"]
    assert [each["id"] for each in listed] == [kept]
    assert set(house.server.models.rules) == {kept}
    assert await house.server.tables.rules.count(number) == 1
    path = "/audit-logs?action=routing_rule.delete&limit=100"
    page = (await api("GET", path)).json
    found = page["items"] + (await api("GET", f"{path}&cursor={page['nextCursor']}")).json["items"]
    assert {entry["objectId"] for entry in found} == set(made)
    assert found[0]["changes"]["destinationId"] == {"from": first, "to": None}


async def test_no_rule_joins_a_destination_that_was_archived_meanwhile(
    house: ServiceHouse, api: Caller
) -> None:
    to = (await add(api)).json["id"]
    assert (await rule(api, to)).status == 201
    (present,) = house.server.models.rules.values()
    assert (await api("DELETE", f"/destinations/{to}", {})).status == 200
    store, identity = house.server.tables.rules, house.server.identity
    workspace = next(iter(house.server.models.workspaces))
    entry = Auditor(identity).entry(
        Principal(kind="CLI", id="t", workspace=workspace), "routing_rule.create", "x"
    )
    another = msgspec.structs.replace(present, id=identity.other())
    assert not await store.create(another, 9, entry)
    assert await store.count(present.environment) == 0


async def test_rules_that_a_killed_server_left_behind_go_at_the_next_start(bridge: Bridge) -> None:
    async with open_service(bridge) as house:
        api = await house.caller(await house.tenant("acme"))
        to = (await add(api)).json["id"]
        assert (await rule(api, to)).status == 201
        await bridge.pool.fetch("UPDATE destinations SET status = 3, version = 2")
    async with open_service(bridge) as house:
        api = await house.caller(await house.keys.workspace("acme"))
        await house.until(api, "/routing-rules", lambda page: page["items"] == [])
        (entry,) = (await api("GET", "/audit-logs?action=routing_rule.delete")).json["items"]
        assert entry["actorType"] == "SYSTEM"


async def test_a_customer_whose_tests_hang_refuses_nobody_else(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    ada, bob = await session_of(house, api), await session_of(house, api, "bob")
    receiver.hold = trio.Event()
    hanging = (await add(ada, url=receiver.url("/hangs"))).json["id"]
    others = [(caller, (await add(caller)).json["id"]) for caller in (bob, api)]
    statuses: list[int] = []

    async def test() -> None:
        caller = await session_of(house, api)
        statuses.append((await caller("POST", f"/destinations/{hanging}/test", {})).status)

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(test)
        await receiver.reaches(2)
        for caller, to in others:
            told = await caller("POST", f"/destinations/{to}/test", {})
            assert (told.status, told.json["success"]) == (200, False), told.body
            assert (await caller("GET", "/destinations")).status == 200
        assert 200 not in statuses
        receiver.hold.set()
    assert statuses.count(200) >= 2
    assert set(statuses) <= {200, 503}


@pytest.mark.usefixtures("one_window")
async def test_a_customers_own_requests_a_minute(bridge: Bridge, tmp_path: Path) -> None:
    path = tmp_path / "plans.toml"
    path.write_text("[plans.scale]\ncustomer_per_minute = 3\n")
    async with open_service(bridge, plans_file=path) as house:
        api = await house.caller(await house.tenant("acme"))
        ada, bob = await session_of(house, api), await session_of(house, api, "bob")
        for left in (2, 1, 0):
            answer = await ada("GET", "/destinations")
            assert answer.status == 200, answer
            assert answer.headers["x-ratelimit-limit"] == "3"
            assert answer.headers["x-ratelimit-remaining"] == str(left)
        refused = await ada("GET", "/destinations")
        assert (refused.status, refused.code) == (429, "rate_limited")
        assert int(refused.headers["retry-after"]) > 0
        for caller in (bob, api):
            assert (await caller("GET", "/destinations")).status == 200


async def test_a_workspace_sets_the_quotas_of_one_customer(
    house: ServiceHouse, api: Caller, neighbour: Caller
) -> None:
    ada, bob = await session_of(house, api), await session_of(house, api, "bob")
    assert (await api("PUT", "/customers/nobody", {})).status == 404
    assert (await neighbour("GET", "/customers/ada")).status == 404
    assert (await ada("GET", "/customers/ada")).status == 403
    assert (await ada("PUT", "/customers/ada", {"quotas": {"rules": 9}})).status == 403
    for bad in ({"destinations": -1}, {"rules": 1.5}, {"requestsPerMinute": 0}, {"x": 1}):
        assert (await api("PUT", "/customers/ada", {"quotas": bad})).status == 400, bad
    quotas = {"destinations": 1, "rules": 0, "transforms": None, "requestsPerMinute": 7}
    put = {"name": "Ada Ltd.", "quotas": quotas}
    shown = (await api("PUT", "/customers/ada", put)).json
    limits = {"destinations": 1, "rules": 0, "transforms": 20, "requestsPerMinute": 7}
    assert (shown["name"], shown["quotas"], shown["limits"]) == ("Ada Ltd.", quotas, limits)
    assert shown["used"] == {"destinations": 0, "rules": 0, "transforms": 0}
    made = await add(ada)
    assert (made.status, made.headers["x-ratelimit-limit"]) == (201, "7")
    assert (await add(ada)).status == 402
    assert (await rule(ada, made.json["id"])).status == 402
    assert (await rule(bob, (await add(bob)).json["id"])).status == 201
    assert (await rule(api, made.json["id"])).status == 201  # a decision of the workspace itself
    shown = (await api("GET", "/customers/ada")).json
    assert shown["used"] == {"destinations": 1, "rules": 1, "transforms": 0}
    account = shown["customerAccountId"]
    await house.server.loader.load()  # as at a start
    assert house.server.models.quotas_of(account).destinations == 1
    restored = (await api("PUT", "/customers/ada", {})).json
    assert restored["limits"]["destinations"] == 20
    assert (await add(ada)).status == 201
    entries = (await api("GET", "/audit-logs?action=customer.update")).json["items"]
    assert [each["objectId"] for each in entries] == [account] * 2
    assert entries[1]["changes"]["name"] == {"from": None, "to": "Ada Ltd."}


async def test_customers_are_listed_by_name_and_found_by_a_prefix(
    house: ServiceHouse, api: Caller
) -> None:
    names = ["B", "a", "a%1", "a_2", "b", "\u00e4", "\U0001f600"]
    for name in reversed(names):
        await post(api, customerExternalId=name)
    put = await api("PUT", "/customers/a", {"name": "Acme", "quotas": {"rules": 7}})
    assert put.status == 200
    page = (await api("GET", "/customers")).json
    assert [each["customerExternalId"] for each in page["items"]] == names
    one = page["items"][1]
    assert (one["name"], one["quotas"]["rules"]) == ("Acme", 7)
    assert {**put.json, **one} == put.json
    found: list[str] = []
    path = "/customers?limit=2"
    while path:
        page = (await api("GET", path)).json
        found += [each["customerExternalId"] for each in page["items"]]
        cursor = page["nextCursor"]
        path = f"/customers?limit=2&cursor={cursor}" if cursor else ""
    assert found == names
    for prefix, expected in {"a": names[1:4], "a%25": ["a%1"], "a_": ["a_2"], "x": []}.items():
        page = (await api("GET", f"/customers?prefix={prefix}")).json
        assert [each["customerExternalId"] for each in page["items"]] == expected
    assert (await (await session_of(house, api, "a"))("GET", "/customers")).status == 403


async def test_a_customer_has_a_share_of_the_unfinished_jobs(house: ServiceHouse) -> None:
    api = await house.caller(await house.tenant("acme"))
    ada, bob = await session_of(house, api), await session_of(house, api, "bob")
    own = {caller: (await add(caller)).json["id"] for caller in (ada, bob)}
    for caller, target in own.items():  # a job that retries these deliveries does not end
        assert (await rule(caller, target)).status == 201
        await post(api, "order.paid", customerExternalId="ada" if caller is ada else "bob")
        assert (await caller("POST", f"/destinations/{target}/disable", {})).status == 200

    async def job(caller: Caller, target: str) -> Any:
        return await caller("POST", "/deliveries/retry", {"destinationId": target})

    made = [await job(ada, own[ada]) for _ in range(MAX_UNFINISHED_CUSTOMER)]
    assert {each.status for each in made} == {201}, made[0].body
    for each in made:
        path = f"/replay-jobs/{each.json['id']}"
        await house.until(ada, path, lambda found: found["status"] == "PAUSED")
    refused = await job(ada, own[ada])
    assert (refused.status, refused.code) == (409, "conflict")
    assert "your account has at most 10 unfinished" in refused.json["message"]
    assert (await job(bob, own[bob])).status == 201
    assert (await job(api, own[ada])).status == 201
    assert (await ada("POST", f"/replay-jobs/{made[0].json['id']}/cancel", {})).status == 200
    again = await job(ada, own[ada])
    assert again.status == 409, "the workspace's own job on the customer's destination counts"
