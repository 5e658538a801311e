"""A load generator in a process of its own: `python -m bench.load`, its plan as JSON on stdin.

It uses a bare selector and httptools, and bodies of prepared pieces, so that it costs little beside the
measured server. Its report, one JSON line, includes its own cost and its lateness.
"""

from bench.load.plan import LANE_SPAN, Plan

__all__ = ["LANE_SPAN", "Plan"]
