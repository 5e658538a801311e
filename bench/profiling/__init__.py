"""Profiles of the server: CPU by stage, module and statement, allocations, and the depths of queues.

`profiled` measures a scenario with all of these. `sampler`, `depths` and `recording` run within the
server and import nothing else of the bench; the other modules read their output.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.results import Measurement
    from bench.scenario import Scenario, Sizes


def profiled(scenario: "Scenario", sizes: "Sizes") -> "Measurement":
    """Measure once, profiled; then, at a small size, what memory is taken. See `bench.profiling.run`."""
    from bench.profiling.run import measured  # not in the server, which imports this package too

    return measured(scenario, sizes)
