"""Replay jobs of the mode MISSING. Such a job sends a destination those events that the destination
never got."""

from typing import Any

from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.test_replay import all_settled, ended, start


async def bare(api: Caller, receiver: Receiver, **more: Any) -> str:
    made = await api("POST", "/destinations", {"name": "new", "url": receiver.url("/new"), **more})
    assert made.status == 201, made.body
    return str(made.json["id"])


async def ruled(api: Caller, target: str, **rule: Any) -> None:
    document = {"name": "r", "destinationId": target, "eventTypes": ["*"], **rule}
    assert (await api("POST", "/routing-rules", document)).status == 201


async def test_a_new_destination_gets_the_events_of_before_by_its_rules_of_now(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url("/old"))
    for n in range(6):
        await post(api, "a.one" if n % 2 else "b.one", payload={"n": n})
    await all_settled(house, api, 6)
    target = await bare(api, receiver)
    await ruled(api, target, eventTypes=["a.*"], priority="HIGH", filter="event.payload.n > 1.0")
    missing = {"destinationId": target, "mode": "MISSING"}
    counted = await ended(house, api, await start(api, **missing, dryRun=True))
    assert (counted["mode"], counted["total"], counted["enqueued"]) == ("MISSING", 2, 0)
    job = await ended(house, api, await start(api, **missing))
    assert (job["status"], job["total"], job["delivered"]) == ("COMPLETED", 2, 2)
    sent = [each for each in receiver.received if each.path == "/new"]
    assert sorted(each.body[-20:] for each in sent) == sorted(
        each.body[-20:]
        for each in receiver.received
        if each.path == "/old" and each.event in {e.event for e in sent}
    )
    page = (await api("GET", f"/destinations/{target}/deliveries")).json["items"]
    assert {(each["isReplay"], each["eventType"], each["priority"]) for each in page} == {
        (True, "a.one", "HIGH")
    }
    shown = (await api("GET", f"/deliveries/{page[0]['id']}")).json
    assert (shown["replayOf"], shown["replayJobId"]) == (None, job["id"])
    again = await ended(house, api, await start(api, **missing))
    assert (again["total"], again["enqueued"]) == (0, 0), "they have deliveries now"
    await ruled(api, target, eventTypes=["b.*"])
    more = await ended(house, api, await start(api, **missing))
    assert (more["total"], more["delivered"]) == (3, 3)


async def test_only_events_of_the_destinations_customer_and_of_the_selection_are_missing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url("/old"))
    for kind, customer in (("a.one", "c1"), ("a.two", "c2"), ("b.one", "c1"), ("c.one", None)):
        more = {} if customer is None else {"customerExternalId": customer}
        await post(api, kind, **more)
    await all_settled(house, api, 4)
    target = await bare(api, receiver, customerExternalId="c1")
    await ruled(api, target)
    token = (await api("POST", "/embed/sessions", {"customerExternalId": "c1"})).json["token"]
    owner = house.caller_with(token)
    some = {"destinationId": target, "mode": "MISSING", "eventTypes": ["a.*"]}
    job = await ended(house, owner, await start(owner, **some))
    assert (job["total"], job["delivered"]) == (1, 1)
    job = await ended(house, owner, await start(owner, destinationId=target, mode="MISSING"))
    assert (job["total"], job["delivered"]) == (1, 1)
    again = await ended(house, api, await start(api, destinationId=target))
    assert again["total"] == 0, "what was made by a job is replayed only by its id"


async def test_each_lane_gets_its_missing_events_in_order(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    for n in range(60):
        await post(api, payload={"n": n}, customerExternalId=f"c{n % 3}")
    target = await bare(api, receiver, delivery={"ordering": "KEY", "concurrency": 8})
    await ruled(api, target)
    job = await ended(house, api, await start(api, destinationId=target, mode="MISSING"))
    assert (job["total"], job["delivered"]) == (60, 60)
    events = [each.event for each in receiver.received]
    page = (await api("GET", "/events?limit=100")).json["items"]
    lanes: dict[str, list[str]] = {}
    for each in reversed(page):
        if each["customerExternalId"] is not None:
            lanes.setdefault(each["customerExternalId"], []).append(each["id"])
    assert len(lanes) == 3
    for lane in lanes.values():
        assert [each for each in events if each in lane] == lane


@each_case(
    ("body", "path"),
    [
        ({"mode": "MISSING", "from": "2026-11-20T12:00:00Z"}, "destinationId"),
        ({"mode": "MISSING", "destinationId": "", "statuses": ["FAILED"]}, "statuses"),
        ({"mode": "MISSING", "destinationId": "", "deliveryIds": [""]}, "deliveryIds"),
        ({"mode": "ALL", "destinationId": ""}, "mode"),
    ],
)
async def test_what_does_not_fit_the_mode_is_refused(
    api: Caller, body: dict[str, Any], path: str
) -> None:
    nobody = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
    named = {key: nobody if value == "" else value for key, value in body.items()}
    if "deliveryIds" in named:
        named["deliveryIds"] = [nobody]
    refused = await api("POST", "/replay-jobs", named)
    assert (refused.status, refused.paths) == (400, [path])
