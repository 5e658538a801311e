"""Every scenario runs once, with tiny sizes, against a real server, and finds nothing broken."""

import re
import subprocess
from pathlib import Path

import pytest

import bench.measure
import bench.resting
import bench.saturation
import bench.scenario
import bench.service
from bench.brief import Shared
from bench.results import Floor, Measurement
from bench.scenario import Scenario
from bench.scenarios import SCENARIOS
from bench.scenarios.programs import PROGRAMS
from bench.service import Service
from tests.process.conftest import furnished
from tests.process.house import House

__all__ = ["furnished"]
ROOT = Path(__file__).parent.parent.parent
DECLARED = [name for name in SCENARIOS if name not in PROGRAMS]
FLOOR = Floor(5.0, 5.0, 0.1)  # the values do not matter here


@pytest.fixture
def brief(furnished: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip measurements that do not matter here. Start each server with a copy of the
    prepared data."""
    start = Service.start

    def started(service: Service) -> float:
        if not service.log_file.exists():
            subprocess.run(["cp", "-a", f"{furnished.folder}/.", service.folder], check=True)
        return start(service)

    monkeypatch.setattr(Service, "start", started)
    monkeypatch.setattr(bench.service, "FLOOR_REQUESTS", 2_000)
    for module in (bench.measure, bench.saturation, bench.scenario):
        monkeypatch.setattr(module, "floors", lambda _service: FLOOR)
    monkeypatch.setattr(bench.resting, "LOOK_S", 0.02)  # the CPU use at its end does not matter
    # When a scenario ends, deliveries can be in flight that will never be answered. By default, a server
    # that stops waits up to 25 s for these answers. Here it waits up to 2 s.
    monkeypatch.setenv("ANGARIUM_SHUTDOWN_GRACE", "2")


def hold(scenario: Scenario, found: Measurement) -> None:
    assert found.verdict != "broken", f"{scenario.name}: {found.reason}"
    named = {*scenario.better, *scenario.bars}
    assert not named - found.figures.keys(), f"{scenario.name}: {found.figures}"
    assert scenario.bars.keys() <= scenario.better.keys()


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_and_finds_nothing_broken(name: str) -> None:
    scenario = SCENARIOS[name]
    found = scenario.measure(scenario.with_sizes({}, tiny=True))
    hold(scenario, found)
    assert found.figures or found.notes


@pytest.mark.usefixtures("brief")
def test_what_files_declare_runs_and_finds_nothing_broken() -> None:
    """Starting a server takes longer than sending a tiny scenario's events. So scenarios share a server,
    except those that need their own settings or several servers.
    """
    with Shared() as serve:
        for name in DECLARED:
            scenario = SCENARIOS[name]
            found = scenario.measure(scenario.with_sizes({}, tiny=True), serve)
            hold(scenario, found)
            assert found.latencies
            assert len(found.floors) > 1


def test_every_scenario_is_in_the_page() -> None:
    page = (ROOT / "bench/README.md").read_text().partition("\n## Scenarios\n")[2]
    listed = re.findall(r"^\| `(\w+)` \|", page.partition("\n## ")[0], re.M)
    assert sorted(listed) == sorted(SCENARIOS)
    assert len(listed) == len(set(listed))


def test_a_size_that_a_scenario_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="single has no size evnets; it has events, connections"):
        SCENARIOS["single"].with_sizes({"evnets": 3})
