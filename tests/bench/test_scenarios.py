"""Every scenario once, with tiny sizes, against a real server: they must run, and find nothing broken."""

import pytest

from bench.__main__ import run
from bench.scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_runs_and_finds_nothing_broken(name: str) -> None:
    scenario = SCENARIOS[name]
    figures = run(scenario, scenario.tiny)
    assert figures
