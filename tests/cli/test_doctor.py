"""`angarium doctor`: it names problems and their solutions, and leaves nothing behind."""

import base64
import json
import os
import pwd
import re
import resource
import socket
import stat
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
import trustme
from click.testing import CliRunner
from structlog.testing import capture_logs

from api.cli import main
from api.cli.doctor import machine, security
from api.cli.doctor.database import check_database
from api.cli.doctor.finding import Finding, Level
from api.composition import serving
from api.composition.failures import EXIT_SETTINGS
from engine.settings import Settings
from tests.cli.programs import MASTER_KEY, ROOT, angarium, environment, manage_key, server

VARIABLE = re.compile(r"\bANGARIUM_[A-Z_]*[A-Z]\b")
OK, WARNING, FAILURE = Level.OK, Level.WARNING, Level.FAILURE


def worst(findings: list[Finding]) -> Level:
    levels = [finding.level for finding in findings]
    return FAILURE if FAILURE in levels else WARNING if WARNING in levels else OK


@pytest.mark.parametrize(
    ("network", "level"),
    [
        ("127.0.0.0/8", WARNING),
        ("::1/128", WARNING),
        ("10.1.0.0/16", OK),
        ("192.168.7.0/24", OK),
        ("fd12::/32", OK),
        ("0.0.0.0/0", FAILURE),
        ("::/0", FAILURE),
        ("169.254.0.0/16", FAILURE),
        ("169.254.169.254/32", FAILURE),
        ("168.63.129.16/32", FAILURE),
        ("16.0.0.0/4", WARNING),
    ],
)
def test_networks_that_tenants_should_not_reach_are_named(network: str, level: Level) -> None:
    findings = security.check_egress((ip_network(network),))
    assert worst(findings) is level
    assert network in findings[0].message


def test_no_network_allowed_is_fine() -> None:
    assert worst(security.check_egress(())) is OK


def test_a_variable_that_nothing_reads_is_a_slip() -> None:
    finding = machine.check_variables({"ANGARIUM_BIND": "x", "ANGARIUM_BNID": "y", "HOME": "/"})
    assert finding.level is WARNING
    assert "ANGARIUM_BNID" in finding.message
    assert "ANGARIUM_BIND" not in finding.message


def test_every_variable_that_the_project_names_is_known() -> None:
    """The command warns of unknown variables. It knows each variable that the code or a document
    names."""
    named: set[str] = set()
    for folder in ("api", "bench", "clients", "docs", "engine", "storage", "tests/security"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".js", ".sql"):
                named.update(VARIABLE.findall(path.read_text("utf-8")))
    for name in ("Makefile", "README.md", ".ci/run"):
        named.update(VARIABLE.findall((ROOT / name).read_text("utf-8")))
    assert {"ANGARIUM_KEY_FILE", "ANGARIUM_BENCH_BASE", "ANGARIUM_ADVISORIES_URL"} <= named
    finding = machine.check_variables(dict.fromkeys(named, "x"))
    assert finding.level is OK, finding.message


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_a_port_of_another_program_is_in_the_way(
    taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "LIVEZ_S", 0.05)
    finding = machine.check_port(Settings(bind=f"127.0.0.1:{taken}"))
    assert finding.level is FAILURE
    assert "another program" in finding.message


def test_a_free_port_is_fine_and_an_open_one_is_said_to_be() -> None:
    assert machine.check_port(Settings(bind="127.0.0.1:0")).level is OK
    assert "other machines" in machine.check_port(Settings(bind="0.0.0.0:0")).message


def test_an_address_of_another_machine_is_in_the_way() -> None:
    assert machine.check_port(Settings(bind="192.0.2.1:8080")).level is FAILURE


def test_a_data_folder_that_is_a_file_or_cannot_be_made_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert worst(machine.check_data_dir(Settings(data_dir=tmp_path / "file"))) is FAILURE
    assert worst(machine.check_data_dir(Settings(data_dir=Path("/proc/nothing/here")))) is FAILURE


def test_a_data_folder_of_another_account_is_told_and_no_check_breaks_on_it(tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0)
    root = os.geteuid() == 0
    if root:  # root can read everything
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        for settings in (Settings(data_dir=shut), Settings(data_dir=shut / "data")):
            assert worst(machine.check_data_dir(settings)) is FAILURE
            assert machine.check_backup(settings).level is OK
            assert security.check_master_key(settings).level is FAILURE
    finally:
        if root:
            os.seteuid(0)


def test_looking_at_a_data_folder_leaves_nothing(tmp_path: Path) -> None:
    findings = machine.check_data_dir(Settings(data_dir=tmp_path / "new" / "data"))
    assert findings[0].level is OK
    assert list(tmp_path.iterdir()) == []


def test_little_room_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "DISK_FEW", 10**18)
    assert worst(machine.check_data_dir(Settings(data_dir=tmp_path))) is WARNING


@pytest.mark.parametrize(
    ("soft", "level"), [(1024, WARNING), (65_536, OK), (resource.RLIM_INFINITY, OK)]
)
def test_few_descriptors_are_a_warning(
    soft: int, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, 1_048_576))
    assert machine.check_descriptors().level is level


def test_a_clock_in_the_past_is_in_the_way() -> None:
    assert machine.check_clock(0.0).level is FAILURE
    assert machine.check_clock(1_900_000_000.0).level is OK


def test_a_master_key_is_needed_with_a_database_of_ones_own(tmp_path: Path) -> None:
    own = Settings(data_dir=tmp_path, database_url="postgresql://x/y")
    assert security.check_master_key(own).level is FAILURE
    given = own.model_copy(update={"master_key": MASTER_KEY})
    assert security.check_master_key(given).level is OK
    bad = own.model_copy(update={"master_key": "c2hvcnQ="})
    assert security.check_master_key(bad).level is FAILURE


def test_a_key_file_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    assert security.check_master_key(Settings(data_dir=tmp_path)).level is OK
    file.write_text(MASTER_KEY)
    file.chmod(0o644)
    assert security.check_master_key(Settings(data_dir=tmp_path)).level is WARNING
    file.chmod(stat.S_IRUSR)
    assert security.check_master_key(Settings(data_dir=tmp_path)).level is OK


def test_certificates_are_read_and_dated(tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("example.com")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    issued.cert_chain_pems[0].write_to_path(cert)
    issued.private_key_pem.write_to_path(key)
    assert worst(security.check_tls(Settings(tls_cert=cert, tls_key=key))) is OK
    assert worst(security.check_tls(Settings(tls_cert=key, tls_key=cert))) is FAILURE
    missing = Settings(tls_cert=tmp_path / "no.pem", tls_key=key)
    assert worst(security.check_tls(missing)) is FAILURE
    assert security.check_tls(Settings()) == []


GOLD = """[plans.gold]
control_per_minute = 1
ingest_per_minute = 1
transforms = 1
retention_days = 1
"""


@pytest.mark.parametrize("text", [None, GOLD, GOLD + "destinatoins = 1", "[plans.gold"])
def test_plans_that_a_server_would_refuse_are_in_the_way(text: str | None, tmp_path: Path) -> None:
    plans = tmp_path / "plans.toml"
    if text is not None:
        plans.write_text(text)
    finding = machine.check_plans(Settings(plans_file=plans))
    assert finding.level is FAILURE
    assert str(plans) in finding.message


def test_templates_that_a_server_would_refuse_are_in_the_way(tmp_path: Path) -> None:
    nowhere = Settings(templates_dir=tmp_path / "nowhere")
    assert machine.check_templates(nowhere).level is FAILURE
    (tmp_path / "sms.toml").write_text("name = ")
    broken = machine.check_templates(Settings(templates_dir=tmp_path))
    assert (broken.level, "sms.toml" in broken.message) == (FAILURE, True)
    unknown = machine.check_templates(Settings(template_hosts=(("nosuch", "a.b"),)))
    assert (unknown.level, "nosuch" in unknown.message) == (FAILURE, True)


def test_plans_templates_and_a_file_store_that_a_server_takes_are_fine(tmp_path: Path) -> None:
    plans = tmp_path / "plans.toml"
    plans.write_text(GOLD + "destinations = 1")
    settings = Settings(plans_file=plans, template_hosts=(("slack", "a.b"),))
    assert "gold" in machine.check_plans(settings).message
    assert machine.check_plans(settings).level is OK
    assert machine.check_templates(settings).level is OK
    assert machine.check_file_store(settings).level is OK
    assert machine.check_file_store(Settings(data_dir=tmp_path / "data")).level is OK
    assert os.listdir(tmp_path) == ["plans.toml"]


def test_a_file_store_that_means_nothing_is_in_the_way() -> None:
    assert machine.check_file_store(Settings(file_store="s3://b?nope=1")).level is FAILURE


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("plans_file", Path("/nonexistent/plans.toml"), "plans.toml"),
        ("templates_dir", Path("/nonexistent/templates"), "templates"),
        ("template_hosts", (("nosuch", "a.b"),), "nosuch"),
        ("file_store", "s3://bucket?nope=1", "nope"),
    ],
)
def test_a_server_refuses_what_the_operator_declared_before_it_makes_anything(
    name: str,
    value: object,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The real call would affect this whole process.
    monkeypatch.setattr(serving, "forbid_core_dumps", lambda: None)
    settings = Settings(data_dir=tmp_path / "data").model_copy(update={name: value})
    with capture_logs() as logged:
        assert serving.serve(settings) == EXIT_SETTINGS
    assert told in logged[-1]["error"]
    assert os.listdir(tmp_path) == []


async def test_a_good_database_passes(database_url: str, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=database_url, master_key=MASTER_KEY)
    findings = await check_database(settings)
    assert worst(findings) is OK
    assert any("of this version" in finding.message for finding in findings)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:1/x", "postgresql:///x?host=/nonexistent", "nonsense"]
)
async def test_a_database_that_does_not_answer_is_in_the_way(url: str, tmp_path: Path) -> None:
    findings = await check_database(Settings(data_dir=tmp_path, database_url=url))
    assert worst(findings) is FAILURE


async def test_an_embedded_database_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    assert worst(await check_database(Settings(data_dir=tmp_path))) is OK
    assert os.listdir(tmp_path) == []


def test_wrong_settings_are_findings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANGARIUM_BIND", "nowhere")
    result = CliRunner().invoke(main, ["doctor", "--output", "json"])
    assert result.exit_code == 1
    found = {entry["subject"]: entry for entry in json.loads(result.output)}
    assert "ANGARIUM_BIND" in found["settings"]["message"]
    assert found["settings"]["level"] == "failure"


async def test_the_command_reports_and_exits_0_where_nothing_is_in_the_way(
    database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url, tmp_path)
    done = await angarium("doctor", env=env)
    assert done.code == 0, done.out + done.err
    assert "ok       settings: valid: the flags and environment of this command" in done.out
    assert "ok       database: PostgreSQL 18 answers" in done.out
    assert "tenants can reach every service of this machine" in done.out
    assert "data" not in os.listdir(tmp_path)


async def test_a_master_key_that_does_not_open_the_database_is_in_the_way(
    database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url, tmp_path)
    async with server(env) as (_, url):
        manage = await manage_key(env, url)
        async with httpx.AsyncClient(base_url=url, trust_env=False) as client:
            client.headers["authorization"] = f"Bearer {manage}"
            body = {"name": "Orders", "url": "https://example.com/hooks"}
            assert (await client.post("/destinations", json=body)).status_code == 201
    right = Settings(data_dir=tmp_path, database_url=database_url, master_key=MASTER_KEY)
    assert worst(await check_database(right)) is OK
    other = base64.b64encode(b"x" * 32).decode()
    findings = await check_database(right.model_copy(update={"master_key": other}))
    assert worst(findings) is FAILURE
    assert "does not open" in findings[-1].message
    both = right.model_copy(update={"master_key": f"{other},{MASTER_KEY}"})
    assert worst(await check_database(both)) is OK, "an old key may stand behind the new one"
