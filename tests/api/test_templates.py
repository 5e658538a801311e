"""The catalog over HTTP, and previews of a template's messages."""

import json
from typing import Any

from engine.core.vocabulary import Origin
from engine.log.delivery_log import EventDetail, EventEntry
from tests.api.house import CATALOG, HOOK, Caller, House
from tests.cases import each_case

SLACK = "https://hooks.slack.com/services/T0123/B0123/secretOfAdasChannel"
KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
EVENT = {"eventType": "order.created", "payload": {"text": "Order 42 & more", "total": 19.9}}
NOBODY = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"


async def preview(api: Caller, template: str = "slack", **fields: Any) -> Any:
    answer = await api("POST", f"/destination-templates/{template}/preview", fields)
    assert answer.status == 200, answer.body
    assert (answer.json["request"] is None) is bool(answer.json["errors"])
    return answer.json


async def test_the_catalog_is_shown_as_its_files_have_it(api: Caller) -> None:
    shown = (await api("GET", "/destination-templates")).json
    assert shown["nextCursor"] is None
    assert [item["id"] for item in shown["items"]] == [each.id for each in CATALOG.all()]
    for item, definition in zip(shown["items"], CATALOG.all(), strict=True):
        one = await api("GET", f"/destination-templates/{item['id']}")
        assert one.json == item
        assert item["configSchema"] == definition.config_schema
        assert list(item["configSchema"]["properties"]) == [
            *definition.config_schema["properties"]
        ], "in the order to be asked for"
        for name, field in item["configSchema"]["properties"].items():
            assert field["title"]
            assert field["description"]
            assert (name in definition.secrets) is field.get("secret", False)
            assert (name in definition.secrets) is field.get("writeOnly", False)
        assert item["documentationUrls"]
        assert item["example"]["config"] == definition.example.config


async def test_the_catalog_comes_in_pages(api: Caller) -> None:
    found: list[str] = []
    path = "/destination-templates?limit=5"
    while True:
        page = (await api("GET", path)).json
        found += [item["id"] for item in page["items"]]
        if page["nextCursor"] is None:
            break
        assert len(page["items"]) == 5
        path = f"/destination-templates?limit=5&cursor={page['nextCursor']}"
    assert found == [each.id for each in CATALOG.all()]
    other = (await api("GET", "/destination-templates?limit=1")).json["nextCursor"]
    for cursor in ("x", ""):
        refused = await api("GET", f"/destination-templates?cursor={cursor}")
        assert (refused.status, refused.paths) == (400, ["cursor"])
    assert (await api("GET", f"/destinations?cursor={other}")).status == 400


async def test_what_is_not_in_the_catalog_is_a_404(api: Caller) -> None:
    for name in ("carrier-pigeon", "Slack", "..%2Fslack", NOBODY, "%00"):
        path = f"/destination-templates/{name}"
        assert (await api("GET", path)).code == "not_found"
        assert (await api("POST", f"{path}/preview", {})).code == "not_found"


@each_case("template", [each.id for each in CATALOG.all()])
async def test_each_template_shows_its_example_without_a_secret(api: Caller, template: str) -> None:
    definition = CATALOG.get(template)
    assert definition is not None
    plain = {
        name: value
        for name, value in definition.example.config.items()
        if name not in definition.secrets
    }
    masks = dict.fromkeys(definition.secrets & definition.example.config.keys(), "***")
    for config in (plain, plain | masks, definition.example.config):
        request = (await preview(api, template, config=config))["request"]
        assert request["method"] == "POST"
        assert "content-type" in request["headers"]
        for secret in definition.secrets & definition.example.config.keys():
            assert definition.example.config[secret] not in json.dumps(request)
    if not masks:
        wanted = definition.example.body
        assert json.loads(request["body"]) == wanted


async def test_an_event_is_shown_as_the_service_would_get_it(api: Caller) -> None:
    shown = await preview(api, config={"webhookUrl": SLACK, "title": "Orders"}, event=EVENT)
    request = shown["request"]
    assert request["url"] == "https://hooks.slack.com/***"
    body = json.loads(request["body"])
    assert body["text"] == "Orders: Order 42 &amp; more"
    outbound = {"type": "order.created", "data": {"text": "of a script"}, "id": "1"}
    again = await preview(api, config={}, event=outbound)
    assert json.loads(again["request"]["body"])["text"] == "order.created: of a script"
    assert again["request"]["url"] == "***"


async def test_masks_stand_wherever_a_secret_would(api: Caller) -> None:
    shown = await preview(api, "pagerduty", config={"routingKey": KEY}, event=EVENT)
    assert json.loads(shown["request"]["body"])["routing_key"] == "***"
    shown = await preview(api, "opsgenie", config={"apiKey": "k-0123456789"}, event=EVENT)
    assert shown["request"]["headers"]["authorization"] == "GenieKey ***"
    config = {"token": "123456789:AAH-of-ada-0123456789abcdefghijklmno", "chatId": "42"}
    shown = await preview(api, "telegram", config=config, event=EVENT)
    assert shown["request"]["url"] == "https://api.telegram.org/bot***/sendMessage"


async def test_what_is_wrong_is_told_and_a_missing_secret_is_not(api: Caller) -> None:
    shown = await preview(api, config={"colour": "red", "title": 1})
    assert [error["path"] for error in shown["errors"]] == ["config.colour", "config.title"]
    shown = await preview(api, config={"webhookUrl": "https://example.com/secretOfAda"})
    assert [error["path"] for error in shown["errors"]] == ["config.webhookUrl"]
    assert "secretOfAda" not in json.dumps(shown)
    shown = await preview(api, "webhook")
    assert [error["path"] for error in shown["errors"]] == ["config.url"]
    assert (await preview(api, "pagerduty"))["errors"] == []


async def test_a_destinations_configuration_can_be_tried_with_a_change(api: Caller) -> None:
    config = {"webhookUrl": SLACK, "title": "Orders"}
    document = {"templateId": "slack", "name": "n", "config": config}
    made = (await api("POST", "/destinations", {**document, "headers": {"X-Token": "0123"}})).json
    shown = await preview(api, destinationId=made["id"], event=EVENT)
    assert shown["request"]["url"] == "https://hooks.slack.com/***"
    assert shown["request"]["headers"]["X-Token"] == "***"
    assert "Orders: " in json.loads(shown["request"]["body"])["text"]
    changed = {"title": None, "webhookUrl": "***"}
    shown = await preview(api, destinationId=made["id"], config=changed, event=EVENT)
    assert "order.created: " in json.loads(shown["request"]["body"])["text"]
    path = "/destination-templates/discord/preview"
    refused = await api("POST", path, {"destinationId": made["id"]})
    assert (refused.status, refused.paths) == (400, ["destinationId"])
    assert (await api("POST", path, {"destinationId": NOBODY})).status == 404
    direct = (await api("POST", "/destinations", {"name": "n", "url": HOOK})).json
    refused = await api("POST", path, {"destinationId": direct["id"]})
    assert (refused.status, refused.paths) == (400, ["destinationId"])


async def test_an_event_that_was_sent_can_be_tried(api: Caller, house: House) -> None:
    made = (await api("POST", "/destinations", {"name": "n", "url": HOOK})).json
    environment = house.models.destinations[made["id"]].environment
    entry = EventEntry(
        id=NOBODY,
        environment=environment,
        type="order.paid",
        occurred_at_ms=0,
        source=None,
        customer="ada",
        correlation_id=None,
        request_id=None,
        idempotency_key=None,
        deliveries=1,
        origin=Origin.API,
        file=None,
    )
    house.log.all_events[NOBODY] = EventDetail(
        entry=entry, payload=b'{"text": "of the log"}', metadata=None, attachments=None
    )
    shown = await preview(api, eventId=NOBODY)
    assert json.loads(shown["request"]["body"])["text"] == "order.paid: of the log"
    tokens = [
        (await api("POST", "/embed/sessions", {"customerExternalId": name})).json["token"]
        for name in ("ada", "bob")
    ]
    ada, bob = [await house.caller(token) for token in tokens]
    assert (await preview(ada, eventId=NOBODY))["request"]
    path = "/destination-templates/slack/preview"
    assert (await bob("POST", path, {"eventId": NOBODY})).status == 404
    assert (await bob("POST", path, {})).status == 200
    both = await api("POST", path, {"eventId": NOBODY, "event": EVENT})
    assert (both.status, both.paths) == (400, ["eventId"])


async def test_who_may_not_see_payloads_may_not_have_them_written_as_messages(
    api: Caller, house: House
) -> None:
    made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    ada = await house.caller(made.json["token"])
    hidden = {"customerMay": {"viewPayloads": False}}
    assert (await api("PATCH", "/workspace", hidden)).status == 200
    path = "/destination-templates/slack/preview"
    assert (await ada("POST", path, {"eventId": NOBODY})).status == 403
    assert (await ada("POST", path, {"event": EVENT})).status == 200


@each_case(
    ("document", "status", "paths"),
    [
        ({"event": {"eventType": "a b", "payload": {}}}, 400, ["event.eventType"]),
        ({"event": {"eventType": "a", "payload": []}}, 400, ["event.payload"]),
        ({"event": []}, 400, ["event"]),
        ({"eventId": "x"}, 400, ["eventId"]),
        ({"destinationId": "x"}, 400, ["destinationId"]),
        ({"config": []}, 400, ["config"]),
        ({"body": {}}, 400, ["body"]),
    ],
)
async def test_a_preview_that_cannot_be_is_refused(
    api: Caller, document: Any, status: int, paths: list[str]
) -> None:
    refused = await api("POST", "/destination-templates/slack/preview", document)
    assert (refused.status, refused.paths) == (status, paths)


async def test_odd_events_are_shown_or_refused_and_never_a_fault(api: Caller) -> None:
    path = "/destination-templates/slack/preview"
    for event in (
        b"{}",
        b'{"type": 1}',
        b'{"data": 123456789012345678901234567890123}',
        b'{"data": 1e400}',
        b'{"data": "' + b"x" * 200_000 + b'"}',
        b'{"type": "' + b"t" * 10_000 + b'"}',
        b'{"data": ' + b"[" * 60 + b"]" * 60 + b"}",
        '{"data": "@everyone <!channel> \\u2028 \U0001f600"}'.encode(),
    ):
        answer = await api("POST", path, body=b'{"event": ' + event + b"}")
        assert answer.status in (200, 400), answer.body
    large = {"config": {"title": "x" * 100, "webhookUrl": "y" * 20_000}}
    assert (await api("POST", path, large)).status == 400
