"""Every template's messages against its service's published format, for ordinary and extreme events."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.destination import Template
from engine.outbound.ports import Failure, Rendered
from engine.templates.catalog import read_catalog
from engine.templates.message import LARGEST_READ
from engine.templates.renderer import Renderer
from tests.templates.formats import FORMATS, LIMITS

CATALOG = read_catalog()
RENDERER = Renderer(CATALOG)
IDS = sorted(definition.id for definition in CATALOG.all())
READERS = {
    name: jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    for name, schema in FORMATS.items()
}
WHOLE = {
    "type": "order.created",
    "timestamp": "2026-01-31T12:00:00.000Z",
    "id": "0194bd2e-0000-7000-8000-000000000001",
    "metadata": {"region": "eu"},
    "source": "shop",
    "customerExternalId": "acme",
    "correlationId": "c-1",
}


def a_template(name: str, **config: Any) -> Template:
    definition = CATALOG.get(name)
    assert definition is not None
    given = definition.example.config | config
    shown = {key: None if key in definition.secrets else value for key, value in given.items()}
    return Template(name, json.dumps(given).encode(), json.dumps(shown).encode())


def rendered(name: str, body: Any, event_type: str = "order.created", **config: Any) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    made = RENDERER.render(a_template(name, **config), raw, event_type)
    assert isinstance(made, Rendered), made
    return held(name, made)


def held(name: str, made: Rendered) -> Any:
    message = json.loads(made.body)
    READERS[name].validate(message)
    if name in LIMITS:
        assert LIMITS[name](made.body, message), f"{len(made.body)} bytes"
    return message


def test_every_template_has_a_format_to_be_held_to() -> None:
    assert sorted(FORMATS) == IDS


@pytest.mark.parametrize("name", IDS)
def test_the_example_of_a_template_is_what_its_service_takes(name: str) -> None:
    definition = CATALOG.get(name)
    assert definition is not None
    assert rendered(name, definition.example.event) == definition.example.body


LONG = (
    '\U0001d518 "<&>\\`*_~|[x](https://e.example) @everyone <!channel> <users/all> {{ 7*7 }} \x00\n'
    * 2_500
)
WILD: dict[str, Any] = {
    "a huge text": {**WHOLE, "data": {"text": LONG, "more": LONG[:50_000]}},
    "astral characters": {**WHOLE, "data": {"text": "\U0001d518" * 20_000, "n": ["💥" * 9_000]}},
    "quotes": {**WHOLE, "data": {"text": '"' * 40_000, "n": "\\" * 40_000}},
    "nulls": {**WHOLE, "data": {"text": "\x00" * 30_000, "n": "\x01" * 30_000}},
    "backticks": {**WHOLE, "data": {"text": "```" * 9_000, "n": "`" * 30_000}},
    "ampersands": {**WHOLE, "data": {"text": "&" * 30_000, "n": "<" * 30_000}},
    "at signs": {**WHOLE, "data": {"text": "@" * 30_000, "n": "@all" * 9_000}},
    "long names": {
        **WHOLE,
        "source": "s" * 256,
        "customerExternalId": "\U0001d518" * 256,
        "correlationId": '"' * 256,
        "metadata": {str(n): "x" * 1_000 for n in range(100)},
        "data": {"k" * 60_000: 1},
    },
    "blank names": {**WHOLE, "source": " \n", "customerExternalId": "\n", "data": {"text": " \n"}},
    "no data": {"type": "a", "id": "b"},
    "nothing": {},
    "null": None,
    "a text": "order 42 <paid>",
    "a list": [1, [2], {"a": None}],
    "a number": 42,
    "true": True,
    "other types everywhere": {
        "type": 1, "timestamp": ["x"], "id": {}, "data": [1], "metadata": "m", "source": 3,
        "customerExternalId": False, "correlationId": [], "attachments": "no",
    },
    "an instant that is none": {**WHOLE, "timestamp": "2026-99-31T12:00:00.000Z", "data": {}},
    "odd severities": {**WHOLE, "data": {"severity": {"a": 1}, "priority": [], "level": None}},
    "names of methods": {**WHOLE, "data": {"items": 1, "get": "x", "__class__": "y"}},
    "deep": {**WHOLE, "data": json.loads("[" * 300 + "]" * 300)},
}  # fmt: skip


@pytest.mark.parametrize("event", WILD)
@pytest.mark.parametrize("name", IDS)
def test_whatever_an_event_says_the_message_is_one_that_the_service_takes(
    name: str, event: str
) -> None:
    longest = "a" * 256
    rendered(name, WILD[event])
    rendered(name, WILD[event], longest)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=400),
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=30), inner, max_size=6)
    ),
    max_leaves=30,
)
NAMED = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        (
            "type",
            "timestamp",
            "id",
            "data",
            "metadata",
            "source",
            "customerExternalId",
            "attachments",
        ),
        JSON,
    ),
)
TYPED = NAMED | st.fixed_dictionaries(
    {
        "data": st.fixed_dictionaries(
            {},
            optional=dict.fromkeys(("text", "message", "severity", "level", "priority"), JSON),
        )
    }
)
TYPES = st.from_regex(r"\A[A-Za-z0-9._:/-]{1,256}\Z")


@pytest.mark.parametrize("name", IDS)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=JSON | TYPED, event_type=TYPES)
def test_rendering_ends_in_a_message_of_the_format_or_in_a_failure(
    name: str, body: Any, event_type: str
) -> None:
    made = RENDERER.render(a_template(name), json.dumps(body).encode(), event_type)
    if isinstance(made, Rendered):
        held(name, made)
    else:
        assert isinstance(made, Failure)
        assert "cannot render" not in made.message


@pytest.mark.parametrize("name", IDS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=st.binary(max_size=200))
def test_what_is_no_json_is_a_failure_and_nothing_worse(name: str, body: bytes) -> None:
    made = RENDERER.render(a_template(name), body, "a")
    assert isinstance(made, Failure | Rendered)


def test_no_event_begins_markdown_at_datadog() -> None:
    body = json.dumps({"data": {"text": "%%% \n[x](https://e.example)\n %%%"}}).encode()
    made = RENDERER.render(a_template("datadog"), body, "a")
    assert isinstance(made, Rendered)
    assert not json.loads(made.body)["text"].startswith("%%%")


def test_the_same_event_makes_the_same_bytes() -> None:
    body = json.dumps(WILD["a huge text"]).encode()
    for name in IDS:
        first = RENDERER.render(a_template(name), body, "a")
        assert first == RENDERER.render(a_template(name), body, "a")


def test_numbers_are_shown_digit_by_digit() -> None:
    digits = "123456789012345678901234567890.10"
    body = b'{"data":{"text":"x","n":' + digits.encode() + b',"m":1.50,"k":98765432109876543210}}'
    for name in set(IDS) - {"pagerduty", "github"}:
        made = RENDERER.render(a_template(name), body, "a")
        assert isinstance(made, Rendered)
        assert digits.encode() in made.body, name
        assert b"98765432109876543210" in made.body, name
        assert b"1.50" in made.body, name
    for name in ("pagerduty", "github"):  # still numbers, not texts
        made = RENDERER.render(a_template(name), body, "a")
        assert isinstance(made, Rendered)
        assert b'"n":' + digits.encode() in made.body


def test_bodies_that_go_as_they_are_go_byte_for_byte() -> None:
    body = b'{ "data" : {"a":1.0, "a":2} ,"id":"x"}'
    for name in ("webhook", "zapier", "n8n", "make"):
        made = RENDERER.render(a_template(name), body, "a")
        assert made == Rendered(body)


def _read_as_markup(message: Any) -> Iterator[str]:
    """Yield a message's texts in which markup has a meaning."""
    if isinstance(message, str):
        yield message
    elif isinstance(message, list):
        for each in message:
            yield from _read_as_markup(each)
    elif isinstance(message, dict):
        plain = "plain_text" in message.values() or "text/plain" in message.values()
        for name, each in message.items():
            beside = name == "text" and "html" in message
            if not (plain or beside or name in ("TextBody", "subject", "Subject", "header")):
                yield from _read_as_markup(each)


@pytest.mark.parametrize(
    ("name", "never"),
    [
        ("slack", ["<!channel>", "<!everyone>", "<@U1>", "</pre>"]),
        ("slack-bot", ["<!channel>", "<@U1>"]),
        ("mattermost", ["@all", "@channel", "@here", "@everyone"]),
        ("google-chat", ["<users/all>", "<b>"]),
        ("telegram", ["<b>bold", "</pre><a"]),
        ("datadog", ["@all", "@everyone"]),
        ("resend", ["<script"]),
        ("postmark", ["<script"]),
        ("sendgrid", ["<script"]),
    ],
)
def test_an_event_calls_nobody_and_formats_nothing(name: str, never: list[str]) -> None:
    attack = (
        "<!channel> <!everyone> <@U1> @all @channel @here @everyone <users/all> <b>bold</b> </pre><a "
        "href='x'> ```` <script>alert(1)</script>"
    )
    body = {
        **WHOLE,
        "customerExternalId": attack,
        "source": attack,
        "data": {"text": attack, "more": [attack]},
    }
    whole = "\n".join(_read_as_markup(rendered(name, body)))
    for word in never:
        assert word not in whole


def test_a_code_block_is_left_by_nothing() -> None:
    body = {**WHOLE, "data": {"more": "``` @everyone ```` out"}}
    for name in ("slack", "slack-bot", "mattermost", "discord"):
        whole = json.dumps(rendered(name, body))
        assert whole.count("```") == 2


def test_the_language_of_templates_is_not_read_in_events() -> None:
    body = {**WHOLE, "data": {"text": "{{ config.webhookUrl }}{% if 1 %}x{% endif %}"}}
    for name in IDS:
        made = RENDERER.render(a_template(name), json.dumps(body).encode(), "a")
        assert isinstance(made, Rendered)
        assert b"XXXXXXXX" not in made.body
        assert b"config.webhookUrl" in made.body.replace(b"\\\\", b"")


def test_secrets_are_masked_where_the_configuration_that_is_shown_renders() -> None:
    template = a_template("pagerduty")
    shown = Template(template.id, template.shown, template.shown)
    made = RENDERER.render(shown, json.dumps(WHOLE).encode(), "a")
    assert isinstance(made, Rendered)
    assert json.loads(made.body)["routing_key"] == "***"


@pytest.mark.parametrize(
    "name", [d.id for d in CATALOG.all() if "showData" in d.config_schema["properties"]]
)
def test_data_that_is_not_to_be_shown_is_not(name: str) -> None:
    for data in ({"secret": "hidden"}, {"secret": "hidden", "text": "Shown"}):
        message = json.dumps(rendered(name, {**WHOLE, "data": data}, showData=False, title=None))
        assert "hidden" not in message
        assert ("Shown" in message) is ("text" in data)


def test_an_alert_is_resolved_by_the_type_that_resolves() -> None:
    config = {"dedupField": "incident.id", "resolveTypes": ["incident.closed"]}
    data = {"incident": {"id": 7}, "severity": "FATAL"}
    opened = rendered("pagerduty", {**WHOLE, "data": data}, "incident.opened", **config)
    closed = rendered("pagerduty", {**WHOLE, "data": data}, "incident.closed", **config)
    assert opened["event_action"] == "trigger"
    assert opened["payload"]["severity"] == "critical"
    assert closed == {
        "routing_key": opened["routing_key"],
        "event_action": "resolve",
        "dedup_key": "7",
        "client": "Angarium",
    }
    assert opened["dedup_key"] == "7"


def test_what_is_told_apart_by_an_id_goes_by_the_events_own() -> None:
    body = json.dumps({**WHOLE, "id": "of a script", "data": {}}).encode()
    made = RENDERER.render(a_template("pagerduty"), body, "a", "the-event")
    assert isinstance(made, Rendered)
    assert json.loads(made.body)["dedup_key"] == "the-event"
    keys = set()
    for config in ({}, {"subject": "other"}):
        for event in ("one", "two", "one"):
            mail = RENDERER.render(a_template("resend", **config), body, "a", event)
            assert isinstance(mail, Rendered)
            keys.add(dict(mail.headers)[b"idempotency-key"])
    assert len(keys) == 4


def test_a_template_that_is_gone_and_a_body_too_large_are_failures() -> None:
    gone = RENDERER.render(Template("gone", b"{}", b"{}"), b"{}", "a")
    broken = RENDERER.render(Template("slack", b"{", b"{"), b"{}", "a")
    large = b'"' + b"x" * LARGEST_READ + b'"'
    for made in (gone, broken, RENDERER.render(a_template("slack"), large, "a")):
        assert isinstance(made, Failure)
        assert made.category.name == "TRANSFORM"
    as_it_came = RENDERER.render(a_template("webhook"), large, "a")
    assert isinstance(as_it_came, Rendered)
    assert as_it_came.body == large
