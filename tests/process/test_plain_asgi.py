"""The application as plain ASGI, served by the command `hypercorn`, and the listener for operations."""

import os
import signal
import subprocess
import sys
import urllib.request

import httpx
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from api.metrics.declared import METRICS
from bench.programs import ROOT, free_port
from tests.patience import HANGS_S
from tests.process.conftest import _folder, open_house
from tests.process.house import House, until


class Behind(House):
    """A server that Hypercorn runs: Hypercorn accepts the connections, and Angarium is its ASGI
    application."""

    def start(self) -> float:
        environment = os.environ | self.settings | {"ANGARIUM_DATA_DIR": str(self.folder)}
        served = ["hypercorn", "api.asgi:app", "-k", "trio", "-b", f"127.0.0.1:{self.port}"]
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *served],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environment,
                cwd=ROOT,
                start_new_session=True,
            )
        self._until(lambda: self.ask("GET", "/readyz").status == 200)
        return 0.0


def test_hypercorn_serves_the_application_and_its_lifespan_is_the_engines() -> None:
    with _folder() as folder, Behind(folder / "data") as house:
        assert house.post("1", "2")
        assert house.ask("GET", "/nope").status == 404
        assert house.ask("GET", "/events").status == 200
        process = house.process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        process.wait(HANGS_S)
        assert process.returncode == 0
        assert b"server.stop_begun" in house.log_file.read_bytes()


def test_operations_are_told_at_an_address_of_their_own(furnished: House) -> None:
    port = free_port()
    bind = f"127.0.0.1:{port}"
    with open_house(furnished, ANGARIUM_OPERATIONS_BIND=bind) as house:
        beside = House(house.folder)
        beside.port, beside.url = port, f"http://{bind}"
        until(lambda: _status(beside, "/readyz") == 200, "it is served")
        assert _status(beside, "/livez") == 200
        told = beside.ask("GET", "/process").body
        assert {"loop", "door", "children"} <= set(told)
        assert "door" in {child["name"] for child in told["children"]}
        assert house.post("metrics")
        written = _metrics(bind)
        assert written[("angarium_ready", "")] == 1
        assert sum(value for (name, _), value in written.items() if "events_accepted" in name) == 1
        assert {each.series for each in METRICS if not each.labels and each.read} <= {
            name for name, _ in written
        }
        assert house.ask("GET", "/metrics").status == 404
        assert [_status(beside, path) for path in ("/events", "/docs", "/")] == [404] * 3
        assert beside.ask("POST", "/readyz").status == 405
        assert house.ask("GET", "/process").status == 404  # callers cannot reach operations


def test_figures_of_operations_can_need_a_key(furnished: House) -> None:
    bind, key = f"127.0.0.1:{free_port()}", "k" * 16
    settings = {"ANGARIUM_OPERATIONS_BIND": bind, "ANGARIUM_OPERATIONS_KEY": key}
    with open_house(furnished, **settings), httpx.Client(base_url=f"http://{bind}") as client:
        until(lambda: _ready(client), "it is served")
        for path in ("/metrics", "/process", "/nowhere"):
            for wrong in ({}, {"authorization": "Bearer wrong"}, {"authorization": key}):
                refused = client.get(path, headers=wrong)
                assert refused.status_code == 401
                assert refused.headers["www-authenticate"] == "Bearer"
        client.headers["authorization"] = f"Bearer {key}"
        statuses = [client.get(path).status_code for path in ("/metrics", "/process", "/nowhere")]
        assert statuses == [200, 200, 404]


def _ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _metrics(bind: str) -> dict[tuple[str, str], float]:
    request = urllib.request.Request(
        f"http://{bind}/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"}
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    return {
        (sample.name, str(sample.labels or "")): sample.value
        for family in text_string_to_metric_families(text)  # type: ignore[no-untyped-call]  # the library has no types here
        for sample in family.samples
    }


def _status(house: House, path: str) -> int:
    try:
        return house.ask("GET", path).status
    except OSError:
        return 0
