"""The profiles of the server: CPU by stage, module and statement, allocations, and depths of queues.

`sampler`, `depths` and `recording` run within the server and import no other module of the bench.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.results import Measurement
    from bench.scenario import Scenario, Sizes


def profiled(scenario: "Scenario", sizes: "Sizes") -> "Measurement":
    """Measure once with a profile, then the allocations at a small size."""
    from bench.profiling.run import measured  # the server imports this package

    return measured(scenario, sizes)
