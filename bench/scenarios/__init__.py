"""The scenarios by name: declared in files of this folder, or functions in `programs`."""

from functools import partial
from pathlib import Path

from bench import declared, measure
from bench.scenario import Scenario, Sizes
from bench.scenarios.programs import PROGRAMS

__all__ = ["SCENARIOS", "Scenario", "Sizes"]


def _read(path: Path) -> Scenario:
    """Raises ValueError if the file is wrong."""
    name, raw = path.stem, declared.read(path)
    sizes, tiny = raw.get("sizes", {}), raw.get("tiny", {})
    found = declared.declaration(name, raw, sizes)
    declared.declaration(name, raw, sizes | tiny)
    return Scenario(
        name,
        found.about,
        partial(measure.measured, name, raw),
        sizes,
        tiny,
        dict(found.better),
        found.demands(),
        found.minutes,
    )


SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        *map(_read, sorted(Path(__file__).parent.glob("*.toml"))),
        *PROGRAMS.values(),
    )
}
