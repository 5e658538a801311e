"""Templates on a whole server: from an event to the request, and from the answer to the delivery."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, open_service, post
from tests.service.receiver import Receiver
from tests.service.terminal import open_terminal

NO_RETRY: dict[str, Any] = {"retrySchedule": []}
TOKEN = "xoxb-of-ada-0123456789"


def hosts(receiver: Receiver, *templates: str) -> str:
    return ",".join(f"{name}=127.0.0.1:{receiver.port}" for name in templates)


@pytest.fixture
async def house(bridge: Bridge, receiver: Receiver) -> AsyncIterator[ServiceHouse]:
    """A server whose operator allows some templates to send to the receiver."""
    allowed = hosts(receiver, "slack", "slack-bot", "opsgenie", "telegram")
    async with open_service(bridge, template_hosts=allowed) as house:
        yield house


async def routed(api: Caller, template: str, config: Any, **more: Any) -> str:
    document = {"templateId": template, "name": "d", "config": config, **more}
    made = await api("POST", "/destinations", document)
    assert made.status == 201, made.body
    rule = {"name": "r", "destinationId": made.json["id"], "eventTypes": ["*"]}
    assert (await api("POST", "/routing-rules", rule)).status == 201
    return str(made.json["id"])


async def settled(house: ServiceHouse, api: Caller, event: str) -> Any:
    page = await house.until(api, f"/events/{event}/deliveries", lambda page: page["items"])
    return await house.settled(api, page["items"][0]["id"])


async def test_an_event_becomes_a_message_of_the_service(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.says = lambda _: 200, lambda _: b"ok"
    config = {"webhookUrl": receiver.url("/services/T1/B1/secretOfAda"), "title": "Orders"}
    basic = {"kind": "BASIC", "username": "ada", "password": "l0velace"}
    own = {"headers": {"X-Own": "1"}, "method": "PATCH", "disableAfterSeconds": 60}
    target = await routed(api, "slack", config, authentication=basic, **own)
    event = await post(api, "order.created", payload={"text": "Order 42 <paid>"})
    (request,) = await receiver.reaches(1)
    assert request.path == "/services/T1/B1/secretOfAda"
    assert request.json["text"] == "Orders: Order 42 &lt;paid&gt;"
    assert (request.event, request.headers["x-own"]) == (event, "1")
    assert "webhook-signature" in request.headers
    assert request.headers["authorization"] == "Basic YWRhOmwwdmVsYWNl"
    delivery = await settled(house, api, event)
    assert (delivery["status"], delivery["request"]["method"]) == ("DELIVERED", "PATCH")
    shown = (await api("GET", f"/destinations/{target}")).json
    assert (shown["authentication"], shown["disableAfterSeconds"]) == (
        basic | {"password": "***"},
        60,
    )
    shown = delivery["request"]
    assert shown["url"] == f"http://127.0.0.1:{receiver.port}/***"
    assert json.loads(shown["body"]) == request.json, "made again as it was sent"


async def test_a_200_that_says_no_is_a_failure_with_the_services_words(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 200
    receiver.says = lambda _: b'{"ok":false,"error":"channel_not_found"}'
    config = {"token": TOKEN, "channel": "C1", "apiUrl": receiver.url("").rstrip("/")}
    await routed(api, "slack-bot", config, delivery=NO_RETRY)
    delivery = await settled(house, api, await post(api))
    assert (delivery["status"], delivery["dlqStatus"]) == ("FAILED", "IN_DLQ")
    (attempt,) = delivery["attempts"]
    assert (attempt["success"], attempt["responseStatus"]) == (False, 200)
    assert attempt["errorCategory"] == "HTTP_4XX"
    assert "channel_not_found" in attempt["errorMessage"]
    (request,) = await receiver.reaches(1)
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert delivery["request"]["headers"]["authorization"] == "Bearer ***"


async def test_a_test_sends_a_sample_through_the_template(api: Caller, receiver: Receiver) -> None:
    receiver.answer, receiver.says = lambda _: 200, lambda _: b'{"ok":true}'
    token = "123456789:AAH-of-ada-0123456789abcdefghijklmno"
    config = {"token": token, "chatId": "42", "apiUrl": receiver.url("").rstrip("/")}
    target = await routed(api, "telegram", config)
    told = (await api("POST", f"/destinations/{target}/test")).json
    assert (told["success"], told["responseStatus"]) == (True, 200)
    (request,) = await receiver.reaches(1)
    assert request.path == f"/bot{token}/sendMessage"
    assert request.json["chat_id"] == "42"
    assert "This is a test" in json.dumps(request.json)
    receiver.says = lambda _: b'{"ok":false,"description":"chat not found"}'
    told = (await api("POST", f"/destinations/{target}/test")).json
    assert told["success"] is False
    assert "chat not found" in told["errorMessage"]


async def test_a_change_of_the_configuration_acts_on_the_next_attempt(
    api: Caller, receiver: Receiver
) -> None:
    receiver.answer, receiver.says = lambda _: 200, lambda _: b"ok"
    target = await routed(api, "slack", {"webhookUrl": receiver.url("/services/one0123456789")})
    await post(api)
    await receiver.reaches(1)
    change = {"config": {"webhookUrl": receiver.url("/services/two0123456789"), "title": "New"}}
    assert (await api("PATCH", f"/destinations/{target}", change)).status == 200
    await post(api)
    (_, request) = await receiver.reaches(2)
    assert request.path == "/services/two0123456789"
    assert request.json["text"].startswith("New")


OWN = """
name = "Pager of the house"
description = "Ours."
category = "incident"
icon = "pager"
documentation = ["https://pager.example/docs"]

[config.key]
title = "Key"
description = "Of the house."
type = "string"
maxLength = 100
secret = true
required = true

[config.address]
title = "Address"
description = "Where it is."
type = "string"
maxLength = 200
required = true

[address]
field = "address"
headers = { x-pager = "{{ config.key }}" }

[message]
body = '{"said": "{{ event.type }}"}'

[example]
config = { key = "k", address = "https://pager.example/" }
event = '{"type": "a", "data": {}}'
body = '{"said": "a"}'
"""


async def test_one_whose_template_is_gone_waits_and_loses_nothing(
    bridge: Bridge, receiver: Receiver, tmp_path: Path
) -> None:
    """An operator's template is removed and restored between runs of the server."""
    (tmp_path / "pager.toml").write_text(OWN)
    async with open_service(bridge, templates_dir=tmp_path) as first:
        acme = await first.tenant("acme")
        api = await first.caller(acme)
        config = {"key": "key-of-ada-0123456789", "address": receiver.url()}
        target = await routed(api, "pager", config)
    async with open_service(bridge) as second:
        api = await second.caller(acme)
        event = await post(api, "order.created")
        shown = (await api("GET", f"/destinations/{target}")).json
        assert (shown["status"], shown["templateId"]) == ("ACTIVE", "pager")
        assert shown["config"] == {"key": "***", "address": receiver.url()}
        page = (await api("GET", f"/events/{event}/deliveries")).json
        assert page["items"][0]["status"] == "PENDING"
        health = (await api("GET", f"/destinations/{target}/health")).json
        assert (health["state"], health["queue"]["pending"]) == ("DISABLED", 1)
        refused = await api("PATCH", f"/destinations/{target}", {"config": {"key": "another"}})
        assert (refused.status, refused.code) == (409, "conflict")
        told = (await api("POST", f"/destinations/{target}/test")).json
        assert told["success"] is False
        assert receiver.received == []
    async with open_service(bridge, templates_dir=tmp_path) as third:
        (request,) = await receiver.reaches(1)
        assert (request.json, request.event) == ({"said": "order.created"}, event)
        assert request.headers["x-pager"] == "key-of-ada-0123456789"
        assert (await settled(third, await third.caller(acme), event))["status"] == "DELIVERED"


async def test_by_commands_secrets_come_from_files_variables_and_pipes(
    house: ServiceHouse, api: Caller, receiver: Receiver, tmp_path: Path
) -> None:
    shell = await open_terminal(house, await house.tenant("of commands"))
    listed = (await shell.ok("templates", "list")).lines
    assert {"slack", "pagerduty", "webhook"} <= {each["id"] for each in listed}
    table = (await shell.ok("templates", "show", "slack", "-o", "table")).out
    assert "webhookUrl" in table
    assert "Webhook URL" in table
    shown = await shell.ok(
        *("templates", "preview", "slack", "--config", "title=Orders", "--config", "showData=no"),
        *("--event", '{"eventType": "a.b", "payload": {"text": "Hello"}}'),
    )
    assert json.loads(shown.one["request"]["body"])["text"] == "Orders: Hello"
    wrong = await shell("templates", "preview", "slack", "--config", f"title={'x' * 101}")
    assert (wrong.code, wrong.one["request"]) == (1, None)
    secret = receiver.url("/services/secretOfAda0123456789")
    create = ("destinations", "create", "Team", "--template", "slack")
    file = tmp_path / "url"
    file.write_text(secret + "\n")
    ways: list[tuple[tuple[str, ...], dict[str, Any]]] = [
        (("--config-file", f"webhookUrl={file}"), {}),
        (("--config-file", "webhookUrl=-"), {"typed": secret}),
        (("--config-env", "webhookUrl=TEAM_URL"), {"TEAM_URL": secret}),
        (("--config", f"webhookUrl={secret}"), {}),
    ]
    for words, more in ways:
        made = await shell.ok(*create, *words, **more)
        assert made.one["config"] == {"webhookUrl": "***", "showData": True}
        assert "secretOfAda" not in made.out + made.err
    target = made.one["id"]
    changed = await shell.ok(
        *("destinations", "update", target, "--config", "title=T", "--config", "showData=false")
    )
    assert changed.one["config"] == {"webhookUrl": "***", "title": "T", "showData": False}
    removed = await shell.ok("destinations", "update", target, "--remove-config", "title")
    assert "title" not in removed.one["config"]
    for words in (
        ("destinations", "create", "Team"),
        ("destinations", "create", "Team", secret, "--template", "slack"),
        ("destinations", "create", "Team", secret, "--config", "a=b"),
        (*create, "--config", "colour=red"),
        (*create, "--config", "showData=maybe"),
        (*create, "--config-env", "webhookUrl=NOT_THERE"),
        (*create, "--config-file", "webhookUrl=/nothing/there"),
    ):
        refused = await shell(*words)
        assert refused.code == 2, words
        assert refused.out == ""
