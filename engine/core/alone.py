"""What is decided of a delivery that is alone: where nothing else waits, the machine need not be asked.

Of many destinations most have one delivery at a time. What its arrival, its success and their commit
lead to is the same each time; anything else is a matter of `DestinationMachine.commands`.
"""

from collections.abc import Sequence

from engine.core.backlog import Backlog
from engine.core.counters import Counters
from engine.core.destination import Destination
from engine.core.gates import Gates
from engine.core.records import Delivery, Outcome, Settlement
from engine.core.vocabulary import DeliveryStatus


class Alone:
    """The short ways of one machine's deliveries. It owns nothing; `config` is the machine's own."""

    __slots__ = ("_backlog", "_counters", "_gates", "_in_flight")

    def __init__(
        self, backlog: Backlog, gates: Gates, counters: Counters, in_flight: dict[str, Delivery]
    ) -> None:
        self._backlog = backlog
        self._gates = gates
        self._counters = counters
        self._in_flight = in_flight

    def unhindered(self, deliveries: Sequence[Delivery], config: Destination) -> bool:
        """Tell whether what was just committed is one delivery that may `begin`: nothing is in flight or
        waits, and nothing holds it back."""
        if len(deliveries) > 1 or self._in_flight or config.dry_run or not self._rests(config):
            return False
        delivery = deliveries[0]
        fresh = not delivery.attempt_count and delivery.dlq_status is None
        return fresh and self._nothing_waits() and self._backlog.window.passes(delivery)

    def begin(self, delivery: Delivery, now: float) -> None:
        """Take a delivery that is `unhindered`, and begin its attempt."""
        self._counters.arrived(1, now)
        self._backlog.window.let_pass(delivery)
        self._in_flight[delivery.id] = delivery
        self._gates.sent([delivery], now, 1)

    def unmoved_by(self, outcome: Outcome, config: Destination) -> bool:
        """Tell whether nothing but a settlement follows when the only attempt in flight ends so."""
        plain = outcome.success and not outcome.skipped
        return plain and self._rests(config) and self._nothing_waits()

    def unmoved(self, settlements: Sequence[Settlement], config: Destination) -> bool:
        """Tell whether nothing follows when these are durable."""
        delivered = DeliveryStatus.DELIVERED
        return self._rests(config) and not [s for s in settlements if s.status is not delivered]

    def _rests(self, config: Destination) -> bool:
        """Tell whether deliveries go their way unordered, and nothing is to be read."""
        backlog = self._backlog
        plain = backlog.accepting and config.ordering is backlog.ordering
        return plain and backlog.reader.content()

    def _nothing_waits(self) -> bool:
        """Tell whether nothing in memory waits, for its time or for the gates."""
        queue = self._backlog.queue
        return not queue.waits and self._gates.calm and not any(queue.ready)
