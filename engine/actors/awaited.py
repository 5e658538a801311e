"""The callers that wait until settlements of their deliveries are durable."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import trio

from engine.core.records import Settlement


class Awaited:
    """Owner of the events of waiting callers."""

    def __init__(self) -> None:
        self._events: dict[str, list[trio.Event]] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    @contextmanager
    def of(self, deliveries: Sequence[str]) -> Iterator[list[trio.Event]]:
        """Yield a `trio.Event` for each delivery. The event is set when the delivery's next settlement is
        durable."""
        events = [trio.Event() for _ in deliveries]
        for delivery, event in zip(deliveries, events, strict=True):
            self._events.setdefault(delivery, []).append(event)
        try:
            yield events
        finally:
            for delivery, event in zip(deliveries, events, strict=True):
                waiting = self._events.get(delivery)
                if waiting is not None and event in waiting:
                    waiting.remove(event)
                    if not waiting:
                        del self._events[delivery]

    def settled(self, settlements: Iterable[Settlement]) -> None:
        for settlement in settlements:
            for event in self._events.pop(settlement.delivery.id, ()):
                event.set()
