"""The oracle: what of the promises a simulated history breaks.

It reads `tests.sim.trace` alone and shares no code with the engine: what it knows of schedules, patterns
and lanes it knows from the contract. Where an observer cannot know which of two things happened, both
are allowed; each such allowance is said where it is made.
"""

from tests.sim.oracle.promises import violations

__all__ = ["violations"]
