"""The announcer: it makes Angarium's own events from outcomes and snapshots that became durable.

Deliveries of own events announce nothing, so that no own event causes another.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from engine.core.destination import Destination
from engine.core.records import Settlement
from engine.core.snapshot import CircuitSnapshot, Snapshot, decode
from engine.core.vocabulary import DeliveryOrigin, Origin
from engine.model.instants import iso
from engine.ports import SnapshotWrite

DISABLED = "angarium.destination.disabled"
CIRCUIT_OPENED = "angarium.destination.circuit_opened"
CIRCUIT_CLOSED = "angarium.destination.circuit_closed"
FAILING = "angarium.destination.failing"
RECOVERED = "angarium.destination.recovered"
DEAD_LETTERS = "angarium.destination.dead_letters"
DEAD_LETTERED = "angarium.delivery.dead_lettered"


class AnnounceOnce(Protocol):
    """The function that queues one of Angarium's own events; see `OwnEvents.announce_once`."""

    def __call__(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None,
        occasion: str,
        hops: int = 0,
    ) -> None:
        """Queue an event for the intake. The event is dropped if an event of the same type and `occasion`
        was accepted within 24 hours. `hops`: the hops of the event that caused this one."""


class Announcer:
    """The maker of Angarium's own events. `find` returns a destination's present configuration."""

    def __init__(self, announce: AnnounceOnce, find: Callable[[str], Destination | None]) -> None:
        self._announce = announce
        self._find = find

    def dead(self, settlements: Sequence[Settlement]) -> None:
        """Announce deliveries that are in the DLQ now."""
        for settlement in settlements:
            delivery = settlement.delivery
            event = delivery.event
            if event.origin is Origin.OWN or delivery.origin is DeliveryOrigin.INSPECTION:
                continue
            category = settlement.error_category
            attempts = settlement.expects + (settlement.attempt is not None)
            self._say(
                event.environment,
                DEAD_LETTERED,
                delivery.destination,
                {
                    "deliveryId": delivery.id,
                    "eventId": event.id,
                    "eventType": event.type,
                    "attemptCount": attempts,
                    "errorCategory": None if category is None else category.name,
                    "responseStatus": settlement.response_status,
                    "lastError": settlement.last_error,
                    "deadLetteredAt": iso(int(settlement.at * 1000)),
                },
                f"{delivery.id}:{attempts}",
                event.hops,
            )

    def snapshots(self, writes: Sequence[SnapshotWrite]) -> None:
        """Announce circuits that opened or closed since the previous snapshot, and destinations that
        began to fail or recovered."""
        for write in writes:
            after = decode(write.state)
            if after is not None:
                before = decode(write.before)
                self._circuit(write, before, after)
                self._failing(write, before, after)

    def _circuit(self, write: SnapshotWrite, before: Snapshot | None, after: Snapshot) -> None:
        was, is_ = _open_circuit(before), _open_circuit(after)
        if was is None and is_ is not None:
            opened = iso(int(is_.opened_at * 1000))
            payload = {"openedAt": opened, "nextProbeAt": iso(int(is_.next_probe_at * 1000))}
            self._say(write.environment, CIRCUIT_OPENED, write.destination, payload, opened)
        elif was is not None and is_ is None and after.circuit is None:
            opened = iso(int(was.opened_at * 1000))
            payload = {"openedAt": opened, "closedAt": iso(int(after.taken_at * 1000))}
            self._say(write.environment, CIRCUIT_CLOSED, write.destination, payload, opened)

    def _failing(self, write: SnapshotWrite, before: Snapshot | None, after: Snapshot) -> None:
        was, is_ = _failing_since(before), _failing_since(after)
        if was is None and is_ is not None:
            counters, row = after.counters, after.row
            since = iso(int(is_ * 1000))
            payload = {
                "failingSince": since,
                "consecutiveFailures": 0 if row is None else row.failures,
                "lastError": None if counters is None else counters.last_error,
            }
            self._say(write.environment, FAILING, write.destination, payload, since)
        elif was is not None and is_ is None:
            since = iso(int(was * 1000))
            payload = {"failingSince": since, "recoveredAt": iso(int(after.taken_at * 1000))}
            self._say(write.environment, RECOVERED, write.destination, payload, since)

    def disabled(self, destination: str, environment: int, at_ms: int, reason: str) -> None:
        """Announce that a destination was disabled. `reason`: `GONE` (the receiver answered 410),
        `FAILING` (the receiver failed for too long), or `CALLER` (a caller disabled the destination)."""
        at = iso(at_ms)
        payload = {"reason": reason, "disabledAt": at}
        self._say(environment, DISABLED, destination, payload, at)

    def _say(
        self,
        environment: int,
        event_type: str,
        destination: str,
        payload: dict[str, Any],
        occasion: str,
        hops: int = 0,
    ) -> None:
        known = self._find(destination)
        about = {
            "destinationId": destination,
            "destinationName": None if known is None else known.name,
        }
        customer = None if known is None else known.customer
        subject = f"{destination}:{occasion}"
        self._announce(environment, event_type, {**about, **payload}, customer, subject, hops)


def _open_circuit(snapshot: Snapshot | None) -> CircuitSnapshot | None:
    if snapshot is None or snapshot.circuit is None or snapshot.circuit.quiet:
        return None
    return snapshot.circuit


def _failing_since(snapshot: Snapshot | None) -> float | None:
    """Return since when a destination has been failing: the time of its first failed attempt. Return None
    if the destination does not count as failing, or if only deliveries of Angarium's own events have
    failed, which is not announced."""
    if snapshot is None or snapshot.row is None or snapshot.row.quiet:
        return None
    row = snapshot.row
    return row.since if row.since is None or row.began_at is None else row.began_at
