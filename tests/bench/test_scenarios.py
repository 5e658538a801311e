"""Every scenario once, with tiny sizes, against a real server: they must run, and find nothing broken."""

import pytest

import bench.service
from bench.__main__ import run
from bench.scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_runs_and_finds_nothing_broken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.service, "FLOOR_REQUESTS", 2_000)  # what it tells is of no interest
    # What a scenario leaves in flight, a receiver never answers: its server need not wait for it.
    monkeypatch.setenv("ANGARIUM_SHUTDOWN_GRACE", "2")
    scenario = SCENARIOS[name]
    figures = run(scenario, scenario.tiny)
    assert figures
