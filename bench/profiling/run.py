"""A scenario measured with a profile: its CPU at its sizes, then its allocations at a small size."""

from bench.profiling.allocations import Recorded
from bench.profiling.profile import Observed
from bench.results import Measurement
from bench.scenario import Scenario, Sizes

# Enough that the start of a connection is nothing of an event, and no more: each allocation is written
# down, and an event takes some hundreds.
EVENTS = 2_000
_NUMBER = "events"  # the size that says how much is posted


def measured(scenario: Scenario, sizes: Sizes) -> Measurement:
    """Measure once, profiled. A scenario that has no load of its own (or a server of its own kind) is
    measured as ever, with a note."""
    found = scenario.measure(sizes, Observed)
    if found.verdict != "ok":
        return found
    if not found.split:
        return noted(found, "not profiled: the scenario has a server of its own, or several loads")
    if _NUMBER in sizes:
        small = scenario.measure(sizes | {_NUMBER: min(sizes[_NUMBER], EVENTS)}, Recorded)
        found.allocations = small.allocations
        for name in ("blocksTakenPerEvent", "bytesTakenPerEvent"):
            if name in small.figures:
                found.figures[name] = small.figures[name]
    return noted(found, "with the server's own sampling, which takes some CPU too")


def noted(measurement: Measurement, said: str) -> Measurement:
    """Return a measurement that says so."""
    measurement.notes["profile"] = said
    return measurement
