"""A load generator in a process of its own: `python -m bench.load`, its plan as JSON on stdin.

A bare selector and httptools, bodies made of prepared pieces, so that it costs little beside what it
measures; what it cost, and how late it was, is part of its report, one JSON line.
"""

from bench.load.plan import LANE_SPAN, Plan

__all__ = ["LANE_SPAN", "Plan"]
