"""The service's own events. Only rules that name the types of own events route them. Deliveries of own
events cause no further own events."""

from typing import Any

import pytest

from api.shapes.own_events import OWN_EVENTS
from engine.core.vocabulary import Environment
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

FAILING_FAST: dict[str, Any] = {"retrySchedule": []}


async def told(house: ServiceHouse, api: Caller, *types: str) -> list[dict[str, Any]]:
    """Wait until the log has own events of exactly these types. Return these events, oldest first."""
    wanted = sorted(f"angarium.{each}" for each in types)
    page = await house.until(
        api,
        "/events?limit=100",
        lambda found: (
            sorted(e["eventType"] for e in found["items"] if e["origin"] == "OWN") == wanted
        ),
    )
    events = []
    for item in reversed(page["items"]):
        if item["origin"] == "OWN":
            event = (await api("GET", f"/events/{item['id']}")).json
            OWN_EVENTS[event["eventType"]].model_validate(event["payload"])
            events.append(event)
    return events


async def test_a_dead_letter_is_told_of_to_whom_a_rule_names(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500 if request.path == "/broken" else 204
    broken = await destination(
        api, receiver.url("/broken"), ["order.*"], delivery=FAILING_FAST, customerExternalId="c1"
    )
    await destination(api, receiver.url("/everything"), ["*"])
    await destination(api, receiver.url("/ops"), ["angarium.delivery.*"])
    event = await post(api, "order.created", customerExternalId="c1")
    (own,) = await told(house, api, "delivery.dead_lettered")
    assert own["customerExternalId"] == "c1"
    assert own["source"] == "angarium"
    payload = own["payload"]
    assert (payload["destinationId"], payload["eventId"]) == (broken, event)
    assert (payload["errorCategory"], payload["responseStatus"]) == ("HTTP_5XX", 500)
    assert payload["attemptCount"] == 1
    dead = (await api("GET", f"/deliveries/{payload['deliveryId']}")).json
    assert dead["dlqStatus"] == "IN_DLQ"
    await receiver.reaches(1, "/ops")
    await receiver.reaches(1, "/everything")
    assert [each.json["type"] for each in receiver.of("/ops")] == [own["eventType"]]
    assert receiver.of("/ops")[0].json["data"] == payload
    assert [each.json["type"] for each in receiver.of("/everything")] == ["order.created"]


async def test_what_happens_to_deliveries_of_own_events_makes_no_other(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: {"/broken": 500, "/gone": 410}.get(request.path, 500)
    await destination(api, receiver.url("/broken"), ["order.*"], delivery=FAILING_FAST)
    await destination(api, receiver.url("/ops"), ["angarium.*"], delivery=FAILING_FAST)
    gone = await destination(api, receiver.url("/gone"), ["angarium.*"], delivery=FAILING_FAST)
    for _ in range(12):
        await post(api, "order.created")
    # There are 12 deliveries to /broken. After 10 of them have died, the circuit of /broken opens.
    # Further deliveries die when they are sent as probes of the circuit.
    page = await house.until(
        api,
        "/deliveries?dlqStatus=IN_DLQ&limit=100",
        lambda found: sum(d["eventType"].startswith("angarium.") for d in found["items"]) >= 11,
    )
    assert page["items"]
    await house.until(api, f"/destinations/{gone}", lambda found: found["status"] == "DISABLED")
    begun = {
        "angarium.delivery.dead_lettered",
        "angarium.destination.circuit_opened",
        "angarium.destination.failing",
    }
    page = await house.until(
        api, "/events?limit=100", lambda found: begun <= {e["eventType"] for e in found["items"]}
    )
    own = page["items"]
    assert {each["eventType"] for each in own if each["origin"] == "OWN"} == begun
    broken_only = [
        (await api("GET", f"/events/{each['id']}")).json["payload"]["destinationName"]
        for each in own
        if each["origin"] == "OWN"
    ]
    dead = [each for each in own if each["eventType"] == "angarium.delivery.dead_lettered"]
    assert len(dead) <= 12
    assert set(broken_only) == {"a test's"}


async def test_a_circuit_that_opens_and_closes_is_told_of_once_each(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    status = 500
    receiver.answer = lambda _: status
    broken = await destination(api, receiver.url(), ["order.*"], delivery=FAILING_FAST)
    for _ in range(10):
        await post(api, "order.created")
    await house.until(
        api, f"/destinations/{broken}/health", lambda found: found["circuit"]["state"] != "CLOSED"
    )
    status = 204
    await post(api, "order.created")  # this is the probe, a second later
    begun = ["destination.circuit_opened", "destination.failing"]
    over = ["destination.circuit_closed", "destination.recovered"]
    events = await told(house, api, *["delivery.dead_lettered"] * 10, *begun, *over)
    failing, recovered = (e["payload"] for e in events if "failingSince" in e["payload"])
    assert failing["destinationId"] == recovered["destinationId"] == broken
    assert failing["failingSince"] == recovered["failingSince"] < recovered["recoveredAt"]
    opened, closed = (each["payload"] for each in events if "circuit" in each["eventType"])
    assert opened["destinationId"] == closed["destinationId"] == broken
    assert opened["openedAt"] == closed["openedAt"] < closed["closedAt"]


@pytest.mark.parametrize("by", ["a caller", "a 410"])
async def test_a_disabled_destination_is_told_of(
    house: ServiceHouse, api: Caller, receiver: Receiver, by: str
) -> None:
    receiver.answer = lambda _: 410
    url = receiver.url()
    hook = await destination(api, url, ["order.*"], customerExternalId="c1")
    if by == "a caller":
        for _ in range(2):
            assert (await api("POST", f"/destinations/{hook}/disable", {})).status == 200
        (own,) = await told(house, api, "destination.disabled")
    else:
        await post(api, "order.created", customerExternalId="c1")
        own, dead = sorted(
            await told(house, api, "destination.disabled", "delivery.dead_lettered"),
            key=lambda each: each["eventType"],
            reverse=True,
        )
        assert dead["payload"]["errorCategory"] == "DESTINATION_GONE"
    assert own["payload"]["reason"] == ("CALLER" if by == "a caller" else "GONE")
    assert own["payload"]["destinationId"] == hook
    assert own["customerExternalId"] == "c1"


async def test_no_one_can_send_one(api: Caller) -> None:
    for event_type in OWN_EVENTS:
        refused = await api("POST", "/events", {"eventType": event_type, "payload": {}})
        assert (refused.status, refused.code) == (400, "invalid_request")


async def test_they_stay_in_the_environment_that_they_concern(
    house: ServiceHouse, api: Caller, neighbour: Caller, receiver: Receiver, tenant: Any
) -> None:
    staging = await house.caller(tenant, environment=Environment.STAGING)
    for caller in (neighbour, staging):
        await destination(caller, receiver.url("/other"), ["angarium.*"])
    mine = await destination(api, receiver.url("/mine"), ["order.*"])
    await destination(api, receiver.url("/ops"), ["angarium.*"])
    await api("POST", f"/destinations/{mine}/disable", {})
    await receiver.reaches(1, "/ops")
    for caller in (neighbour, staging):
        assert (await caller("GET", "/events")).json["items"] == []
    assert not receiver.of("/other")
