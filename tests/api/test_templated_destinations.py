"""Destinations of templates: configured, changed, masked, and held if they cannot be used."""

import json
from typing import Any

import msgspec
import pytest
import structlog

from engine.control.projection import NOWHERE, engine_view
from engine.control.rotation import SecretRotation
from engine.control.shaping import drafted, patched, receiver_of
from engine.core.destination import SigningKey
from engine.core.vocabulary import DestinationStatus, SigningAlgorithm
from engine.drafts import AnyDestinationDraft, TemplateDestinationDraft
from engine.model.configuration import DestinationRecord
from engine.model.documents import read
from engine.model.errors import Refusal
from engine.templates.catalog import Catalog
from storage.database.bridge import Bridge
from tests.api.house import CATALOG, HOOK, Caller, House
from tests.cases import each_case

SLACK = "https://hooks.slack.com/services/T0123/B0123/secretOfAdasChannel"
ANOTHER = "https://hooks.slack.com/services/T0123/B0123/anotherOfAdasChannel"
KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
PAGER = {"routingKey": KEY, "severity": "warning"}
GENIE = {"apiKey": "genie-key-of-ada-0123456789"}


async def make(api: Caller, template: str = "slack", **fields: Any) -> dict[str, Any]:
    document = {"templateId": template, "name": "n", "config": {"webhookUrl": SLACK}, **fields}
    response = await api("POST", "/destinations", document)
    assert response.status == 201, response.body
    return dict(response.json)


async def test_a_destination_of_a_template_shows_everything_but_its_secrets(api: Caller) -> None:
    made = await make(api, config={"webhookUrl": SLACK, "title": "Orders"}, description="d")
    assert made.pop("secret").startswith("whsec_")
    assert made["templateId"] == "slack"
    assert made["config"] == {"webhookUrl": "***", "title": "Orders", "showData": True}
    assert made["url"] == "https://hooks.slack.com/***"
    assert (made["name"], made["description"]) == ("n", "d")
    assert (await api("GET", f"/destinations/{made['id']}")).json == made
    assert (await api("GET", "/destinations")).json["items"] == [made]


async def test_a_templates_defaults_stand_where_delivery_says_nothing(api: Caller) -> None:
    assert (await make(api))["delivery"]["rateLimitPerSecond"] == 1
    other = await make(api, delivery={"timeoutMs": 1000})
    assert other["delivery"]["rateLimitPerSecond"] == 1
    assert other["delivery"]["timeoutMs"] == 1000
    assert (await make(api, delivery=None))["delivery"]["rateLimitPerSecond"] == 1
    free = await make(api, delivery={"rateLimitPerSecond": None})
    assert free["delivery"]["rateLimitPerSecond"] is None
    path = f"/destinations/{other['id']}"
    changes = {"rateLimitPerSecond": None, "timeoutMs": None}
    patched = (await api("PATCH", path, {"delivery": changes})).json["delivery"]
    assert (patched["rateLimitPerSecond"], patched["timeoutMs"]) == (None, 15_000)
    again = (await api("PATCH", path, {"delivery": None})).json["delivery"]
    assert again["rateLimitPerSecond"] == 1


async def test_the_engine_has_the_real_url_and_the_templates_headers(
    api: Caller, house: House
) -> None:
    await make(api)
    configured = house.directory.configured[-1]
    assert (configured.target.host, configured.target.tls) == ("hooks.slack.com", True)
    assert configured.target.path == b"/services/T0123/B0123/secretOfAdasChannel"
    headers = {"X-Own": "1", "AUTHORIZATION": "mine"}
    made = await make(api, "opsgenie", config=GENIE, headers=headers)
    configured = house.directory.configured[-1]
    assert configured.headers == (
        (b"X-Own", b"1"),
        (b"authorization", f"GenieKey {GENIE['apiKey']}".encode()),
    )
    assert made["headers"] == {"X-Own": "1", "AUTHORIZATION": "***"}


@each_case(
    ("document", "paths"),
    [
        ({"config": {}}, ["config.webhookUrl"]),
        ({}, ["config"]),
        ({"config": None}, ["config"]),
        ({"config": "x"}, ["config"]),
        ({"config": {"webhookUrl": "https://example.com/services/x"}}, ["config.webhookUrl"]),
        ({"config": {"webhookUrl": "http://hooks.slack.com/services/x"}}, ["config.webhookUrl"]),
        ({"config": {"webhookUrl": "***"}}, ["config.webhookUrl"]),
        ({"config": {"webhookUrl": SLACK, "colour": "red"}}, ["config.colour"]),
        ({"config": {"webhookUrl": SLACK, "title": 1, "showData": "x"}},
         ["config.showData", "config.title"]),
        ({"config": {"webhookUrl": SLACK}, "url": HOOK}, ["url"]),
        ({"config": {"webhookUrl": SLACK}, "colour": "red"}, ["colour"]),
        ({"config": {"webhookUrl": SLACK}, "templateId": ""}, ["templateId"]),
        ({"config": {"webhookUrl": SLACK}, "templateId": 1}, ["templateId"]),
        ({"config": {"webhookUrl": SLACK}, "headers": {"Host": "x"}}, ["headers.Host"]),
        ({"config": {"webhookUrl": SLACK}, "delivery": {"timeoutMs": 1}}, ["delivery.timeoutMs"]),
    ],
)  # fmt: skip
async def test_a_bad_one_is_refused_naming_the_field(
    api: Caller, document: dict[str, Any], paths: list[str]
) -> None:
    refused = await api("POST", "/destinations", {"templateId": "slack", "name": "n", **document})
    assert (refused.status, refused.code) == (400, "invalid_request")
    assert refused.paths == paths
    assert b"secretOf" not in refused.body


async def test_a_template_that_is_not_there_is_a_404(api: Caller) -> None:
    for name in ("carrier-pigeon", "Slack", "../slack", "slack.toml"):
        document: Any = {"templateId": name, "name": "n", "config": {}}
        refused = await api("POST", "/destinations", document)
        assert (refused.status, refused.code, refused.paths) == (404, "not_found", ["templateId"])
    malformed = {"templateId": "carrier-pigeon", "name": "", "config": {}}
    assert (await api("POST", "/destinations", malformed)).status == 400, "which comes before"


async def test_a_patch_merges_the_configuration_and_leaves_masked_secrets(
    api: Caller, house: House
) -> None:
    made = await make(api, config={"webhookUrl": SLACK, "title": "Orders"})
    path = f"/destinations/{made['id']}"

    async def patch(config: Any) -> dict[str, Any]:
        answer = await api("PATCH", path, {"config": config})
        assert answer.status == 200, answer.body
        return dict(answer.json["config"])

    expected = {"webhookUrl": "***", "title": "Orders", "showData": False}
    assert await patch({"showData": False}) == expected
    assert await patch({"webhookUrl": "***", "title": None}) == {
        "webhookUrl": "***",
        "showData": False,
    }
    assert await patch({"showData": None}) == {"webhookUrl": "***", "showData": True}
    assert house.directory.configured[-1].target.path.endswith(b"secretOfAdasChannel")
    assert await patch({"webhookUrl": ANOTHER}) == {"webhookUrl": "***", "showData": True}
    assert house.directory.configured[-1].target.path.endswith(b"anotherOfAdasChannel")
    known = len(house.directory.configured)
    shown = (await api("GET", path)).json
    same = {"config": shown["config"], "url": shown["url"], "templateId": "slack"}
    assert (await api("PATCH", path, same)).json["updatedAt"] == shown["updatedAt"]
    assert len(house.directory.configured) == known, "what is shown, sent back, changes nothing"


@each_case(
    ("patch", "path"),
    [
        ({"config": {"webhookUrl": None}}, "config.webhookUrl"),
        ({"config": {"webhookUrl": "https://example.com/services/x"}}, "config.webhookUrl"),
        ({"config": {"colour": "red"}}, "config.colour"),
        ({"config": {"title": ["x"]}}, "config.title"),
        ({"config": None}, "config"),
        ({"config": []}, "config"),
        ({"url": HOOK}, "url"),
        ({"url": None}, "url"),
        ({"templateId": "discord"}, "templateId"),
        ({"templateId": None}, "templateId"),
    ],
)
async def test_a_bad_patch_changes_nothing(api: Caller, patch: dict[str, Any], path: str) -> None:
    made = await make(api)
    where = f"/destinations/{made['id']}"
    refused = await api("PATCH", where, patch)
    assert (refused.status, refused.code) == (400, "invalid_request")
    assert refused.paths[0] == path
    assert (await api("GET", where)).json["updatedAt"] == made["updatedAt"]


async def test_a_destination_of_a_url_has_no_configuration(api: Caller) -> None:
    made = (await api("POST", "/destinations", {"name": "n", "url": HOOK})).json
    assert (made["templateId"], made["config"]) == (None, None)
    path = f"/destinations/{made['id']}"
    for patch in ({"config": {"title": "x"}}, {"templateId": "slack"}):
        assert (await api("PATCH", path, patch)).paths == [next(iter(patch))]
    same = {"config": None, "templateId": None, "name": "m"}
    assert (await api("PATCH", path, same)).json["name"] == "m"


async def test_no_secret_goes_elsewhere_that_was_not_given_for_there(api: Caller) -> None:
    headers = {"X-Api-Key": "key-of-ada-0123456789"}
    made = await make(api, "pagerduty", config=PAGER, headers=headers)
    path = f"/destinations/{made['id']}"
    for config in ({"region": "EU"}, {"region": "EU", "routingKey": "***"}):
        refused = await api("PATCH", path, {"config": config})
        assert (refused.status, refused.paths) == (400, ["config.routingKey"])
    moved = {"region": "EU", "routingKey": KEY}
    refused = await api("PATCH", path, {"config": moved})
    assert refused.paths == ["headers.X-Api-Key"]
    allowed = await api("PATCH", path, {"config": moved, "headers": {"X-Api-Key": None}})
    assert allowed.json["url"] == "https://events.eu.pagerduty.com/v2/enqueue"
    assert (await api("PATCH", path, {"config": {"severity": "info"}})).status == 200


async def test_an_optional_secret_can_be_added_and_removed(api: Caller, house: House) -> None:
    made = await make(api, "webhook", config={"url": HOOK})
    path = f"/destinations/{made['id']}"
    refused = await api("PATCH", path, {"config": {"authorization": "***"}})
    assert (refused.status, refused.paths) == (400, ["config.authorization"])
    with_one = {"config": {"authorization": "Bearer of-ada-0123456789"}}
    assert (await api("PATCH", path, with_one)).json["config"]["authorization"] == "***"
    assert house.directory.configured[-1].headers[0][1] == b"Bearer of-ada-0123456789"
    elsewhere = {"config": {"url": "https://other.example/", "authorization": None}}
    assert (await api("PATCH", path, elsewhere)).json["config"] == {"url": "https://other.example/"}
    assert house.directory.configured[-1].headers == ()


async def test_the_audit_log_says_that_a_secret_changed_and_not_what_it_is(api: Caller) -> None:
    made = await make(api)
    path = f"/destinations/{made['id']}"
    await api("PATCH", path, {"config": {"webhookUrl": ANOTHER}})
    await api("PATCH", path, {"config": {"title": "Orders"}})
    entries = (await api("GET", f"/audit-logs?objectId={made['id']}")).json["items"]
    titled, changed, created = (entry["changes"] for entry in entries)
    assert created["config"]["to"] == {"webhookUrl": "***", "showData": True}
    assert changed == {"config.webhookUrl": {"from": "***", "to": "***"}}
    assert set(titled) == {"config"}
    assert titled["config"]["to"]["title"] == "Orders"


async def test_no_table_has_a_configurations_secret_in_clear(api: Caller, bridge: Bridge) -> None:
    made = await make(api, config={"webhookUrl": SLACK, "title": "Orders"})
    path = f"/destinations/{made['id']}"
    assert (await api("PATCH", path, {"config": {"webhookUrl": ANOTHER}})).status == 200
    assert (await api("POST", f"{path}/disable")).status == 200
    versions = await bridge.pool.fetch(
        "SELECT template, config, url FROM destination_versions ORDER BY version"
    )
    assert {row["template"] for row in versions} == {"slack"}
    assert {row["url"] for row in versions} == {"https://hooks.slack.com/***"}
    for row in versions:
        kept = {"webhookUrl": None, "title": "Orders", "showData": True}
        assert json.loads(row["config"]) == kept
    for table in ("destinations", "destination_versions", "audit_log"):
        rows = await bridge.pool.fetch(f"SELECT * FROM {table}")
        text = repr([dict(row) for row in rows])
        assert "AdasChannel" not in text
        assert b"AdasChannel".hex() not in text


async def test_customers_make_them_and_see_their_own_alone(api: Caller, house: House) -> None:
    tokens = [
        (await api("POST", "/embed/sessions", {"customerExternalId": name})).json["token"]
        for name in ("ada", "bob")
    ]
    ada, bob = [await house.caller(token) for token in tokens]
    made = await make(ada)
    assert made["customerExternalId"] == "ada"
    path = f"/destinations/{made['id']}"
    assert (await bob("GET", path)).status == 404
    assert (await bob("PATCH", path, {"config": {"title": "x"}})).status == 404
    assert (await bob("GET", "/destinations")).json["items"] == []
    assert (await ada("PATCH", path, {"config": {"title": "x"}})).status == 200


# --- a changing catalog


def record_of(template: str, config: dict[str, Any]) -> DestinationRecord:
    document = {"templateId": template, "name": "n", "config": config}
    draft = read(AnyDestinationDraft, document).root
    assert isinstance(draft, TemplateDestinationDraft)
    return drafted(
        draft,
        receiver_of(draft, CATALOG),
        id="01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
        environment=1,
        version=1,
        status=DestinationStatus.ACTIVE,
        customer=None,
        customer_account=None,
        headers=(),
        signing=(SigningKey(SigningAlgorithm.HMAC_SHA256, b"k" * 32),),
        updated_at_ms=0,
    )


def test_one_whose_template_is_gone_is_held_and_can_still_be_renamed() -> None:
    record, empty = record_of("slack", {"webhookUrl": SLACK}), Catalog(())
    with structlog.testing.capture_logs() as lines:
        held = engine_view(record, "w", empty)
    assert (held.status, held.target) == (DestinationStatus.DISABLED, NOWHERE)
    assert held.template == record.template, "nothing is lost"
    assert [line["event"] for line in lines] == ["destination.unusable"]
    renamed = patched(record, {"name": "m"}, empty, rotation=SecretRotation(), now=0.0)
    assert (renamed.name, renamed.template) == ("m", record.template)
    with pytest.raises(Refusal) as refused:
        patched(record, {"config": {"title": "x"}}, empty, rotation=SecretRotation(), now=0.0)
    assert refused.value.code == "conflict"
    assert engine_view(record, "w", CATALOG).status is DestinationStatus.ACTIVE


def test_one_whose_configuration_is_not_taken_any_more_is_held_until_it_is_mended() -> None:
    record = record_of("slack", {"webhookUrl": SLACK})
    assert record.template is not None
    old = msgspec.structs.replace(
        record.template, config=b'{"webhookUrl": "https://old.example/secretOfAdasChannel"}'
    )
    record = msgspec.structs.replace(record, template=old)
    with structlog.testing.capture_logs() as lines:
        held = engine_view(record, "w", CATALOG)
    assert (held.status, held.target) == (DestinationStatus.DISABLED, NOWHERE)
    assert "config.webhookUrl" in lines[0]["reason"]
    assert "AdasChannel" not in repr(lines)
    mended = patched(
        record, {"config": {"webhookUrl": SLACK}}, CATALOG, rotation=SecretRotation(), now=0.0
    )
    assert engine_view(mended, "w", CATALOG).status is DestinationStatus.ACTIVE
