"""The lives of a delivery: when it is requeued, it begins a schedule anew. The callers' requests show
when that may have been."""

from collections.abc import Sequence
from math import inf

from tests.sim.oracle.sight import Sight


class Requeues:
    """When a delivery may have been requeued, as intervals from the asking to the telling."""

    def __init__(self, sight: Sight) -> None:
        self._named: dict[str, list[tuple[float, float]]] = {}
        self._any: list[tuple[str, int, float, float]] = []
        for wish in sight.wishes:
            # A caller who has a delivery sent now, by its id, requeues it if it is dead by then.
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
    """Return when a caller may have had a delivery sent ahead of its schedule, as intervals without an
    end: after the request, a lane's head or a rate can keep the delivery back for long."""
    row = sight.deliveries.get(delivery)
    return [
        (wish.asked.at, inf)
        for wish in sight.wishes
        if (wish.asked.kind == "hasten" and delivery in wish.asked.deliveries)
        or (wish.asked.kind == "retry all" and row is not None and wish.asked.of == row.destination)
    ]


def may_be_between(times: Sequence[tuple[float, float]], since: float, until: float) -> bool:
    """Whether a requeue may have been between two instants."""
    return any(asked <= until and told >= since for asked, told in times)
