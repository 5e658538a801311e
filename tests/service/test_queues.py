"""Waiting deliveries on a whole server: their lanes, the explanations why they wait, and the time of
their next attempt during a hold."""

from typing import Any

from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, post
from tests.service.receiver import Receiver
from tests.service.test_orders import waiting

HOUR: list[int] = [3600, 3600]


async def gates(api: Caller, delivery: str) -> dict[str, Any]:
    answer = await api("GET", f"/deliveries/{delivery}/explain")
    assert answer.status == 200, answer.body
    return {wait["gate"]: wait for wait in answer.json["waits"]}


async def test_lanes_are_listed_with_their_heads_the_oldest_first(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    options = {"retrySchedule": HOUR, "ordering": "KEY"}
    target = await destination(api, receiver.url(), delivery=options)
    for customer in ("c1", "c2"):
        for _ in range(2):
            await post(api, "e.one", customerExternalId=customer)
    path = f"/destinations/{target}"
    page = await house.until(
        api,
        f"{path}/deliveries",
        lambda page: sum(item["status"] == "RETRYING" for item in page["items"]) == 2,
    )
    by_id = {item["id"]: item for item in page["items"]}
    found = (await api("GET", f"{path}/lanes")).json
    assert [(each["kind"], each["key"], each["depth"]) for each in found["items"]] == [
        ("CUSTOMER", "c1", 2),
        ("CUSTOMER", "c2", 2),
    ]
    for lane in found["items"]:
        assert lane["head"] == by_id[lane["head"]["id"]]
        assert lane["until"] == lane["head"]["nextAttemptAt"]
        assert lane["atLeast"] is False
    first = (await api("GET", f"{path}/lanes?limit=1")).json
    rest = (await api("GET", f"{path}/lanes?cursor={first['nextCursor']}")).json
    assert [*first["items"], *rest["items"]] == found["items"]
    assert rest["nextCursor"] is None


async def test_a_delivery_behind_the_head_of_its_lane_names_the_head(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    options = {"delivery": {"retrySchedule": HOUR, "ordering": "STRICT"}}
    target, (head, _, last) = await waiting(house, api, receiver, 3, **options)
    (lane,) = (await api("GET", f"/destinations/{target}/lanes")).json["items"]
    assert (lane["kind"], lane["key"], lane["depth"]) == ("DESTINATION", None, 3)
    assert lane["head"]["id"] == head
    assert set(await gates(api, head)) == {"SCHEDULE"}
    assert (await gates(api, last))["LANE"]["blockedBy"] == head
    shown = (await api("GET", f"/deliveries/{last}/explain")).json
    assert shown["lane"] == {"key": None, "kind": "DESTINATION"}
    assert (shown["position"], shown["status"]) == (2, "PENDING")


async def test_an_explanation_names_a_retry_after_and_a_disabled_destination(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.header = lambda _: 503, b"Retry-After: 3600"
    target = await destination(api, receiver.url(), delivery={"retrySchedule": [60]})
    await post(api)
    path = f"/destinations/{target}"
    page = await house.until(
        api, f"{path}/deliveries", lambda page: page["items"][0]["status"] == "RETRYING"
    )
    failed = page["items"][0]["id"]
    held = await post(api)
    hold = (await house.until(api, f"{path}/health", lambda each: each["hold"] is not None))["hold"]
    page = (await api("GET", f"/events/{held}/deliveries")).json
    found = await gates(api, page["items"][0]["id"])
    assert found["RETRY_AFTER"]["until"] == hold["until"]
    item = (await api("GET", f"/deliveries/{failed}")).json
    assert item["nextAttemptAt"] >= hold["until"]
    assert (await api("POST", f"{path}/disable", {})).status == 200
    assert "DISABLED" in await gates(api, failed)


async def test_a_delivery_that_has_ended_waits_for_nothing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    event = await post(api)
    page = (await api("GET", f"/events/{event}/deliveries")).json
    identifier = page["items"][0]["id"]
    await house.settled(api, identifier)
    assert (await api("GET", f"/deliveries/{identifier}/explain")).json == {
        "deliveryId": identifier,
        "status": "DELIVERED",
        "waits": [],
        "lane": None,
        "position": None,
    }
    assert (await api("GET", f"/destinations/{target}/lanes")).json["items"] == []


async def test_lanes_and_explanations_of_other_customers_do_not_exist(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    options = {"delivery": {"retrySchedule": HOUR, "ordering": "KEY"}}
    target, (delivery,) = await waiting(house, api, receiver, 1, customerExternalId="c1", **options)
    own, other = await browser_of(house, api, "c1"), await browser_of(house, api, "c2")
    for path in (f"/destinations/{target}/lanes", f"/deliveries/{delivery}/explain"):
        assert (await own("GET", path)).status == 200
        assert (await other("GET", path)).status == 404
