"""The profile of a scenario: one run with CPU samples, then a smaller run that records allocations."""

import math

from bench.profiling.allocations import Recorded
from bench.profiling.profile import Observed
from bench.results import Measurement
from bench.scenario import Scenario, Sizes

# The most events of the run that records allocations. Each event makes some hundred allocations, so more
# events would make the record too large. With far fewer events, most of the recorded allocations would
# come from the opening of connections.
EVENTS = 2_000
_NUMBER = "events"  # the size with the number of posted events
TENTH = 0.1  # the share whose error the note states, at 95 %


def measured(scenario: Scenario, sizes: Sizes) -> Measurement:
    """Measure once with a profile, and again with a record of allocations.

    A scenario with several loads, or with a kind of server that cannot be profiled, is measured without
    a profile. Its measurement has a note about this.
    """
    found = scenario.measure(sizes, Observed)
    if found.verdict != "ok":
        return found
    if not found.split:
        return noted(
            found, "not profiled: the scenario has another kind of server, or several loads"
        )
    if _NUMBER in sizes:
        small = scenario.measure(sizes | {_NUMBER: min(sizes[_NUMBER], EVENTS)}, Recorded)
        found.allocations = small.allocations
        for name in ("blocksTakenPerEvent", "bytesTakenPerEvent"):
            if name in small.figures:
                found.figures[name] = small.figures[name]
    samples = found.figures["samples"]
    margin = 1.96 * math.sqrt(TENTH * (1 - TENTH) / samples)
    return noted(
        found,
        f"{samples:,.0f} samples: a share of {TENTH:.0%} is exact to within {margin:.1%};"
        " sampling takes some of the server's CPU",
    )


def noted(measurement: Measurement, said: str) -> Measurement:
    """Return the measurement with a note added."""
    measurement.notes["profile"] = said
    return measurement
