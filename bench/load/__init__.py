"""The load generator, a separate process: `python -m bench.load` with its plan as JSON on stdin.

It uses a bare selector and httptools, and bodies of prepared pieces, so that it costs little next to
the measured server. Its report, one JSON line, includes its own CPU and its lateness.
"""

from bench.load.plan import LANE_SPAN, Plan

__all__ = ["LANE_SPAN", "Plan"]
