"""The requeues of a delivery: each restarts its schedule."""

from collections.abc import Sequence
from math import inf

from tests.sim.oracle.sight import Sight


class Requeues:
    """The intervals in which deliveries may have been requeued. Each interval is from the request of a
    requeue to the answer."""

    def __init__(self, sight: Sight) -> None:
        self._named: dict[str, list[tuple[float, float]]] = {}
        self._any: list[tuple[str, int, float, float]] = []
        for wish in sight.wishes:
            # A request to send a delivery at once (`hasten`) requeues the delivery if the delivery is
            # dead.
            if wish.asked.kind not in ("requeue", "hasten") or wish.answer == "refused":
                continue
            # A request without a known answer can take effect at any later time.
            until = wish.end if wish.answer == "done" else inf
            named = wish.asked.deliveries
            if wish.answer == "done" and wish.told is not None and wish.told.ids:
                named = wish.told.ids
            for delivery in named:
                self._named.setdefault(delivery, []).append((wish.asked.at, until))
            if not named:
                asked = wish.asked
                self._any.append((asked.of, asked.environment, asked.at, until))

    def times(self, delivery: str, destination: str, environment: int) -> list[tuple[float, float]]:
        """Return when a delivery may have been requeued."""
        return [
            *self._named.get(delivery, ()),
            *(
                (since, until)
                for of, place, since, until in self._any
                if place == environment and of in ("", destination)
            ),
        ]


def asked_for(sight: Sight, delivery: str) -> list[tuple[float, float]]:
    """Return the intervals in which a delivery may have been sent before its time because a caller asked
    for it. An interval begins with the caller's request. It has no end, because the delivery may have to
    wait for another delivery of its lane or for the rate limit."""
    row = sight.deliveries.get(delivery)
    return [
        (wish.asked.at, inf)
        for wish in sight.wishes
        if (wish.asked.kind == "hasten" and delivery in wish.asked.deliveries)
        or (wish.asked.kind == "retry all" and row is not None and wish.asked.of == row.destination)
    ]


def may_be_between(times: Sequence[tuple[float, float]], since: float, until: float) -> bool:
    return any(asked <= until and told >= since for asked, told in times)
