"""The look-up of ids, keys, names and event types on a whole server."""

from typing import Any
from urllib.parse import quote

from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, post
from tests.service.receiver import Receiver

NOBODY = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"


async def found(api: Caller, text: str) -> list[tuple[Any, ...]]:
    answer = await api("GET", f"/lookup?q={quote(text)}")
    assert answer.status == 200, answer.body
    return [(each["kind"], each["id"], each["label"]) for each in answer.json["items"]]


async def test_a_thing_is_found_by_its_id(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["order.*"])
    event = await post(api, "order.created")
    delivery = (await api("GET", f"/events/{event}/deliveries")).json["items"][0]["id"]
    rule = (await api("GET", "/routing-rules")).json["items"][0]["id"]
    job = (await api("POST", "/replay-jobs", {"destinationId": target, "dryRun": True})).json
    script = {"destinationId": target, "name": "s", "source": "function transform(e) { return e }"}
    made = (await api("POST", "/transform-scripts", script)).json["id"]
    schema = {"eventType": "order.paid", "schema": {"type": "object"}}
    version = (await api("POST", "/schemas", schema)).json["id"]
    assert await found(api, event.upper()) == [("EVENT", event, "order.created")]
    assert await found(api, delivery) == [("DELIVERY", delivery, "order.created")]
    assert await found(api, target) == [("DESTINATION", target, "a test's")]
    assert await found(api, rule) == [("ROUTING_RULE", rule, "r")]
    assert await found(api, job["id"]) == [("REPLAY_JOB", job["id"], job["status"])]
    assert await found(api, made) == [("TRANSFORM_SCRIPT", made, "s")]
    assert await found(api, version) == [("SCHEMA", version, "order.paid 1")]
    assert await found(api, NOBODY) == []


async def test_an_event_is_found_by_its_key_a_customer_and_a_type_by_how_they_begin(
    house: ServiceHouse, api: Caller
) -> None:
    event = await post(api, "order.created", idempotencyKey="order-1", customerExternalId="orange")
    await post(api, "order.paid")
    assert await found(api, "order-1") == [("EVENT", event, "order.created")]
    assert await found(api, "or") == [
        ("CUSTOMER", "orange", "orange"),
        ("EVENT_TYPE", "order.created", "order.created"),
        ("EVENT_TYPE", "order.paid", "order.paid"),
    ]
    assert await found(api, "%") == []


async def test_an_event_is_found_by_its_correlation_and_own_events_by_their_key(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    first = await post(api, "order.created", correlationId="checkout-7")
    second = await post(api, "order.paid", correlationId="checkout-7")
    assert await found(api, "checkout-7") == [
        ("EVENT", second, "order.paid"),
        ("EVENT", first, "order.created"),
    ]
    receiver.answer = lambda request: 204 if request.path == "/told" else 500
    await destination(api, receiver.url("/told"), ["angarium.delivery.dead_lettered"])
    await destination(api, receiver.url(), ["dead.*"], delivery={"retrySchedule": []})
    await post(api, "dead.one")
    (told,) = await receiver.reaches(1, "/told")
    own = (await api("GET", f"/events/{told.event}")).json
    assert ":" in own["idempotencyKey"]
    assert await found(api, own["idempotencyKey"]) == [("EVENT", told.event, own["eventType"])]


async def test_a_destination_is_found_by_a_part_of_its_name_and_ids_by_their_beginning(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["order.*"])
    event = await post(api, "order.created")
    delivery = (await api("GET", f"/events/{event}/deliveries")).json["items"][0]["id"]
    assert await found(api, "TEST'S") == [("DESTINATION", target, "a test's")]
    for part in (event[:20], f"{event[:8]}…{event[-4:]}", f"{event[:8]}...{event[-12:]}"):
        assert ("EVENT", event, "order.created") in await found(api, part), part
    assert ("DELIVERY", delivery, "order.created") in await found(api, delivery[:8])
    assert ("DESTINATION", target, "a test's") in await found(api, target[:13])
    assert await found(api, event[:7]) == []


async def test_what_others_have_is_not_found(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), customerExternalId="c1")
    fields = {"customerExternalId": "c1", "idempotencyKey": "key", "correlationId": "cart"}
    event = await post(api, "order.created", **fields)
    delivery = (await api("GET", f"/events/{event}/deliveries")).json["items"][0]["id"]
    own, other = await browser_of(house, api, "c1"), await browser_of(house, api, "c2")
    stranger = await house.caller(await house.tenant("stranger"), Scope.READ)
    for text in (
        target,
        event,
        delivery,
        event[:20],
        target[:20],
        "key",
        "cart",
        "test's",
        "order",
    ):
        assert await found(own, text), text
        assert await found(other, text) == [], text
        assert await found(stranger, text) == [], text
    assert await found(own, "c") == []
