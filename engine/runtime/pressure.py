"""The pressure log: it reports a resource that tasks wait for, and the end of the wait.

A wait is reported when two looks in a row find it. The log only reads gauges.
"""

from collections.abc import Callable, Mapping

import structlog
import trio

EVERY_S = 10.0  # between two looks: a wait that lasts for so long shows in every client's latency

log = structlog.get_logger("angarium.pressure")


class Pressure:
    """`gauges`: by resource, a function that returns how many tasks wait for it now."""

    def __init__(self, gauges: Mapping[str, Callable[[], int]]) -> None:
        self._gauges = gauges
        self._before: set[str] = set()  # waited for at the last look
        self._lasting: set[str] = set()  # logged, and not over

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await trio.sleep(EVERY_S)
            self.look()

    def look(self) -> None:
        """Look once. Log each wait that the look before found too, and each logged wait that is over."""
        waiting = {name: count for name, gauge in self._gauges.items() if (count := gauge())}
        for name in waiting.keys() & self._before - self._lasting:
            self._lasting.add(name)
            log.warning("pressure", waited_for=name, waiting=waiting[name])
        for name in self._lasting - waiting.keys():
            self._lasting.discard(name)
            log.info("pressure.over", waited_for=name)
        self._before = set(waiting)
