"""The pressure log: it reports when tasks wait for a resource, and when such a wait ends.

A wait is reported only if two checks in a row have found it.
"""

from collections.abc import Callable, Mapping

import structlog
import trio

EVERY_S = 10.0  # between two checks: a wait that lasts for so long shows in every client's latency

log = structlog.get_logger("angarium.pressure")


class Pressure:
    """`gauges` maps each resource to a function that returns how many tasks wait for the resource now."""

    def __init__(self, gauges: Mapping[str, Callable[[], int]]) -> None:
        self._gauges = gauges
        self._before: set[str] = set()  # waited for at the last check
        self._lasting: set[str] = set()  # logged, and not over

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            await trio.sleep(EVERY_S)
            self.look()

    def look(self) -> None:
        """Check once."""
        waiting = {name: count for name, gauge in self._gauges.items() if (count := gauge())}
        for name in waiting.keys() & self._before - self._lasting:
            self._lasting.add(name)
            log.warning("pressure.begun", waited_for=name, waiting=waiting[name])
        for name in self._lasting - waiting.keys():
            self._lasting.discard(name)
            log.info("pressure.over", waited_for=name)
        self._before = set(waiting)
