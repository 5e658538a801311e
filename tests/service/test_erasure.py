"""The erasure of events' contents: rows and counters stay, and erased events are not sent again."""

import json
from typing import Any

import trio

from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, post
from tests.service.receiver import Receiver
from tests.service.test_orders import waiting

SECRET = "a secret of somebody"
FIELDS: dict[str, Any] = {"payload": {"name": SECRET}, "metadata": {"more": SECRET}}


async def erased(api: Caller, event: str) -> Any:
    answer = await api("DELETE", f"/events/{event}/payload")
    assert answer.status == 200, answer.body
    return answer.json


async def contents(house: ServiceHouse) -> str:
    found = []
    for table in ("events", "deliveries", "attempts", "files"):
        rows = await house.server.bridge.pool.fetch(f"SELECT * FROM {table}")
        found += [repr(dict(row)) for row in rows]
    return "\n".join(found)


async def test_contents_go_and_the_event_and_its_deliveries_stay(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.says = lambda _: 200, lambda _: SECRET.encode()
    await destination(api, receiver.url())
    event = await post(api, "order.created", **FIELDS)
    (item,) = (await api("GET", f"/events/{event}/deliveries")).json["items"]
    before = await house.settled(api, item["id"])
    assert SECRET in json.dumps(before)
    shown = await erased(api, event)
    assert shown["erasedAt"] is not None
    assert [shown[each] for each in ("payload", "metadata", "attachments")] == [None] * 3
    after = (await api("GET", f"/deliveries/{item['id']}")).json
    assert (after["status"], after["attemptCount"]) == ("DELIVERED", 1)
    assert SECRET not in json.dumps(after)
    assert SECRET not in await contents(house)
    assert (await erased(api, event))["erasedAt"] == shown["erasedAt"]
    page = (await api("GET", "/audit-logs?action=event.erase")).json
    assert [each["objectId"] for each in page["items"]] == [event]


async def test_what_waits_is_cancelled_and_what_is_dead_discarded(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (waits,) = await waiting(house, api, receiver)
    await destination(api, receiver.url(), delivery={"retrySchedule": []})
    event = (await api("GET", f"/deliveries/{waits}")).json["eventId"]
    other = await post(api, **FIELDS)
    await house.until(api, "/dlq", lambda page: len(page["items"]) == 1)
    for each in (event, other):
        await erased(api, each)
        for item in (await api("GET", f"/events/{each}/deliveries")).json["items"]:
            assert (item["status"], item["dlqStatus"]) == ("FAILED", "DISCARDED")
    assert (await api("GET", "/dlq")).json["items"] == []
    assert SECRET not in await contents(house)


async def test_an_erased_event_is_not_replayed(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    events = []
    for fields in (FIELDS, {}):
        events.append(await post(api, **fields))
        (item,) = (await api("GET", f"/events/{events[-1]}/deliveries")).json["items"]
        await house.settled(api, item["id"])
    gone, kept = events
    await erased(api, gone)
    job = (await api("POST", "/replay-jobs", {"destinationId": target})).json["id"]
    done = await house.until(api, f"/replay-jobs/{job}", lambda each: each["status"] == "COMPLETED")
    assert (done["delivered"], done["skipped"]) == (1, 1)
    assert [each.headers["webhook-id"] for each in receiver.received] == [gone, kept, kept]


async def test_an_attempt_in_flight_ends_before_anything_is_erased(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    other = await house.caller(tenant)
    receiver.hold = trio.Event()
    await destination(api, receiver.url())
    event = await post(api, **FIELDS)
    await receiver.reaches(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(erased, api, event)
        assert (await other("GET", f"/events/{event}")).json["erasedAt"] is None
        receiver.hold.set()
    (item,) = (await api("GET", f"/events/{event}/deliveries")).json["items"]
    assert item["status"] == "DELIVERED"
    assert SECRET not in await contents(house)


async def test_a_session_erases_nothing(house: ServiceHouse, api: Caller) -> None:
    event = await post(api, customerExternalId="c1")
    own = await browser_of(house, api, "c1")
    assert (await own("DELETE", f"/events/{event}/payload")).status == 403
    nobody = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
    assert (await api("DELETE", f"/events/{nobody}/payload")).status == 404
