"""Waiting deliveries on a whole server: a request sends them immediately or cancels them."""

from typing import Any

import trio

from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

LONG: dict[str, Any] = {"delivery": {"retrySchedule": [3600, 3600]}}


async def waiting(
    house: ServiceHouse, api: Caller, receiver: Receiver, count: int = 1, **options: Any
) -> tuple[str, list[str]]:
    """Create deliveries that wait. Each has failed once, or waits behind a delivery that has failed once.

    Returns the destination of the deliveries, and their ids in order of acceptance.
    """
    receiver.answer = lambda _: 500
    target = await destination(api, receiver.url(), **{**LONG, **options})
    events = [await post(api, "e.one", customerExternalId="c1") for _ in range(count)]
    path = f"/destinations/{target}/deliveries"
    page = await house.until(
        api, path, lambda page: any(item["status"] == "RETRYING" for item in page["items"])
    )
    by_event = {item["eventId"]: item["id"] for item in page["items"]}
    return target, [by_event[event] for event in events]


async def test_a_retried_delivery_is_sent_now_and_its_schedule_goes_on(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (identifier,) = await waiting(house, api, receiver)
    answer = await api("POST", f"/deliveries/{identifier}/retry", {})
    assert (answer.status, answer.json["id"]) == (202, identifier)
    await receiver.reaches(2)
    detail = await house.until(
        api, f"/deliveries/{identifier}", lambda each: each["attemptCount"] == 2
    )
    assert detail["status"] == "RETRYING"
    receiver.answer = lambda _: 204
    assert (await api("POST", f"/deliveries/{identifier}/retry", {})).status == 202
    assert (await house.settled(api, identifier))["status"] == "DELIVERED"


async def test_a_delivery_of_the_dead_letter_queue_is_retried_as_there(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    await destination(api, receiver.url(), delivery={"retrySchedule": []})
    await post(api)
    page = await house.until(api, "/dlq", lambda page: page["items"])
    receiver.answer = lambda _: 204
    identifier = page["items"][0]["id"]
    assert (await api("POST", f"/deliveries/{identifier}/retry", {})).status == 202
    detail = await house.settled(api, identifier)
    assert (detail["status"], detail["dlqStatus"]) == ("DELIVERED", "RETRIED_FROM_DLQ")
    refused = await api("POST", f"/deliveries/{identifier}/retry", {})
    assert (refused.status, refused.code) == (409, "conflict")
    assert "POST /replay-jobs" in refused.json["message"]


async def test_a_retried_delivery_passes_a_retry_after(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.header = lambda _: 503, b"Retry-After: 3600"
    target = await destination(api, receiver.url(), **LONG)
    await post(api)
    path = f"/destinations/{target}/deliveries"
    await house.until(api, path, lambda page: page["items"][0]["status"] == "RETRYING")
    receiver.answer = lambda _: 204
    held = await post(api)
    page = await house.until(api, path, lambda page: len(page["items"]) == 2)
    (identifier,) = [item["id"] for item in page["items"] if item["eventId"] == held]
    assert (await api("POST", f"/deliveries/{identifier}/retry", {})).status == 202
    assert (await house.settled(api, identifier))["status"] == "DELIVERED"
    page = (await api("GET", path)).json
    assert {item["status"] for item in page["items"]} == {"DELIVERED", "RETRYING"}


async def test_a_cancelled_delivery_is_discarded_and_its_lane_moves_on(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    options = {"delivery": {"retrySchedule": [3600], "ordering": "STRICT"}}
    _, (head, between, last) = await waiting(house, api, receiver, 3, **options)
    receiver.answer = lambda _: 204
    for identifier in (between, head):
        answer = await api("POST", f"/deliveries/{identifier}/cancel", {})
        assert (answer.status, answer.json["status"]) == (202, "FAILED")
        assert answer.json["dlqStatus"] == "DISCARDED"
    assert (await house.settled(api, last))["status"] == "DELIVERED"
    sent = [each.headers["angarium-delivery-id"] for each in receiver.received]
    assert sent == [head, last]
    again = await api("POST", f"/deliveries/{head}/cancel", {})
    assert (again.status, again.json["dlqStatus"]) == (202, "DISCARDED")
    for identifier in (between, head):
        assert (await api("GET", f"/deliveries/{identifier}")).json["lastError"] == "cancelled"


async def test_what_waits_at_a_disabled_destination_is_cancelled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, (identifier,) = await waiting(house, api, receiver)
    assert (await api("POST", f"/destinations/{target}/disable", {})).status == 200
    answer = await api("POST", f"/deliveries/{identifier}/cancel", {})
    assert (answer.status, answer.json["status"]) == (202, "FAILED")


async def test_an_attempt_in_flight_ends_before_its_delivery_is_cancelled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.hold = lambda _: 500, trio.Event()
    target = await destination(api, receiver.url(), **LONG)
    await post(api)
    await receiver.reaches(1)
    page = (await api("GET", f"/destinations/{target}/deliveries")).json
    identifier = page["items"][0]["id"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(api, "POST", f"/deliveries/{identifier}/cancel", {})
        await house.until(
            api, "/audit-logs?action=delivery.cancel", lambda page: len(page["items"]) == 1
        )
        receiver.hold.set()
    detail = await house.settled(api, identifier)
    assert (detail["status"], detail["dlqStatus"]) == ("FAILED", "DISCARDED")
    assert [each["responseStatus"] for each in detail["attempts"]] == [500]


async def test_a_resumed_destination_is_sent_to_although_its_receiver_asked_for_a_pause(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.header = lambda _: 503, b"Retry-After: 3600"
    target = await destination(api, receiver.url(), **LONG)
    await post(api)
    path = f"/destinations/{target}"
    shown = await house.until(api, f"{path}/health", lambda each: each["hold"] is not None)
    assert shown["hold"]["reason"] == "RETRY_AFTER"
    assert shown["hold"]["until"] > shown["lastFailureAt"]
    receiver.answer, receiver.header = lambda _: 204, b""
    event = await post(api)
    assert (await api("POST", f"{path}/resume", {})).status == 200
    page = (await api("GET", f"/events/{event}/deliveries")).json
    assert (await house.settled(api, page["items"][0]["id"]))["status"] == "DELIVERED"
    assert (await api("GET", f"{path}/health")).json["hold"] is None
    assert (await api("POST", f"{path}/disable", {})).status == 200
    shown = (await api("GET", f"{path}/health")).json
    assert shown["hold"] == {"reason": "DISABLED", "until": None}
    assert (await api("POST", f"{path}/resume", {})).status == 409
