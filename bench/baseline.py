"""The figures of other systems for the same work, from bench/baseline.toml, which describes their
measurement."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

FILE = Path(__file__).parent / "baseline.toml"


class System(Struct, frozen=True, forbid_unknown_fields=True):
    """Another system, with its figures by scenario and by the names of our figures."""

    name: str
    version: str
    language: str
    needs: list[str]
    note: str
    figures: dict[str, dict[str, float]]


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """Other systems, and the method of their measurement. `send_micros`: the floor of the machine at
    that time."""

    measured: str
    machine: str
    work: str
    send_micros: float
    systems: list[System]

    def beside(self, scenario: str) -> dict[str, dict[str, float]]:
        """Return the figures for one scenario by system, with CPU as a multiple of their floor too."""
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
    """Return the known figures of other systems."""
    return msgspec.convert(tomllib.loads(FILE.read_text("utf-8")), Baseline)
