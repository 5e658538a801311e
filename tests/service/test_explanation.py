"""Explanations of an event's routing. They show the present rules and the recorded deliveries."""

from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, post
from tests.service.receiver import Receiver
from tests.service.test_filters import rule


async def test_an_event_is_explained_rule_by_rule_with_what_was_recorded(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    got = await destination(api, receiver.url(), ["order.*"])
    missed = await destination(api, receiver.url(), ["refund.*"])
    false = await rule(
        api, missed, name="large", eventTypes=["order.*"], filter="event.payload.total > 100"
    )
    event = await post(api, "order.created", payload={"total": 50})
    delivery = (await api("GET", f"/events/{event}/deliveries")).json["items"][0]["id"]
    await house.settled(api, delivery)
    shown = (await api("GET", f"/events/{event}/explain")).json
    assert shown["recorded"] == [
        {"deliveryId": delivery, "destinationId": got, "status": "DELIVERED"}
    ]
    assert (shown["eventId"], shown["atLeast"], shown["otherRules"]) == (event, False, 1)
    by_name = {each["name"]: each for each in shown["rules"]}
    assert by_name["r"]["deliveryId"] == delivery
    assert by_name["r"]["changedSince"] is False
    large = by_name["large"]
    assert (large["reason"], large["deliveryId"], large["changedSince"]) == (
        "FILTER_FALSE",
        None,
        False,
    )
    assert large["filterRead"] == [{"path": "event.payload.total", "value": "50"}]
    change = {"filter": "event.payload.total > 10"}
    assert (await api("PATCH", f"/routing-rules/{false.json['id']}", change)).status == 200
    shown = (await api("GET", f"/events/{event}/explain")).json
    large = next(each for each in shown["rules"] if each["name"] == "large")
    assert (large["reason"], large["deliveryId"], large["changedSince"]) == ("MATCHES", None, True)
    assert {each["destinationId"] for each in shown["destinations"]} == {got, missed}


async def test_a_customer_sees_its_own_rules_and_no_values_without_permission(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    own = await destination(api, receiver.url(), ["never.*"], customerExternalId="c1")
    await destination(api, receiver.url(), ["order.*"])
    await rule(api, own, name="own", eventTypes=["order.*"], filter="event.payload.a == 1")
    event = await post(api, "order.created", payload={"a": 1}, customerExternalId="c1")
    mine, other = await browser_of(house, api, "c1"), await browser_of(house, api, "c2")
    path = f"/events/{event}/explain"
    assert (await other("GET", path)).status == 404
    shown = (await mine("GET", path)).json
    (judged,) = shown["rules"]
    assert judged["filterRead"] == [{"path": "event.payload.a", "value": "1"}]
    assert [each["destinationId"] for each in shown["recorded"]] == [own]
    may = {"customerMay": {"viewPayloads": False}}
    assert (await api("PATCH", "/workspace", may)).status == 200
    shown = await house.until(mine, path, lambda each: each["rules"][0]["filterRead"] is None)
    assert shown["rules"][0]["reason"] == "MATCHES"
