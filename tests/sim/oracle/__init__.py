"""The oracle: it finds the promises that a simulated history breaks.

It reads only `tests.sim.trace` and shares no code with the engine: it knows schedules, patterns and lanes
from the contract. If an observer cannot know which of two things happened, both are allowed. Each such
allowance is stated where it is made.
"""

from tests.sim.oracle.promises import violations

__all__ = ["violations"]
