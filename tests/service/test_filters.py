"""Filters on a whole server: selected events, reported failures, and the number of filters."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import trio

from engine.control import rules as control
from engine.control.audit import Auditor, Principal
from engine.plans.plans import BUILT_IN
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver


async def a_destination(api: Caller, url: str, **more: Any) -> str:
    made = await api("POST", "/destinations", {"name": "d", "url": url, **more})
    assert made.status == 201, made.body
    return str(made.json["id"])


async def rule(api: Caller, to: str, **fields: Any) -> Any:
    document = {"name": "r", "destinationId": to, "eventTypes": ["order.*"], **fields}
    return await api("POST", "/routing-rules", document)


async def deliveries_of(api: Caller, event: str) -> list[Any]:
    return list((await api("GET", f"/events/{event}/deliveries")).json["items"])


async def test_events_go_where_the_filter_holds(api: Caller, receiver: Receiver) -> None:
    germany = await a_destination(api, receiver.url("/de"))
    rest = await a_destination(api, receiver.url("/rest"))
    made = await rule(api, germany, filter="event.payload.country == 'DE'")
    assert (made.status, made.json["filter"]) == (201, "event.payload.country == 'DE'")
    assert made.json["filterErrors"] is None
    await rule(api, rest, filter="event.payload.country != 'DE'")
    first = await post(api, "order.created", payload={"country": "DE"})
    second = await post(api, "order.created", payload={"country": "FR"})
    assert [d["destinationId"] for d in await deliveries_of(api, first)] == [germany]
    assert [d["destinationId"] for d in await deliveries_of(api, second)] == [rest]
    await receiver.reaches(1, "/de")
    assert receiver.of("/de")[0].json["data"] == {"country": "DE"}
    batch = await api(
        "POST",
        "/events/batch",
        {
            "events": [
                {"eventType": "order.created", "payload": {"country": c}}
                for c in ("DE", "FR", "DE")
            ]
        },
    )
    assert [each["deliveries"] for each in batch.json["results"]] == [1, 1, 1]
    await receiver.reaches(3, "/de")


async def test_the_highest_priority_of_the_rules_that_match_counts(
    api: Caller, receiver: Receiver
) -> None:
    to = await a_destination(api, receiver.url())
    await rule(api, to)
    await rule(api, to, priority="HIGH", filter="event.payload.total > 100")
    await rule(api, to, priority="CRITICAL", filter="event.payload.total > 1000")
    for total, priority in ((1, "STANDARD"), (101, "HIGH"), (1001, "CRITICAL")):
        event = await post(api, "order.created", payload={"total": total})
        (delivery,) = await deliveries_of(api, event)
        assert delivery["priority"] == priority


async def test_a_filter_that_fails_does_not_match_and_is_counted_and_shown(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    to = await a_destination(api, receiver.url())
    made = (await rule(api, to, filter="event.payload.total > 100")).json
    for payload in ({}, {"total": "many"}, {"total": 101}):
        event = await post(api, "order.created", payload=payload)
        assert len(await deliveries_of(api, event)) == (payload == {"total": 101})
    path = f"/routing-rules/{made['id']}"
    errors = (await api("GET", path)).json["filterErrors"]
    assert (errors["count"], errors["lastMessage"]) == (2, "these operands do not go together")
    await house.server.filter_failures.flush()
    assert (await api("GET", path)).json["filterErrors"] == errors
    row = await house.server.bridge.pool.fetch_row("SELECT failures FROM filter_failures")
    assert row is not None
    assert row["failures"] == 2
    await post(api, "order.created")
    listed = (await api("GET", "/routing-rules")).json["items"][0]["filterErrors"]
    assert (listed["count"], listed["lastMessage"]) == (3, "no such key: total")
    same = await api("PATCH", path, {"name": "another"})
    assert same.json["filterErrors"]["count"] == 3
    mended = await api("PATCH", path, {"filter": "has(event.payload.total)"})
    assert mended.json["filterErrors"] is None
    await house.server.filter_failures.flush()
    assert (await api("GET", path)).json["filterErrors"] is None
    assert (await api("DELETE", path)).status == 200


async def test_a_filter_is_changed_and_removed_by_a_patch(api: Caller, receiver: Receiver) -> None:
    to = await a_destination(api, receiver.url())
    made = (await rule(api, to, filter="event.payload.n == 1")).json
    path = f"/routing-rules/{made['id']}"
    for change, deliveries in (
        ({}, 0),
        ({"filter": "event.payload.n == 2"}, 1),
        ({"filter": None}, 1),
    ):
        await api("PATCH", path, change)
        assert (
            len(await deliveries_of(api, await post(api, "order.x", payload={"n": 2})))
            == deliveries
        )
    assert (await api("GET", path)).json["filter"] is None
    bad = await api("PATCH", path, {"filter": "event.payload.n =="})
    assert (bad.status, bad.paths) == (400, ["filter"])
    assert "line 1, column 19: unexpected the end" in bad.json["message"]
    audit = await api("GET", "/audit-logs?action=routing_rule.update")
    assert audit.json["items"][0]["changes"]["filter"] == {
        "from": "event.payload.n == 2",
        "to": None,
    }


async def test_a_payload_that_filters_read_is_delivered_byte_for_byte(
    api: Caller, receiver: Receiver
) -> None:
    to = await a_destination(api, receiver.url())
    await rule(api, to, filter="event.payload.a == 1")
    raw = b'{"a": 1,  "n": 123456789012345678901234567890, "d": 1, "d": 2, "s": "\\ud800"}'
    told = await api("POST", "/events", body=b'{"eventType": "order.x", "payload": ' + raw + b"}")
    assert told.status == 202, told.body
    await receiver.reaches(1)
    assert raw in receiver.received[0].body


async def test_one_event_type_meets_a_bounded_number_of_filters(
    api: Caller, receiver: Receiver
) -> None:
    assert control.MAX_FILTERS == 100
    to = await a_destination(api, receiver.url())
    for number in range(control.MAX_FILTERS):
        types = ["order.created"] if number % 2 else ["order.*", f"other{number}.x"]
        assert (await rule(api, to, eventTypes=types, filter="true")).status == 201
    for types in (["order.created"], ["*"], ["a.b", "*.created"], ["order.created", "z"]):
        refused = await rule(api, to, eventTypes=types, filter="true")
        assert (refused.status, refused.paths) == (400, ["filter"]), types
    for types in (["order.refunded"], ["other0.x"], ["angarium.*"], ["order.*.x"]):
        assert (await rule(api, to, eventTypes=types, filter="true")).status == 201, types
    # No filter, so it does not count.
    assert (await rule(api, to, eventTypes=["order.created"])).status == 201
    plain = (await rule(api, to, eventTypes=["order.created"])).json["id"]
    later = await api("PATCH", f"/routing-rules/{plain}", {"filter": "true"})
    assert (later.status, later.paths) == (400, ["filter"])
    event = await post(api, "order.created")
    assert len(await deliveries_of(api, event)) == 1


async def test_the_rules_with_a_filter_have_a_bound_of_patterns(
    api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MAX_FILTERED_PATTERNS", 5)
    to = await a_destination(api, receiver.url())
    adas = await a_destination(api, receiver.url(), customerExternalId="ada")
    three = ["a.b", "c.d", "e.f"]
    first = (await rule(api, to, eventTypes=three, filter="true")).json["id"]
    refused = await rule(api, to, eventTypes=three, filter="true")
    assert (refused.status, refused.paths) == (400, ["filter"])
    # A customer's filters are counted apart.
    assert (await rule(api, adas, eventTypes=three, filter="true")).status == 201
    assert (await rule(api, to, eventTypes=three)).status == 201
    assert (await rule(api, to, eventTypes=three[:2], filter="true")).status == 201
    path = f"/routing-rules/{first}"
    assert (await api("PATCH", path, {"eventTypes": [*three, "g"]})).paths == ["filter"]
    assert (await api("PATCH", path, {"eventTypes": ["g", "h", "i"]})).status == 200


async def test_nobody_waits_while_a_rule_is_compared_with_many_filters(
    api: Caller, neighbour: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison of a rule with many filters must not block the queue of commands."""
    begun, go_on = trio.Event(), trio.Event()

    def compared(_new: Any, _others: Any, _most: int, pause: Callable[[], None]) -> bool:
        begun.set()
        while not go_on.is_set():
            pause()
        return False

    monkeypatch.setattr(control, "MAX_FILTERS", 0)
    monkeypatch.setattr(control, "too_many_at_once", compared)
    to = await a_destination(api, receiver.url())
    plain = (await rule(api, to)).json["id"]
    statuses: list[int] = []

    async def ask(method: str, path: str, body: Any) -> None:
        statuses.append((await api(method, path, body)).status)

    async with trio.open_nursery() as nursery:
        draft = {"name": "r", "destinationId": to, "eventTypes": ["a"], "filter": "true"}
        nursery.start_soon(ask, "POST", "/routing-rules", draft)
        nursery.start_soon(ask, "PATCH", f"/routing-rules/{plain}", {"filter": "true"})
        await begun.wait()
        assert await a_destination(neighbour, receiver.url())
        go_on.set()
    assert sorted(statuses) == [200, 201]


async def test_the_number_of_rules_is_exact(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MAX_FILTERS", 3)
    plans = house.server.plans
    monkeypatch.setattr(
        plans, "_plans", {"scale": msgspec.structs.replace(BUILT_IN["scale"], rules=5)}
    )
    to = await a_destination(api, receiver.url())
    for filtered, made in (("true", 3), (None, 2)):
        statuses = [(await rule(api, to, filter=filtered)).status for _ in range(5)]
        assert statuses.count(201) == made
    rules = (await api("GET", "/routing-rules")).json["items"]
    assert len(rules) == 5
    await api("DELETE", f"/routing-rules/{rules[0]['id']}")
    assert (await rule(api, to)).status == 201
    assert (await rule(api, to)).status == 402


async def test_two_processes_cannot_pass_the_limits_together(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    """Two writers have read the same state. One of them writes, and the other must read again."""
    to = await a_destination(api, receiver.url())
    await rule(api, to, filter="true")
    store = house.server.tables.rules
    (present,) = house.server.models.rules.values()
    known = await store.filtered(present.environment, None, 9)
    assert (known.rules, list(known.patterns)) == (1, [present.id])
    results: list[bool] = []
    workspace = next(iter(house.server.models.workspaces))

    async def write() -> None:
        identity = house.server.identity
        principal = Principal(
            kind="CLI", id="t", workspace=workspace, environment=present.environment
        )
        entry = Auditor(identity).entry(principal, "routing_rule.create", "x")
        another = msgspec.structs.replace(present, id=identity.other())
        results.append(await store.create(another, 1_000, entry, known.tally))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(write)
    assert sorted(results) == [False, False, False, True]


async def test_events_of_other_types_cost_no_evaluation(api: Caller, receiver: Receiver) -> None:
    to = await destination(api, receiver.url(), ["plain.*"])
    made = (await rule(api, to, filter="event.payload.none == 1")).json
    await post(api, "plain.x")
    await receiver.reaches(1)
    assert (await api("GET", f"/routing-rules/{made['id']}")).json["filterErrors"] is None


async def test_a_number_beyond_doubles_is_no_fault_of_the_service(
    api: Caller, receiver: Receiver
) -> None:
    made = await destination(api, receiver.url(), ["nothing"])
    created = await rule(api, made, eventTypes=["e.*"], filter="event.payload.x > 1.0")
    assert created.status == 201
    one = b'{"eventType":"e.a","payload":{"x":1e999}}'
    answer = await api("POST", "/events", body=one)
    assert (answer.status, answer.json["deliveries"]) == (202, 1)
    two = b'{"events":[%b,{"eventType":"e.a","payload":{"x":-1e999}}]}' % one
    answer = await api("POST", "/events/batch", body=two)
    assert [each["deliveries"] for each in answer.json["results"]] == [1, 0]
