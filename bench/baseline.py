"""The figures of other systems that did the work of our scenarios, from bench/baseline.toml."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

FILE = Path(__file__).parent / "baseline.toml"


class System(Struct, frozen=True, forbid_unknown_fields=True):
    """Another system. `figures`: its figures for each scenario, under the same names as our figures."""

    name: str
    version: str
    language: str
    needs: list[str]
    note: str
    figures: dict[str, dict[str, float]]


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """Other systems. `send_micros`: the CPU microseconds of a bare request, on the computer where the
    systems were measured."""

    measured: str
    machine: str
    work: str
    send_micros: float
    systems: list[System]

    def beside(self, scenario: str) -> dict[str, dict[str, float]]:
        """Return each system's figures for one scenario. The figure `timesFloor` is the system's CPU time
        for an event, divided by `send_micros`."""
        found = {}
        for system in self.systems:
            figures = dict(system.figures.get(scenario, {}))
            if "cpuMicrosPerEvent" in figures:
                figures["timesFloor"] = round(figures["cpuMicrosPerEvent"] / self.send_micros, 1)
            if figures:
                found[system.name] = figures
        return found


@cache
def baseline() -> Baseline:
    """Return the figures of other systems."""
    return msgspec.convert(tomllib.loads(FILE.read_text("utf-8")), Baseline)
