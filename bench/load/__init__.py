"""The load generator, a separate process: `python -m bench.load` with its plan as JSON on stdin.

It uses a bare selector and httptools, and assembles bodies from prepared pieces: it costs far less than
the measured server. Its report is one JSON line; it includes the generator's own CPU and delays.
"""

from bench.load.plan import LANE_SPAN, Plan

__all__ = ["LANE_SPAN", "Plan"]
