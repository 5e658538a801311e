"""The load generator, a separate process: `python -m bench.load` with its plan as JSON on stdin.

The generator uses a bare selector and httptools, and assembles bodies from prepared pieces. It therefore
uses far less CPU than the measured server. The generator prints a report of one JSON line, which includes
its own CPU and delays.
"""

from bench.load.plan import LANE_SPAN, Plan

__all__ = ["LANE_SPAN", "Plan"]
