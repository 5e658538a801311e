"""The oracle: it finds the promises that a simulated history breaks.

It reads only `tests.sim.trace` and shares no code with the engine. If an observer cannot know which of
two things happened, both are allowed, and the code says so.
"""

from tests.sim.oracle.promises import violations

__all__ = ["violations"]
