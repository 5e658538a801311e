"""A group of submissions: the rows that one statement writes, and the claims of idempotency keys.

If several events of a group claim the same key, the first event gets the key. The other events are called
twins. The statement writes neither the twins nor their claims.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from engine.core.records import Delivery, Event
from engine.model.identity import Identity
from engine.ports import Acceptance, Claimed, IntakeGroup, KeyClaim, NewCustomer
from engine.submission.submission import KEY_HELD_MS, Submission

KNOWN_ACCOUNTS = 100_000  # remembered as open: about 15 MB; beyond that, the set is cleared

Twins = dict[str, tuple[KeyClaim, KeyClaim]]  # by event: the first claim, and the event's own


class IntakeStatistics(Struct, frozen=True):
    """Counts since the start, and what waits now."""

    groups: int
    events: int
    deliveries: int
    waiting_events: int
    waiting_bytes: int
    refused: int
    away: bool


def grouped(submissions: Iterable[Submission], now_ms: int) -> tuple[IntakeGroup, Twins]:
    """Make one group of submissions. The caller sets the group's `customers` and `dirty`."""
    group = IntakeGroup([], [], [], [], [], now_ms=now_ms)
    events, deliveries = group.events, group.deliveries
    first: dict[tuple[int, str], KeyClaim] = {}
    twins: Twins = {}
    for submission in submissions:
        events += submission.events
        deliveries += submission.deliveries
        if submission.files:
            group.files += submission.files
        for claim in submission.claims:
            # Raise an expiry that is too early. `claim_of` computed it from the time in the event id,
            # which can be behind `now_ms`. The store compares the expiry with `now_ms`.
            claim.expires_at_ms = max(claim.expires_at_ms, now_ms + KEY_HELD_MS)
            winner = first.setdefault((claim.environment, claim.key), claim)
            if winner is not claim:
                twins[claim.event] = (winner, claim)
    if twins:
        group.events = [event for event in group.events if event.id not in twins]
        group.deliveries = [each for each in group.deliveries if each.event.id not in twins]
        group.files = [file for file in group.files if file.event not in twins]
    group.claims = list(first.values())
    return group, twins


def with_twins(acceptance: Acceptance, twins: Twins) -> tuple[dict[str, Claimed], frozenset[str]]:
    """Return `acceptance.lost` and `acceptance.unheld` (see `Acceptance`), with the group's twins added.
    A twin is a further event with the idempotency key of an earlier event of the group.

    - If the earlier event was written, it holds the key. The twin is added to `lost` with this event.
    - If the earlier event is in `lost`, an event outside of the group holds the key. The twin is added to
      `lost` with that event.
    - If the earlier event is in `unheld`, the twin is added to `unheld`. It is also added to `lost`, but
      callers must look into `unheld` first.
    """
    lost, unheld = acceptance.lost, acceptance.unheld
    if twins:
        lost = lost | {
            event: lost.get(winner.event) or Claimed(winner.event, winner.deliveries, winner.digest)
            for event, (winner, _) in twins.items()
        }
    if unheld:
        unheld |= {event for event, (winner, _) in twins.items() if winner.event in unheld}
    return lost, unheld


def written(group: IntakeGroup, acceptance: Acceptance) -> list[Delivery]:
    """Return the group's deliveries that are durable, each with its seq."""
    for seq, delivery in enumerate(group.deliveries, acceptance.base):
        delivery.seq = seq
    absent = acceptance.lost.keys() | acceptance.unheld
    if not absent:
        return group.deliveries
    return [each for each in group.deliveries if each.event.id not in absent]


class KnownAccounts:
    """The customers that are known to have an account."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._open: set[tuple[int, str]] = set()

    def new_of(self, events: Iterable[Event]) -> list[NewCustomer]:
        """Return a row for each customer that may have no account."""
        new = {
            (event.environment, event.customer) for event in events if event.customer is not None
        } - self._open
        return [
            NewCustomer(environment, external_id, self._identity.other())
            for environment, external_id in sorted(new)
        ]

    def opened(self, customers: Sequence[NewCustomer]) -> None:
        if len(self._open) + len(customers) > KNOWN_ACCOUNTS:
            self._open.clear()
        self._open.update((each.environment, each.external_id) for each in customers)
