"""Jobs that cancel or retry a destination's matching deliveries, on a whole server."""

from typing import Any

from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.test_orders import LONG, waiting


async def ended(house: ServiceHouse, api: Caller, verb: str, body: dict[str, Any]) -> Any:
    made = await api("POST", f"/deliveries/{verb}", body)
    assert made.status == 201, made.body
    path = f"/replay-jobs/{made.json['id']}"
    return await house.until(api, path, lambda job: job["finishedAt"] is not None)


async def statuses(api: Caller, target: str) -> list[str]:
    """Return the statuses of a destination's deliveries, newest first."""
    page = await api("GET", f"/destinations/{target}/deliveries?limit=100")
    return [item["status"] for item in page.json["items"]]


@each_case(
    ("change", "path"),
    [
        ({"destinationId": None}, "destinationId"),
        ({"eventTypes": ["a.**"]}, "eventTypes[0]"),
        ({"customerExternalId": ""}, "customerExternalId"),
        ({"status": "DELIVERED"}, "status"),
        ({"limit": 0}, "limit"),
        ({"dryRun": None}, "dryRun"),
        ({"ratePerSecond": 1}, "ratePerSecond"),
        ({"from": "2026-11-20T12:00:00Z", "to": "2026-11-20T11:00:00Z"}, "from"),
    ],
)
async def test_a_selection_that_is_wrong_is_refused(
    api: Caller, change: dict[str, Any], path: str
) -> None:
    nobody = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
    for verb in ("retry", "cancel"):
        refused = await api("POST", f"/deliveries/{verb}", {"destinationId": nobody, **change})
        assert (refused.status, refused.paths) == (400, [path]), verb


async def test_a_job_cancels_all_that_wait_and_has_an_end(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    options = {"delivery": {"retrySchedule": [3600], "ordering": "STRICT"}}
    other, _ = await waiting(house, api, receiver, 1)
    target, ids = await waiting(house, api, receiver, 5, **options)
    await destination(api, receiver.url("/ops"), ["angarium.replay.finished"])
    job = await ended(house, api, "cancel", {"destinationId": target})
    (told,) = await receiver.reaches(1, "/ops")
    assert told.json["data"].items() >= {"replayJobId": job["id"], "kind": "CANCEL"}.items()
    assert (job["kind"], job["mode"], job["status"]) == ("CANCEL", None, "COMPLETED")
    assert (job["total"], job["enqueued"], job["skipped"]) == (5, 5, 0)
    for identifier in ids:
        shown = (await api("GET", f"/deliveries/{identifier}")).json
        assert (shown["status"], shown["dlqStatus"]) == ("FAILED", "DISCARDED")
    await house.until(  # the other destination got both events and is unchanged
        api,
        f"/destinations/{other}/deliveries",
        lambda page: [each["status"] for each in page["items"]] == ["RETRYING"] * 6,
    )
    progress = (await api("GET", f"/replay-jobs/{job['id']}/progress")).json
    assert (progress["percent"], progress["remaining"], progress["etaSeconds"]) == (100.0, 0, 0)
    (entry,) = (await api("GET", f"/audit-logs?objectId={job['id']}")).json["items"]
    assert entry["changes"]["kind"]["to"] == "CANCEL"
    listed = (await api("GET", "/replay-jobs?kind=CANCEL")).json["items"]
    assert [each["id"] for each in listed] == [job["id"]]
    assert (await api("GET", "/replay-jobs?kind=RETRY")).json["items"] == []


async def test_a_job_cancels_at_a_disabled_destination_only_what_matches(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), **LONG)
    assert (await api("POST", f"/destinations/{target}/disable", {})).status == 200
    for kind, customer in (("a.one", "c1"), ("a.two", "c2"), ("b.one", "c1")):
        await post(api, kind, customerExternalId=customer)
    filters: dict[str, Any] = {"destinationId": target, "eventTypes": ["a.*"]}
    counted = await ended(house, api, "cancel", {**filters, "dryRun": True})
    assert (counted["total"], counted["enqueued"], counted["dryRun"]) == (2, 0, True)
    job = await ended(house, api, "cancel", {**filters, "customerExternalId": "c2"})
    assert (job["enqueued"], job["customerExternalId"]) == (1, "c2")
    assert await statuses(api, target) == ["PENDING", "FAILED", "PENDING"]
    job = await ended(house, api, "cancel", {"destinationId": target, "status": "RETRYING"})
    assert (job["total"], job["statuses"]) == (0, ["RETRYING"])
    job = await ended(house, api, "cancel", {"destinationId": target, "limit": 1})
    assert (job["total"], job["enqueued"], job["limit"]) == (1, 1, 1)
    assert (await statuses(api, target)).count("PENDING") == 1
    late = {"destinationId": target, "from": "2100-01-01T00:00:00.000Z"}
    assert (await ended(house, api, "cancel", late))["total"] == 0


async def test_a_job_retries_all_that_wait_ahead_of_their_schedule(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    target = await destination(api, receiver.url(), delivery={"retrySchedule": [3600, 3600]})
    for _ in range(4):
        await post(api)
    path = f"/destinations/{target}/deliveries"
    await house.until(
        api, path, lambda page: [each["status"] for each in page["items"]] == ["RETRYING"] * 4
    )
    job = await ended(house, api, "retry", {"destinationId": target, "status": "RETRYING"})
    assert (job["kind"], job["total"], job["enqueued"]) == ("RETRY", 4, 4)
    await house.until(
        api, path, lambda page: [each["attemptCount"] for each in page["items"]] == [2] * 4
    )
    assert await statuses(api, target) == ["RETRYING"] * 4, "each was retried once"
    receiver.answer = lambda _: 204
    await ended(house, api, "retry", {"destinationId": target})
    await house.until(
        api, path, lambda page: {each["status"] for each in page["items"]} == {"DELIVERED"}
    )


async def test_a_retry_waits_for_a_disabled_destination_and_can_be_cancelled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, (identifier,) = await waiting(house, api, receiver)
    assert (await api("POST", f"/destinations/{target}/disable", {})).status == 200
    made = (await api("POST", "/deliveries/retry", {"destinationId": target})).json
    path = f"/replay-jobs/{made['id']}"
    await house.until(api, path, lambda job: job["status"] == "PAUSED")
    ended_ = (await api("POST", f"{path}/cancel", {})).json
    assert (ended_["status"], ended_["enqueued"]) == ("CANCELLED", 0)
    assert (await api("GET", f"/deliveries/{identifier}")).json["attemptCount"] == 1


async def test_a_customer_orders_only_its_own_deliveries(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, _ = await waiting(house, api, receiver, customerExternalId="c1")
    tokens = {
        name: (await api("POST", "/embed/sessions", {"customerExternalId": name})).json["token"]
        for name in ("c1", "c2")
    }
    stranger, owner = house.caller_with(tokens["c2"]), house.caller_with(tokens["c1"])
    body = {"destinationId": target}
    assert (await stranger("POST", "/deliveries/cancel", body)).status == 404
    other = {**body, "customerExternalId": "c2"}
    assert (await owner("POST", "/deliveries/cancel", other)).status == 404
    job = await ended(house, owner, "cancel", body)
    assert (job["enqueued"], job["customerExternalId"]) == (1, None)
    assert (await stranger("GET", f"/replay-jobs/{job['id']}")).status == 404
    await api("PATCH", "/workspace", {"customerMay": {"discardDeliveries": False}})
    refused = await owner("POST", "/deliveries/cancel", body)
    assert (refused.status, "discardDeliveries" in refused.json["message"]) == (403, True)
    assert (await owner("POST", "/deliveries/retry", body)).status == 201
