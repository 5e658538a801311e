"""The operation that sends the caller's sample to a destination, or only shows the request (`dryRun`)."""

import json
from typing import Any

from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, browser_of, destination
from tests.service.receiver import Receiver

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}


async def sampled(api: Caller, target: str, **body: Any) -> Any:
    answer = await api("POST", f"/destinations/{target}/test", body)
    assert answer.status == 200, answer.body
    return answer.json


async def test_a_sample_has_the_given_type_and_payload(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["never.*"])
    result = await sampled(api, target, eventType="order.created", payload={"id": "\u00e4"})
    assert (result["success"], result["request"]) == (True, None)
    sent = json.loads(receiver.received[0].body)
    assert (sent["type"], sent["data"]) == ("order.created", {"id": "\u00e4"})
    shown = (await api("GET", f"/deliveries/{result['deliveryId']}")).json
    assert (shown["originKind"], shown["eventType"]) == ("INSPECTION", "order.created")


async def test_without_a_payload_the_schemas_example_is_sent(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["never.*"])
    draft = {"eventType": "order.created", "schema": SCHEMA, "example": {"id": "ord_1"}}
    made = (await api("POST", "/schemas", draft)).json
    assert (await api("POST", f"/schemas/{made['id']}/activate", {})).status == 200
    await sampled(api, target, eventType="order.created")
    await sampled(api, target, eventType="order.paid")
    await sampled(api, target)
    datas = [json.loads(each.body) for each in receiver.received]
    assert [each["type"] for each in datas] == ["order.created", "order.paid", "angarium.test"]
    assert datas[0]["data"] == {"id": "ord_1"}
    assert datas[1]["data"] == datas[2]["data"]


async def test_a_rehearsal_shows_the_request_and_sends_nothing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    headers = {"x-plain": "1", "authorization": "Bearer secret"}
    target = await destination(api, receiver.url("/hook"), ["never.*"], headers=headers)
    sample = {"eventType": "order.created", "payload": {"id": 1}}
    shown = await sampled(api, target, dryRun=True, **sample)
    assert (shown["deliveryId"], shown["success"], shown["skipped"]) == (None, True, False)
    request = shown["request"]
    assert request["url"] == receiver.url("/hook")
    assert (request["headers"]["x-plain"], request["headers"]["authorization"]) == ("1", "***")
    assert "secret" not in json.dumps(shown)
    assert json.loads(request["body"])["data"] == {"id": 1}
    assert receiver.received == []
    assert (await api("GET", f"/destinations/{target}/deliveries")).json["items"] == []
    result = await sampled(api, target, **sample)
    delivery = (await api("GET", f"/deliveries/{result['deliveryId']}")).json
    own = {"webhook-id", "webhook-timestamp", "angarium-delivery-id"}
    sent = delivery["request"]
    assert {name: value for name, value in sent["headers"].items() if name not in own} == {
        name: value for name, value in request["headers"].items() if name not in own
    }


async def test_a_rehearsal_runs_the_script(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["never.*"])
    source = "function transform(e) { return e.data.skip ? null : {$body: {a: e.data.a}}; }"
    made = await api(
        "POST", "/transform-scripts", {"destinationId": target, "name": "s", "source": source}
    )
    path = f"/transform-scripts/{made.json['id']}/publish"
    assert (await api("POST", path, {})).status == 200
    shown = await sampled(api, target, dryRun=True, payload={"a": 7})
    assert json.loads(shown["request"]["body"]) == {"a": 7}
    shown = await sampled(api, target, dryRun=True, payload={"skip": True})
    assert (shown["success"], shown["skipped"], shown["request"]["body"]) == (False, True, None)
    assert receiver.received == []


@each_case(
    ("body", "field"),
    [
        ({"eventType": "no spaces"}, "eventType"),
        ({"eventType": "angarium.replay.finished"}, "eventType"),
        ({"payload": []}, "payload"),
        ({"dryRun": None}, "dryRun"),
        ({"bogus": 1}, "bogus"),
    ],
)
async def test_a_wrong_sample_is_refused_naming_the_field(
    api: Caller, receiver: Receiver, body: dict[str, Any], field: str
) -> None:
    target = await destination(api, receiver.url(), ["never.*"])
    answer = await api("POST", f"/destinations/{target}/test", body, check=False)
    assert (answer.status, answer.json["details"][0]["path"]) == (400, field)


async def test_a_customer_rehearses_its_own_destinations_and_sees_bodies_with_permission(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["never.*"], customerExternalId="c1")
    own, other = await browser_of(house, api, "c1"), await browser_of(house, api, "c2")
    path = f"/destinations/{target}/test"
    assert (await other("POST", path, {"dryRun": True})).status == 404
    assert (await sampled(own, target, dryRun=True))["request"]["body"] is not None
    may = {"customerMay": {"viewPayloads": False}}
    assert (await api("PATCH", "/workspace", may)).status == 200
    shown = await sampled(own, target, dryRun=True)
    assert (shown["success"], shown["request"]["body"]) == (True, None)
    assert shown["request"]["url"] == receiver.url()
