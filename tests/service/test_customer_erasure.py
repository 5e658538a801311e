"""The erasure of a customer: its destinations are archived, and its events lose their contents."""

from typing import Any

import trio
from structlog.testing import capture_logs

import engine.control.erasure
from engine.ports import StoreAwayError
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, open_service, post
from tests.service.receiver import Receiver
from tests.service.test_erasure import FIELDS, SECRET, contents


async def erased(house: ServiceHouse, api: Caller, customer: str) -> Any:
    return await house.until(
        api, f"/customers/{customer}", lambda found: found["erasure"]["finishedAt"] is not None
    )


async def test_a_customers_events_lose_their_contents_and_its_destinations_are_archived(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.says = lambda _: SECRET.encode()
    own = await destination(api, receiver.url("/own"), customerExternalId="c1")
    shared = await destination(api, receiver.url("/shared"))
    kept = await post(api, payload={"n": 1}, customerExternalId="c2")
    events = [await post(api, customerExternalId="c1", **FIELDS) for _ in range(3)]
    for event in events:
        for item in (await api("GET", f"/events/{event}/deliveries")).json["items"]:
            await house.settled(api, item["id"])
    assert (await api("GET", "/customers/c1")).json["erasure"] is None
    answer = await api("DELETE", "/customers/c1")
    assert (answer.status, answer.json["customerExternalId"]) == (202, "c1")
    done = await erased(house, api, "c1")
    assert (done["erasure"]["events"], done["used"]["destinations"]) == (3, 0)
    assert SECRET not in await contents(house)
    assert (await api("GET", f"/events/{kept}")).json["payload"] == {"n": 1}
    assert (await api("GET", f"/destinations/{own}")).json["status"] == "ARCHIVED"
    assert (await api("GET", f"/destinations/{shared}")).json["status"] == "ACTIVE"
    assert (await api("GET", f"/routing-rules?destinationId={own}")).json["items"] == []
    actions = [each["action"] for each in (await api("GET", "/audit-logs")).json["items"]]
    assert actions.count("customer.erase") == actions.count("destination.archive") == 1


async def test_what_waits_is_cancelled_and_a_repeated_request_takes_in_what_came_since(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    target = await destination(api, receiver.url(), delivery={"retrySchedule": [3600]})
    first = await post(api, customerExternalId="c1", **FIELDS)
    path = f"/destinations/{target}/deliveries"
    await house.until(api, path, lambda page: page["items"][0]["status"] == "RETRYING")
    await api("DELETE", "/customers/c1")
    assert (await erased(house, api, "c1"))["erasure"]["events"] == 1
    (item,) = (await api("GET", f"/events/{first}/deliveries")).json["items"]
    assert (item["status"], item["dlqStatus"]) == ("FAILED", "DISCARDED")
    receiver.answer = lambda _: 204
    second = await post(api, customerExternalId="c1", **FIELDS)
    assert (await api("GET", f"/events/{second}")).json["erasedAt"] is None
    await api("DELETE", "/customers/c1")
    assert (await erased(house, api, "c1"))["erasure"]["events"] == 1
    assert SECRET not in await contents(house)


async def test_an_erasure_waits_for_an_attempt_in_flight(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: Any
) -> None:
    monkeypatch.setattr(engine.control.erasure, "STEP_AGAIN_S", 0.01)
    monkeypatch.setattr("engine.control.erasure.PATIENCE_S", 0.05)
    receiver.hold = trio.Event()
    await destination(api, receiver.url())
    event = await post(api, customerExternalId="c1", **FIELDS)
    await receiver.reaches(1)
    await api("DELETE", "/customers/c1")
    shown = (await api("GET", "/customers/c1")).json["erasure"]
    assert (shown["finishedAt"], shown["events"]) == (None, 0)
    assert (await api("GET", f"/events/{event}")).json["erasedAt"] is None
    receiver.hold.set()
    assert (await erased(house, api, "c1"))["erasure"]["events"] == 1
    assert SECRET not in await contents(house)


async def test_an_erasure_goes_on_after_an_outage_of_the_database(
    house: ServiceHouse, api: Caller, monkeypatch: Any
) -> None:
    async def away(_: object) -> Any:
        tried.set()
        raise StoreAwayError("no answer")

    tried = trio.Event()
    monkeypatch.setattr(engine.control.erasure, "STEP_AGAIN_S", 0.01)
    await post(api, customerExternalId="c1", **FIELDS)
    with capture_logs() as lines:
        with monkeypatch.context() as patched:
            patched.setattr("storage.retention.erasing.CustomerErasureRows.unfinished", away)
            await api("DELETE", "/customers/c1")
            await tried.wait()
        assert (await erased(house, api, "c1"))["erasure"]["events"] == 1
    told = [line["event"] for line in lines if line.get("user") == "erasures of customers"]
    assert told == ["store.away", "store.back"]


async def test_an_erasure_goes_on_after_a_restart(bridge: Bridge, monkeypatch: Any) -> None:
    async def broken(*_: object) -> Any:
        raise RuntimeError("the process dies here")

    with monkeypatch.context() as patched:
        patched.setattr("storage.retention.erasing.CustomerErasureRows.erased", broken)
        async with open_service(bridge) as house:
            tenant = await house.tenant("acme")
            api = await house.caller(tenant)
            event = await post(api, customerExternalId="c1", **FIELDS)
            assert (await api("DELETE", "/customers/c1")).status == 202
            await house.until(api, f"/events/{event}", lambda found: found["erasedAt"] is not None)
            assert (await api("GET", "/customers/c1")).json["erasure"]["events"] == 0
    async with open_service(bridge) as house:
        api = await house.caller(tenant)
        assert (await erased(house, api, "c1"))["erasure"]["events"] == 1
        assert (await api("GET", f"/events/{event}")).json["payload"] is None


async def test_a_session_erases_no_customer(house: ServiceHouse, api: Caller) -> None:
    await post(api, customerExternalId="c1")
    own = await browser_of(house, api, "c1")
    assert (await own("DELETE", "/customers/c1")).status == 403
    assert (await api("DELETE", "/customers/nobody")).status == 404
