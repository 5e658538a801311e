"""Settings: they come from variables and flags, are validated, and are shown with defaults
and reasons."""

from ipaddress import ip_network
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from api.cli import main
from api.cli.errors import settings_trouble
from api.cli.options import _without_password
from api.welcome import server_url
from engine.settings import PREFIX, Settings


def test_help_lists_every_setting_with_its_variable_default_and_reason() -> None:
    shown = CliRunner().invoke(main, ["serve", "--help"], terminal_width=400).output
    for name, field in Settings.model_fields.items():
        assert "--" + name.replace("_", "-") in shown
        assert PREFIX + name.upper() in shown
        assert field.description
        assert field.description in shown
    assert "64 MiB" in shown


def test_a_flag_wins_over_its_variable_and_an_empty_variable_is_none() -> None:
    variables = {"ANGARIUM_RETENTION_DAYS": "7", "ANGARIUM_BIND": "[::1]:1", "ANGARIUM_TLS_KEY": ""}
    settings = Settings.from_environment(variables, retention_days="9", bind=None)
    assert (settings.retention_days, settings.address) == (9, ("::1", 1))
    assert settings.tls_key is None


def test_networks_are_a_list_with_commas() -> None:
    settings = Settings.from_environment({"ANGARIUM_EGRESS_ALLOW": "127.0.0.0/8, ::1/128,"})
    assert settings.egress_allow == (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bind", "8080"),
        ("bind", "example.com:80"),
        ("bind", "127.0.0.1:99999"),
        ("bind", "127.0.0.1:-1"),
        ("bind", ":80"),
        ("retention_days", "0"),
        ("retention_days", "soon"),
        ("egress_allow", "10.0.0.1/8"),
        ("egress_allow", "here"),
        ("log_level", "loud"),
        ("shutdown_grace", "-1"),
        ("group_bytes", "1"),
        ("descriptor_share_inbound", "1.5"),
    ],
)
def test_a_wrong_value_is_told_by_both_names(name: str, value: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Settings.from_environment({PREFIX + name.upper(): value})
    told = settings_trouble(raised.value)
    assert PREFIX + name.upper() in told
    assert "--" + name.replace("_", "-") in told


@pytest.mark.parametrize(
    "values",
    [
        {"tls_cert": "a.pem"},
        {"tls_key": "a.pem"},
        {"descriptor_share_inbound": "0.6", "descriptor_share_outbound": "0.5"},
    ],
)
def test_values_that_belong_together_are_checked_together(values: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Settings.from_environment({}, **values)


@pytest.mark.parametrize(
    ("bind", "expected"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("0.0.0.0:80", "http://127.0.0.1:80"),
        ("[::]:80", "http://[::1]:80"),
        ("[::1]:80", "http://[::1]:80"),
        ("localhost:80", "http://localhost:80"),
        ("10.1.2.3:80", "http://10.1.2.3:80"),
    ],
)
def test_a_client_here_finds_the_server_of_some_settings(bind: str, expected: str) -> None:
    assert server_url(Settings(bind=bind)) == expected


def test_with_a_certificate_the_address_is_https() -> None:
    settings = Settings(tls_cert=Path("a"), tls_key=Path("b"))
    assert server_url(settings) == "https://127.0.0.1:8080"


@pytest.mark.parametrize("command", ["serve", "restore", "doctor"])
def test_a_master_key_in_the_arguments_is_refused(command: str) -> None:
    arguments = [command, "--master-key", "c2VjcmV0", *(["x"] if command == "restore" else [])]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "--master-key-file" in result.output
    assert "c2VjcmV0" not in result.output


def test_a_key_of_operations_is_read_from_its_variable_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = CliRunner().invoke(main, ["serve", "--operations-key", "hidden" * 4])
    assert (result.exit_code, "ANGARIUM_OPERATIONS_KEY" in result.output) == (2, True)
    assert "hidden" not in result.output
    monkeypatch.setenv("ANGARIUM_OPERATIONS_KEY", "hidden")
    result = CliRunner().invoke(main, ["serve"])
    assert (result.exit_code, "must be 16 to 512 letters" in result.output) == (2, True)
    assert "hidden" not in result.output


@pytest.mark.parametrize("command", ["serve", "doctor", "backup"])
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hidden@127.0.0.1:1/db",
        "postgresql://user@127.0.0.1:1/db?password=hidden",
        "postgresql://user:hidden@[::1/db",
    ],
)
def test_a_database_password_in_the_arguments_is_refused(command: str, url: str) -> None:
    arguments = [command, "--database-url", url, *(["x"] if command == "backup" else [])]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "ANGARIUM_DATABASE_URL" in result.output
    assert "PGPASSWORD" in result.output
    assert "hidden" not in result.output


def test_a_database_address_without_a_password_is_taken() -> None:
    context = click.Context(click.Command("any"))
    parameter = click.Option(["--database-url"])
    for url in (None, "postgresql://user@127.0.0.1:1/db", "postgresql:///db?host=/run/x"):
        assert _without_password(context, parameter, url) == url


def test_wrong_settings_are_words_and_exit_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANGARIUM_RETENTION_DAYS", "never")
    result = CliRunner().invoke(main, ["serve"])
    assert result.exit_code == 2
    assert "ANGARIUM_RETENTION_DAYS (--retention-days)" in result.output
    assert "Traceback" not in result.output
