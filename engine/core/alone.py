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
from engine.core.verdict import delivered
from engine.core.vocabulary import DeliveryStatus
from engine.core.window import Window


class Alone:
    """The short ways of one machine's deliveries. They are open, or not, as of the last `commands`: what
    is told between two of these comes by short ways alone, and leaves them open."""

    __slots__ = ("_counters", "_in_flight", "_uncommitted", "_window", "content", "open")

    def __init__(
        self,
        window: Window,
        counters: Counters,
        in_flight: dict[str, Delivery],
        uncommitted: dict[str, Delivery],
    ) -> None:
        self._window = window
        self._counters = counters
        self._in_flight = in_flight
        self._uncommitted = uncommitted
        self.content = False  # deliveries go their way unordered, and nothing is to be read
        self.open = False  # and nothing waits, for its time or for the gates

    def look(self, config: Destination, backlog: Backlog, gates: Gates) -> None:
        """Take note of how things stand."""
        plain = backlog.accepting and config.ordering is backlog.ordering
        self.content = plain and backlog.reader.content()
        queue = backlog.queue
        waits = queue.waits or any(queue.ready) or config.dry_run
        self.open = self.content and not waits and gates.calm

    def unhindered(self, deliveries: Sequence[Delivery]) -> bool:
        """Tell whether what was just committed is one delivery that may `begin`."""
        delivery = deliveries[0]
        fresh = not delivery.attempt_count and delivery.dlq_status is None
        alone = self.open and len(deliveries) == 1 and not self._in_flight
        return alone and fresh and self._window.passes(delivery)

    def begin(self, delivery: Delivery, now: float) -> None:
        """Take a delivery that is `unhindered`, and begin its attempt."""
        self._counters.arrived(1, now)
        self._window.let_pass(delivery)
        self._in_flight[delivery.id] = delivery

    def unmoved_by(self, outcome: Outcome) -> bool:
        """Tell whether nothing but a settlement follows when the only attempt in flight ends so."""
        return self.open and outcome.success and not outcome.skipped

    def succeed(self, delivery: Delivery, outcome: Outcome, version: int, now: float) -> Settlement:
        """Settle the success of an attempt that was in flight."""
        settlement = delivered(delivery, outcome, version, now)
        delivery.attempt_count += 1
        delivery.next_attempt_at = None
        self._uncommitted[delivery.id] = delivery
        self._counters.succeeded(outcome.duration_ms, now)
        return settlement

    def unmoved(self, settlements: Sequence[Settlement]) -> bool:
        """Tell whether nothing follows when these are durable."""
        done = DeliveryStatus.DELIVERED
        return self.content and not [each for each in settlements if each.status is not done]
