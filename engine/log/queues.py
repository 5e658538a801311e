"""The queues of waiting deliveries as callers see them: lanes, places in a lane, and reasons for a wait.

They are read from the store and not from actors, because a destination without an actor also has a queue.
"""

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Protocol

from msgspec import Struct

from engine.core.health import CircuitState, Health, Hold, HoldReason
from engine.core.vocabulary import DeliveryStatus
from engine.log.delivery_log import DeliveryEntry


class LaneKind(Enum):
    """The kind of a lane: what its deliveries have in common."""

    CUSTOMER = "c"
    CORRELATION = "k"
    SOURCE = "s"
    DESTINATION = ""  # ordering STRICT: all deliveries of the destination


class LaneEntry(Struct, frozen=True, kw_only=True):
    """A lane in which deliveries wait. `depth` counts them, including the head."""

    kind: LaneKind
    key: str | None  # None for the only lane of a STRICT destination
    head: str
    head_seq: int
    depth: int


class LaneList(Struct, frozen=True):
    """Lanes in the order of their heads. `whole`: all waiting deliveries were examined."""

    items: list[LaneEntry]
    whole: bool


class QueuePlace(Struct, frozen=True, kw_only=True):
    """The place of a waiting delivery.

    - `kind`: the kind of its lane. None if its destination has no lanes, or if its event has no key.
    - `ahead`: how many deliveries precede it in its lane, or in its priority class if it has no lane.
      None if this number is not known, because a read examines a bounded number of deliveries.
    - `head`: the id of the lane's head.
    """

    kind: LaneKind | None = None
    key: str | None = None
    ahead: int | None = None
    head: str | None = None


class QueueLog(Protocol):
    """Reads of waiting deliveries. Every method can raise StoreAwayError."""

    async def lanes(
        self, environment: int, destination: str, *, strict: bool, after: int, limit: int
    ) -> LaneList:
        """Return lanes of an ordered destination whose heads have a seq above `after`."""

    async def place(
        self, environment: int, delivery: str, *, ordered: bool, strict: bool
    ) -> QueuePlace:
        """Return the place of a delivery. If the delivery does not wait, all fields of the place are
        None."""

    async def oldest(
        self, environment: int, destinations: Sequence[str], sent: Collection[str]
    ) -> dict[str, float]:
        """Return when the oldest waiting delivery of each destination was created, in Unix time.

        `sent`: the deliveries in flight, which do not wait. Only the oldest unsettled deliveries of each
        destination are examined. If no examined delivery of a destination waits, the destination is
        missing from the result.
        """


def lane_of(stored: str | None, *, strict: bool) -> tuple[LaneKind | None, str | None]:
    """Return the kind and the key of a delivery's lane. `stored` is the lane in the delivery's row, in
    the form of `engine.core.records.Event.lane`."""
    if strict:
        return LaneKind.DESTINATION, None
    if stored is None:
        return None, None
    return LaneKind(stored[0]), stored[2:]


class Gate(Enum):
    """A gate that a waiting delivery must pass before it is sent. A list of gates is sorted in the order
    of this enumeration."""

    DISABLED = "the destination is not ACTIVE"
    LANE = "another delivery is the head of its ordered lane"
    SCHEDULE = "its next attempt is not due"
    RETRY_AFTER = "the receiver asked for a pause"
    CIRCUIT = "the circuit is open, or a probe is under way"
    RATE = "the rate limit is used up"
    CONCURRENCY = "all slots of the destination are in use"
    QUEUE = "other deliveries of its priority class go first"
    STORE = "outcomes cannot be recorded"


class GateWait(Struct, frozen=True, kw_only=True):
    """A delivery's wait at one gate. `until_s`: when the wait ends, in Unix time; None if not known.
    `blocked_by`: at the gate LANE, the id of the lane's head; None at other gates."""

    gate: Gate
    detail: str
    until_s: float | None = None
    blocked_by: str | None = None


_HOLDS = {
    HoldReason.DISABLED: (
        Gate.DISABLED,
        "The destination is not active. Enable it to send.",
    ),
    HoldReason.RETRY_AFTER: (Gate.RETRY_AFTER, "The receiver asked for a pause with Retry-After."),
    HoldReason.RATE: (Gate.RATE, "The destination's rate limit is used up."),
    HoldReason.STORE: (Gate.STORE, "Outcomes cannot be recorded at present. Check the database."),
}


def waits_of(
    entry: DeliveryEntry, place: QueuePlace, health: Health | None, now: float
) -> list[GateWait]:
    """Return the gates that hold a delivery back now, each as a `GateWait`. The list is empty if the
    delivery is in flight, has ended, or can be sent now."""
    if entry.status not in (DeliveryStatus.PENDING, DeliveryStatus.RETRYING):
        return []
    waits = []
    if place.kind is not None and place.head not in (None, entry.id):
        waits.append(_behind(place))
    due_s = None if entry.next_attempt_at_ms is None else entry.next_attempt_at_ms / 1000
    if entry.status is DeliveryStatus.RETRYING and due_s is not None and due_s > now:
        waits.append(
            GateWait(gate=Gate.SCHEDULE, detail=f"{_failure(entry)} The schedule sets the next attempt.",
                 until_s=due_s)
        )  # fmt: skip
    if health is not None:
        waits += _holds(health)
        if health.in_flight >= health.concurrency:
            slots = health.concurrency
            detail = f"{health.in_flight} attempts are under way, and concurrency is {slots}."
            waits.append(GateWait(gate=Gate.CONCURRENCY, detail=detail))
    if place.kind is None and place.ahead:
        detail = f"{place.ahead} deliveries of its priority class go first."
        waits.append(GateWait(gate=Gate.QUEUE, detail=detail))
    order = list(Gate)
    return sorted(waits, key=lambda wait: order.index(wait.gate))


def held_until(hold: Hold | None, due_s: float | None) -> float | None:
    """Return when a delivery's next attempt can begin at the earliest: at `due_s`, or at the end of the
    destination's hold if the hold ends later. None if neither instant is known."""
    until = None if hold is None else hold.until
    return until if due_s is None else max(due_s, until or due_s)


def _behind(place: QueuePlace) -> GateWait:
    lane = "The destination's order is STRICT"
    if place.kind is not LaneKind.DESTINATION and place.kind is not None:
        lane = f"Its lane ({place.kind.name.lower()} {place.key!r}) is ordered"
    return GateWait(gate=Gate.LANE, detail=f"{lane}: another delivery goes first.",
                blocked_by=place.head)  # fmt: skip


def _holds(health: Health) -> list[GateWait]:
    hold, waits = health.hold, []
    if hold is not None and hold.reason in _HOLDS:
        gate, detail = _HOLDS[hold.reason]
        waits.append(GateWait(gate=gate, detail=detail, until_s=hold.until))
    if health.circuit is CircuitState.OPEN:
        failures = health.consecutive_failures
        detail = (
            f"The circuit is open after {failures} failures in a row. One delivery probes next."
        )
        waits.append(GateWait(gate=Gate.CIRCUIT, detail=detail, until_s=health.next_probe_at))
    elif health.circuit is CircuitState.HALF_OPEN:
        detail = (
            "The circuit is half open: one delivery probes, and the others wait for its outcome."
        )
        waits.append(GateWait(gate=Gate.CIRCUIT, detail=detail))
    return waits


def _failure(entry: DeliveryEntry) -> str:
    if entry.response_status is not None:
        return f"Attempt {entry.attempt_count} was answered with HTTP {entry.response_status}."
    category = "" if entry.error_category is None else f" with {entry.error_category.name}"
    return f"Attempt {entry.attempt_count} failed{category}."
