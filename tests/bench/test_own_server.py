"""Load on a user's own server: measurements, removal of the run's objects, and refused starts."""

import csv
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import trio

from bench import drive
from bench.drive import INTERRUPTED, main
from bench.own_server import OwnServer
from bench.programs import Module, call
from bench.results import read
from engine.core.vocabulary import Environment, Scope
from storage.database.bridge import Bridge
from tests.door.papers import papers
from tests.service.house import ServiceHouse, open_service
from tests.service.receiver import open_receiver

WARM = 10


@pytest.fixture
async def house(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ServiceHouse]:
    monkeypatch.setattr(drive, "WARM", WARM)
    async with open_service(bridge) as house:
        yield house


async def address(house: ServiceHouse, scope: Scope = Scope.MANAGE) -> list[str]:
    tenant = await house.tenant("acme")
    made = await house.keys.create(tenant, scope, Environment.DEVELOPMENT, "the engineer's")
    host, port = house.door.address
    return ["--url", f"http://{host}:{port}", "--key", made.secret]


async def test_a_run_at_two_rates_leaves_files_and_nothing_on_the_server(
    house: ServiceHouse, tmp_path: Path
) -> None:
    payload = tmp_path / "order.json"
    payload.write_text('{"order": "o-{{n}}"}')
    files = ["--json", f"{tmp_path}/out.json", "--csv", f"{tmp_path}/new/out.csv"]
    files += ["--plots", f"{tmp_path}/plots", "--html", f"{tmp_path}/out.html"]
    options = ["--rate", "100", "--rate", "200", "--duration", "0.2", "--payload", str(payload)]
    # No computer delivers 1,000,000 events a second, so every run breaks the limit of `delivered`. Every
    # run keeps the limit of `p99`.
    options += ["--fail-if", "delivered<1000000/s", "--fail-if", "p99>3600s"]
    options += await address(house)
    code = await trio.to_thread.run_sync(main, [*options, *files])
    assert code == 1  # because of the limit of `delivered`
    (run,) = read(tmp_path / "out.json").runs
    (measured,) = run.measurements
    # Void if this machine was too busy to generate the load.
    assert measured.verdict in ("ok", "void")
    # On a busy computer, the time for a rate can end before all its events are posted. `unsent` is the
    # number of events that were not posted.
    unsent = sum(step.figures["unsent"] for step in measured.steps)
    assert measured.figures["accepted"] + unsent == 60
    assert measured.figures["delivered"] == measured.figures["accepted"]
    assert [step.value for step in measured.steps] == [100, 200]
    rows = list(csv.DictReader((tmp_path / "new" / "out.csv").read_text().splitlines()))
    assert {row["at"] for row in rows} == {"", "100.0", "200.0"}
    assert {row["unit"] for row in rows if row["figure"] == "deliveryP99Ms"} == {"ms"}
    plots = list((tmp_path / "plots").glob("*.svg"))
    assert len(plots) == 3
    for plot in plots:
        assert ElementTree.parse(plot).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    url, key = options[-3], options[-1]
    rules = await trio.to_thread.run_sync(call, "GET", f"{url}/routing-rules", None, key)
    assert rules["items"] == []


async def test_a_run_over_tls_trusts_the_authority_that_is_named(
    bridge: Bridge,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(drive, "WARM", WARM)
    made = papers(tmp_path, "127.0.0.1")
    authority = tmp_path / "authority.pem"
    made.authority.cert_pem.write_to_path(authority)
    async with open_service(bridge, tls_cert=made.cert, tls_key=made.key) as house:
        options = await address(house)
        options[1] = options[1].replace("http:", "https:")
        # Bodies that need several TLS records.
        (tmp_path / "large.json").write_text('{"text": "' + "x" * 100_000 + '"}')
        options += ["--events", "40", "--connections", "4", "--payload", f"{tmp_path}/large.json"]
        options += ["--json", f"{tmp_path}/out.json"]
        with pytest.raises(SystemExit) as ended:
            await trio.to_thread.run_sync(main, options)
        assert ended.value.code == 2
        assert "Give the authority with --cacert FILE" in capfd.readouterr().err
        code = await trio.to_thread.run_sync(main, [*options, "--cacert", str(authority)])
    (measured,) = read(tmp_path / "out.json").runs[0].measurements
    assert measured.verdict in ("ok", "void")
    assert (code, measured.figures["delivered"]) == (int(measured.verdict != "ok"), 40)
    assert measured.notes["tls"].startswith("TLSv1.")


async def test_a_run_is_refused_where_events_would_reach_others(
    house: ServiceHouse, capfd: pytest.CaptureFixture[str]
) -> None:
    options = await address(house)
    async with open_receiver() as receiver:
        await trio.to_thread.run_sync(lambda: _others_rule(options, receiver.url("/live")))
        with pytest.raises(SystemExit) as ended:
            await trio.to_thread.run_sync(main, [*options, "--event-type", "order.created"])
        assert ended.value.code == 2
        assert "1 other destinations" in capfd.readouterr().err
        assert receiver.of("/live") == []


async def test_a_key_that_may_not_set_up_is_refused(
    house: ServiceHouse, capfd: pytest.CaptureFixture[str]
) -> None:
    options = await address(house, Scope.READ)
    with pytest.raises(SystemExit) as ended:
        await trio.to_thread.run_sync(main, options)
    assert ended.value.code == 2
    assert "scope manage" in capfd.readouterr().err


async def test_a_run_that_is_interrupted_leaves_nothing_on_the_server(
    house: ServiceHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = await address(house)

    def interrupted(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Module, "run", interrupted)
    assert await trio.to_thread.run_sync(main, options) == INTERRUPTED
    for kind in ("routing-rules", "destinations"):
        path = f"{options[1]}/{kind}"
        found = await trio.to_thread.run_sync(call, "GET", path, None, options[3])
        assert found["items"] == []


async def test_a_run_whose_events_have_no_answer_fails(
    house: ServiceHouse, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    options = await address(house)
    run = Module.run

    def cut(*arguments: str, **options: Any) -> Any:
        sent = run(*arguments, **options)
        sent["answers"]["ConnectionRefusedError"] = 5
        return sent

    monkeypatch.setattr(Module, "run", cut)
    assert await trio.to_thread.run_sync(main, [*options, "--events", "20"]) == 1
    assert "5 events had no answer: ConnectionRefusedError: 5" in capfd.readouterr().err


async def test_a_server_that_has_gone_costs_no_figures(
    house: ServiceHouse, capfd: pytest.CaptureFixture[str]
) -> None:
    options = await address(house)

    def opened() -> None:
        with OwnServer(options[1], options[3], "http://127.0.0.1:9/hook", "a.b", 1) as server:
            server.url = "http://127.0.0.1:1"

    await trio.to_thread.run_sync(opened)
    said = capfd.readouterr().err
    assert "/routing-rules/" in said
    assert "/destinations/" in said


def _others_rule(options: list[str], hook: str) -> None:
    server = OwnServer(options[1], options[3], hook, "order.created", 1)
    server.__enter__()  # nothing removes its objects
