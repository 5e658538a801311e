"""The catalog of templates. A template file with any mistake is refused.

If a destination's configuration of its template has mistakes, the refusal reports all of them at once. If
a template names the hosts of its service, a URL with another host is refused.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.core.destination import Template
from engine.model.errors import Refusal
from engine.outbound.ports import Rendered
from engine.settings import Settings
from engine.templates.catalog import FOLDER, catalog_of, read_catalog
from engine.templates.definition import Definition
from engine.templates.filters import FILTERS
from engine.templates.reading import TemplateFileError
from engine.templates.renderer import Renderer

CATALOG = read_catalog()
ALL = CATALOG.all()

OWN = '''
name = "SMS"
description = "A text message."
category = "chat"
icon = "sms"
documentation = ["https://sms.example.com/docs"]

[config.account]
title = "Account"
description = "Its number."
type = "string"
maxLength = 34
pattern = "^[A-Za-z0-9 /]+$"
required = true

[config.token]
title = "Token"
description = "Of the account."
type = "string"
maxLength = 64
secret = true
required = true

[config.apiUrl]
title = "API address"
description = "For a proxy."
type = "string"
maxLength = 512

[address]
field = "apiUrl"
base = "{{ config.apiUrl or 'https://api.sms.example.com' }}"
path = "/accounts/{{ config.account }}/{{ config.token }}/messages"
hosts = ["api.sms.example.com"]
headers = { authorization = "Basic {{ config.token }}" }

[message]
format = "form"
body = """{"To": "{{ event.data | path('phone', '') }}", "Body": "{{ event.text | truncate(160) }}"}"""
limit_bytes = 2000

[example]
config = { account = "A 1", token = "t0k" }
event = """{"type": "a", "data": {"phone": "+1 2", "text": "Hi & bye"}}"""
body = "To=%2B1+2&Body=Hi+%26+bye"
'''


def folder(tmp_path: Path, text: str = OWN, name: str = "sms.toml") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path


def get(name: str) -> Definition:
    definition = CATALOG.get(name)
    assert definition is not None
    return definition


def refused(name: str, **config: Any) -> list[tuple[str, str]]:
    definition = get(name)
    with pytest.raises(Refusal) as caught:
        definition.check({**definition.example.config, **config})
    assert caught.value.code == "invalid_request"
    return [(detail.path, detail.message) for detail in caught.value.details]


# --- the catalog's contents


def test_the_catalog_has_what_is_promised() -> None:
    promised = {
        "webhook", "slack", "slack-bot", "discord", "teams", "pagerduty", "opsgenie", "datadog", "zapier",
        "n8n", "make", "github", "mattermost", "google-chat", "telegram", "resend", "postmark",
        "sendgrid",
    }  # fmt: skip
    assert {definition.id for definition in ALL} == promised
    assert [d.name.lower() for d in ALL] == sorted(d.name.lower() for d in ALL)
    assert CATALOG.get("fax") is None


@pytest.mark.parametrize("definition", ALL, ids=lambda definition: definition.id)
def test_a_template_says_all_that_a_form_and_a_caller_need(definition: Definition) -> None:
    assert definition.documentation
    schema = definition.config_schema
    assert schema["additionalProperties"] is False
    for name, field in schema["properties"].items():
        assert field["title"], name
        assert field["description"], name
        assert (field.get("secret") is True) is (name in definition.secrets)
        assert (field.get("writeOnly") is True) is (name in definition.secrets)
    json.dumps([schema, dict(definition.defaults), definition.example.body])
    definition.check(definition.example.config)
    destined = definition.target(definition.example.config)
    for name in definition.secrets & definition.example.config.keys():
        assert definition.example.config[name] not in destined.shown_url
    # A secret must be declared, wherever the service expects it.
    assert definition.secrets


def test_a_template_is_its_file_alone(tmp_path: Path) -> None:
    catalog = read_catalog(folder(tmp_path))
    sms = catalog.get("sms")
    assert sms is not None
    assert len(catalog.all()) == len(ALL) + 1
    sms.check({"account": "A 1", "token": "t0k"})
    assert sms.secrets == {"token"}
    assert sms.config_schema["required"] == ["account", "token"]
    destined = sms.target({"account": "A /1", "token": "t 0/k"})
    assert destined.url == "https://api.sms.example.com/accounts/A%20%2F1/t%200%2Fk/messages"
    assert destined.shown_url == "https://api.sms.example.com/accounts/A%20%2F1/***/messages"
    assert destined.headers == (("authorization", "Basic t 0/k"),)
    config = b'{"account": "A", "token": "t"}'
    made = Renderer(catalog).render(
        Template("sms", config, config), b'{"data": {"text": "\xf0\x9f\x92\xa5 100 %"}}', "a"
    )
    assert made == Rendered(
        b"To=&Body=%F0%9F%92%A5+100+%25", ((b"content-type", b"application/x-www-form-urlencoded"),)
    )


def test_the_file_that_the_documentation_shows_is_one_that_works(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/own-templates.md").read_text()
    file = guide.partition("```toml\n")[2].partition("```")[0]
    assert read_catalog(folder(tmp_path, file)).get("sms") is not None
    for name in FILTERS:
        assert f"`{name}" in guide, f"{name} is not explained"


def test_a_template_may_send_text_and_headers_of_the_event(tmp_path: Path) -> None:
    text = OWN.replace('format = "form"', 'format = "text"')
    start = text.index('body = """{"To"')
    text = text[:start] + 'body = "{{ event.type }}: {{ event.text }}"\n' + (
        'headers = { title = "{{ event.type }}", key = "{{ event.id | identifier(20) }}" }\n'
    ) + text[text.index("limit_bytes"):].replace("To=%2B1+2&Body=Hi+%26+bye", "a: Hi & bye")  # fmt: skip
    renderer = Renderer(read_catalog(folder(tmp_path, text)))
    template = Template("sms", b"{}", b"{}")
    made = renderer.render(template, b'{"data": {"text": "x"}}', "a", "id\r\nevil: 1")
    assert made == Rendered(
        b"a: x",
        (
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"title", b"a"),
            (b"key", b"id__evil:_1"),
        ),
    )
    failure = renderer.render(template, b"{}", "a\r\nb")
    assert not isinstance(failure, Rendered)
    assert failure.message == "the event gives no usable value for the header title"


def test_an_operators_template_takes_the_place_of_ours(tmp_path: Path) -> None:
    catalog = read_catalog(folder(tmp_path, OWN, "slack.toml"))
    slack = catalog.get("slack")
    assert slack is not None
    assert slack.name == "SMS"
    assert len(catalog.all()) == len(ALL)


# --- unusable files

WRONG = [
    ('name = "SMS"\n', "", "name: Field required"),
    ('icon = "sms"', 'icon = "sms"\ncolour = "red"', "colour: Extra inputs"),
    ('documentation = ["https://sms.example.com/docs"]', "documentation = []", "documentation"),
    ('title = "Account"\n', "", "config.account.title: is required"),
    ("maxLength = 34\n", "", "config.account.maxLength: is required"),
    ("maxLength = 34\n", "maxLength = 99999\n", "config.account.maxLength"),
    ('type = "string"\nmaxLength = 34', 'type = "object"\nmaxLength = 34', "holds no objects"),
    ('pattern = "^[A-Za-z0-9 /]+$"', 'pattern = "["', "config.account.pattern"),
    ("secret = true", 'secret = true\ndefault = "x"', "a secret is a string without a default"),
    ('field = "apiUrl"', 'field = "nothing"', "config has no nothing"),
    ("{{ config.account }}/", "{{ config.acount }}/", "config has no acount"),
    ("{{ config.account }}/", "{{ config.account | line }}/", "parameters are written"),
    ('path = "/accounts', 'path = "accounts', "path"),
    ("{{ config.apiUrl or", "{{ event.data or", "there is no event"),
    ('format = "form"', 'format = "xml"', "message.format"),
    ('format = "form"', 'format = "same"', "example.body"),
    ("event.text |", "event.text() |", "Call is not in the language"),
    ("event.text |", "event.text | shell |", "there is no filter shell"),
    ("event.text |", "even.text |", "there is no even"),
    ("{{ event.text | truncate(160) }}", "{% for a in event.data %}x{% endfor %}", "For is not"),
    ("{{ event.text | truncate(160) }}", "{{ event.text", "unexpected end"),
    ('{"To"', '"To"', "Extra data"),
    ("Body=Hi", "Body=Ho", "example.body: the template makes To="),
    ('account = "A 1"', "account = 1", "example.config.account"),
    ('[example]', '[defaults]\nrateLimitPerSecond = -1.0\n[example]', "rateLimitPerSecond"),
    ('[example]', '[answer]\nok = { jsn = "x" }\n[example]', "answer.ok.jsn"),
    ('[example]', '[[answer.rules]]\ncategory = "GONE"\n[example]', "answer.rules.0.category"),
    ("limit_bytes = 2000", "limit_bytes = 10", "the service takes 10"),
    ("[message]", "[message", "Expected"),
    ("[message]", "deep = " + "[" * 5_000 + "\n[message]", "too deep"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), WRONG)
def test_a_file_that_cannot_be_used_is_refused_with_its_name_and_the_place(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    assert old in OWN
    with pytest.raises(TemplateFileError) as caught:
        read_catalog(folder(tmp_path, OWN.replace(old, new, 1)))
    assert "sms.toml" in str(caught.value)
    assert words in str(caught.value)


def test_a_folder_and_a_name_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateFileError, match="No such file"):
        read_catalog(tmp_path / "nowhere")
    with pytest.raises(TemplateFileError, match="a template's id is its file's name"):
        read_catalog(folder(tmp_path, OWN, "My SMS.toml"))
    (tmp_path / "My SMS.toml").unlink()
    (tmp_path / "notes.txt").write_text("not a template")
    (tmp_path / "sms.toml").write_bytes(b"\xff")
    with pytest.raises(TemplateFileError, match=r"sms\.toml"):
        read_catalog(tmp_path)


def test_the_settings_name_the_folder_and_the_hosts(tmp_path: Path) -> None:
    hosts = "slack=localhost:8443, telegram=Bots.internal,sms=[::1]:80"
    settings = Settings.from_environment(
        {"ANGARIUM_TEMPLATES_DIR": str(folder(tmp_path)), "ANGARIUM_TEMPLATE_HOSTS": hosts}
    )
    assert settings.template_hosts == (
        ("slack", "localhost:8443"),
        ("telegram", "bots.internal"),
        ("sms", "[::1]:80"),
    )
    catalog = catalog_of(settings)
    sms, slack = catalog.get("sms"), catalog.get("slack")
    assert sms is not None
    assert slack is not None
    sms.check({"account": "A", "token": "t", "apiUrl": "http://[::1]/x"})
    slack.check({"webhookUrl": "http://localhost:8443/anything?at=all"})
    for url in ("http://localhost:8444/x", "http://localhost/x", "http://localhost:8443.evil/x"):
        with pytest.raises(Refusal):
            slack.check({"webhookUrl": url})
    with pytest.raises(TemplateFileError, match="there is no template fax"):
        read_catalog(hosts=[("fax", "localhost")])


@pytest.mark.parametrize(
    "hosts", ["slack", "slack=", "=x", "slack=http://x", "slack=a b", "Slack=x"]
)
def test_hosts_that_are_malformed_are_refused(hosts: str) -> None:
    with pytest.raises(ValidationError, match="must be TEMPLATE=HOST"):
        Settings.from_environment({"ANGARIUM_TEMPLATE_HOSTS": hosts})


# --- configurations


def test_every_fault_of_a_configuration_is_told_at_once_without_repeating_a_secret() -> None:
    definition = get("telegram")
    with pytest.raises(Refusal) as caught:
        definition.check({"token": "s3cret-thing", "threadId": "x", "colour": 1})
    details = {detail.path: detail.message for detail in caught.value.details}
    assert details["config.chatId"] == "is required"
    assert details["config.colour"] == "is not a field of this template"
    assert "config.token" in details
    assert "config.threadId" in details
    assert "s3cret" not in str(caught.value.details) + caught.value.message


def test_a_configuration_is_an_object_of_texts_that_fit_into_a_request() -> None:
    for config in (None, ["x"], "x", 1):
        with pytest.raises(Refusal, match="config: must be an object"):
            get("slack").check(config)
    assert refused("slack", title="a\r\nb") == [("config.title", "holds a control character")]
    assert refused("slack", title="a\ud800") == [("config.title", "holds a control character")]
    assert refused("webhook", authorization="naïve") == [
        ("config.authorization", "does not fit into a header")
    ]
    assert refused("webhook", authorization=" x") == [
        ("config.authorization", "does not fit into a header")
    ]
    assert refused("opsgenie", tags=["a\nb"]) == [("config.tags", "holds a control character")]
    get("slack").check({**get("slack").example.config, "title": None})


def test_a_configuration_is_completed_with_defaults_and_masks() -> None:
    definition = get("telegram")
    assert definition.complete({"token": None, "chatId": "1", "showData": False}) == {
        "token": "***",
        "chatId": "1",
        "threadId": None,
        "silent": False,
        "title": None,
        "showData": False,
        "apiUrl": None,
    }
    assert definition.complete({})["token"] is None


# --- URLs

SLACK = "https://hooks.slack.com/services/T0/B0/x"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/services/T0/B0/x",
        "https://hooks.slack.com.evil.example/services/T0/B0/x",
        "https://evil-hooks.slack.com/services/T0/B0/x",
        "https://hooks.slack.com@evil.example/services/T0/B0/x",
        "https://evil.example#@hooks.slack.com/services/T0/B0/x",
        "https://evil.example?hooks.slack.com/services/T0/B0/x",
        "https://hooks.slack.com\\@evil.example/services/x",
        "https://hooks.slack.com:8443/services/T0/B0/x",
        "https://hooks.slack.com./services/T0/B0/x",
        "https://hooks.slack.com\t/services/x",
        "http://hooks.slack.com/services/T0/B0/x",
        "https://127.0.0.1/services/T0/B0/x",
        "https://hooks.slack.com/services/../admin",
        "https://hooks.slack.com/services/%2e%2e/admin",
        "https://hooks.slack.com/services/.%2E/admin",
        "https://hooks.slack.com/admin",
        "https://hooks.slack.com/services/T0?x=1",
        "https://hooks.slack.com/services/",
        "https://hooks.slack.com",
        "ftp://hooks.slack.com/services/x",
        "hooks.slack.com/services/T0/B0/x",
        "",
        "https://hooks.slack.com/services/" + "x" * 1_000,
    ],
)
def test_a_slack_template_leads_to_slack_and_nowhere_else(url: str) -> None:
    (path, _), *rest = refused("slack", webhookUrl=url)
    assert path == "config.webhookUrl"
    assert {other for other, _ in rest} <= {path}


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("slack", SLACK),
        ("slack", "https://HOOKS.slack.com:443/services/T0/B0/x"),
        ("slack", "https://hooks.slack-gov.com/services/T0/B0/x"),
        ("discord", "https://discordapp.com/api/v10/webhooks/12345/abcdefghijklmnopqrstu?thread_id=1"),
        ("teams", "https://a.b.environment.api.powerplatform.com:443/powerautomate/automations/direct/"
                  "workflows/abc/triggers/manual/paths/invoke?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sig=a_-"),
        ("make", "https://hook.us1.make.com/abcdefghijklmnopqrstuvwxyz"),
        ("zapier", "https://hooks.zapier.com/hooks/catch/1/a/"),
        ("mattermost", "http://chat.internal:8065/team/hooks/abcdefghijklmnopqrstuvwxyz"),
        ("n8n", "http://n8n.internal:5678/webhook/x"),
        ("google-chat", "https://chat.googleapis.com/v1/spaces/A/messages?key=a&token=b%3D"),
    ],
)  # fmt: skip
def test_a_service_url_is_taken(name: str, url: str) -> None:
    get(name).check({**get(name).example.config, "webhookUrl": url})


@pytest.mark.parametrize(
    ("name", "field"),
    [(d.id, d.address.field) for d in ALL if d.address.hosts is not None],
)
def test_no_template_with_hosts_leads_elsewhere(name: str, field: str) -> None:
    for url in ("https://evil.example/x", "http://127.0.0.1:1/x", "https://user@evil.example/"):
        assert refused(name, **{field: url})[0][0] == f"config.{field}"


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("github", "owner", ".."),
        ("github", "repository", ".."),
        ("github", "repository", "a/b"),
        ("github", "repository", "a?b"),
        ("github", "owner", "a%2fb"),
        ("telegram", "token", "123456:abc/../../def"),
        ("telegram", "token", "../x"),
        ("datadog", "site", "evil.example"),
    ],
)
def test_what_stands_in_a_path_cannot_lead_out_of_it(name: str, field: str, value: str) -> None:
    assert refused(name, **{field: value})


def test_every_file_names_published_documentation_and_stays_readable() -> None:
    for path in FOLDER.iterdir():
        text = path.read_text()
        assert "documentation" in text, path
        assert len(text) < 8_000, path
