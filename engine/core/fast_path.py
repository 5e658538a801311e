"""The fast path: a single delivery is sent as soon as it arrives, without `DestinationMachine.commands`.

The fast path is open only while `commands` would send every arriving delivery at once.
"""

from collections.abc import Sequence

from engine.core.backlog import Backlog
from engine.core.counters import Counters
from engine.core.destination import Destination
from engine.core.records import Delivery, Outcome
from engine.core.throttle import Throttle


class FastPath:
    """The fast path of one state machine. Each call of `commands` opens or closes the fast path.
    Deliveries on the fast path, their outcomes, and commits can be handled without a call of `commands`.
    After any other message, the actor calls `commands`."""

    __slots__ = ("_backlog", "_counters", "_in_flight", "open")

    def __init__(
        self, backlog: Backlog, counters: Counters, in_flight: dict[str, Delivery]
    ) -> None:
        self._backlog = backlog
        self._counters = counters
        self._in_flight = in_flight
        self.open = False

    def update(self, config: Destination, throttle: Throttle) -> None:
        backlog = self._backlog
        queue = backlog.queue
        waits = queue.waits or queue.any_ready() or config.dry_run
        self.open = not waits and throttle.calm and backlog.settled_by_commit(config)

    def admits(self, deliveries: Sequence[Delivery]) -> bool:
        """Return True if there is only one delivery, and it can take the fast path. `deliveries` were
        committed just now."""
        delivery = deliveries[0]
        fresh = not delivery.attempt_count and delivery.dlq_status is None
        lone = self.open and len(deliveries) == 1 and not self._in_flight
        return lone and fresh and self._backlog.window.passes(delivery)

    def begin(self, delivery: Delivery, now: float) -> None:
        self._counters.arrived(1, now)
        self._backlog.window.let_pass(delivery)
        self._in_flight[delivery.id] = delivery

    def settles(self, outcome: Outcome) -> bool:
        """Return True if this outcome needs no decision: it only has to be recorded."""
        return self.open and outcome.success and not outcome.skipped
