"""Order: while a destination has an ordering, the deliveries of each lane succeed in the order of their
seqs. Only the first success of a delivery counts. A delivery that was accepted later has a higher seq."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from msgspec import Struct

from tests.sim.oracle.lives import Requeues, may_be_between
from tests.sim.oracle.sight import NETWORK_S, Request, Sending, Sight
from tests.sim.trace import Configured, DeliveryRow


class Passage(Struct):
    """A delivery's passage through its lane. `success`: the delivery's first success. `free_at`: the
    instant from which the deliveries behind it in the lane can be sent."""

    row: DeliveryRow
    success: Sending | None
    free_at: float


class Reign(Struct):
    """A period in which a destination has one ordering, from the time when all processes know it."""

    ordering: str
    since: float
    until: float


def judge(sight: Sight) -> Iterator[str]:
    requeues = Requeues(sight)
    by_destination: dict[str, list[DeliveryRow]] = defaultdict(list)
    for row in sight.rows.deliveries:
        by_destination[row.destination].append(row)
    for destination, rows in by_destination.items():
        rows.sort(key=lambda row: row.seq)
        if len({row.seq for row in rows}) < len(rows):
            yield f"two deliveries of {destination} have one seq"
        for reign in _reigns(sight, destination):
            yield from _lanes(sight, reign, rows, requeues)
    yield from _accepted_in_order(sight, requeues)


def _reigns(sight: Sight, destination: str) -> Iterator[Reign]:
    since, ordering = 0.0, ""
    for version in sight.destinations.get(destination, []):
        fact = version.fact
        assert isinstance(fact, Configured)
        if not ordering:
            ordering = fact.ordering
        elif fact.ordering != ordering:
            if ordering != "NONE":
                yield Reign(ordering, since, fact.at)
            since, ordering = version.known_by(None) + NETWORK_S, fact.ordering
    if ordering not in ("", "NONE"):
        yield Reign(ordering, since, inf)


def _lanes(
    sight: Sight, reign: Reign, rows: list[DeliveryRow], requeues: Requeues
) -> Iterator[str]:
    lanes: dict[str, list[Passage]] = defaultdict(list)
    for row in rows:
        lane = "" if reign.ordering == "STRICT" else row.lane
        if lane is not None and row.origin != "INSPECTION":
            lanes[lane].append(_passage(sight, row, requeues))
    for passages in lanes.values():
        ahead: Passage | None = None  # the earlier passage that freed the lane last
        for passage in passages:
            first = passage.success
            overtook = first is not None and ahead is not None and first.at < ahead.free_at
            if overtook and first and ahead and _counts(sight, reign, first):
                yield (
                    f"delivery {passage.row.id} (seq {passage.row.seq}) of "
                    f"{passage.row.destination} overtook {ahead.row.id} (seq {ahead.row.seq})"
                )
            if ahead is None or passage.free_at > ahead.free_at:
                ahead = passage


def _counts(sight: Sight, reign: Reign, sending: Sending) -> bool:
    return reign.since <= sending.at <= reign.until and sight.reigned(sending)


def _passage(sight: Sight, row: DeliveryRow, requeues: Requeues) -> Passage:
    """Return a delivery's passage through its lane (see `Passage`).

    A requeue gives the delivery another seq, and thereby another position in its lane. The passage is
    about the position after the requeue. So a request that was perhaps sent before the requeue is not
    taken as the delivery's success. A request of a process that perhaps did not own the database has no
    effect on the passage.
    """
    sent = [
        each
        for each in sight.of_delivery.get(row.id, [])
        if each.arrived.number > row.schedule_start
    ]
    former = [each for each in sent if _former(sight, row, each, requeues)]
    mine = [each for each in sent if each not in former]
    good = [each for each in mine if each.good and sight.reigned(each)]
    if good:
        first = min(good, key=lambda each: each.at)
        # It is not known whether the requests in `former` were sent before or after the requeue. If such
        # a request was sent after the requeue and succeeded, its success has freed the lane.
        freed = [*good, *(each for each in former if each.good and sight.reigned(each))]
        # If the process that sent a successful request still owned the database when it got the answer,
        # the lane is free from this answer on. If there is no such request, it is unknown when the lane
        # became free. The oracle then takes an instant that is surely not too late: `at` of the first
        # successful request.
        told = [each.end for each in freed if each.heard and _owned(sight, each)]
        return Passage(row, first, min(told or [each.at for each in freed]))
    known = [
        each.end if each.heard and _owned(sight, each) else each.at
        for each in mine
        if sight.reigned(each)
    ]
    if row.status in ("PENDING", "RETRYING"):
        return Passage(row, None, inf)
    return Passage(row, None, max(known, default=-inf))


def _former(sight: Sight, row: DeliveryRow, sending: Sending, requeues: Requeues) -> bool:
    """Return True if a request of a requeued delivery may have been sent before the requeue.

    The attempt's number does not always show this. If a process was killed before it recorded an attempt,
    the first attempt after the requeue gets the number of the unrecorded attempt again.
    """
    if not row.schedule_start and row.dlq_status != "RETRIED_FROM_DLQ":
        return False
    number = sending.arrived.number
    if any(
        sending in sight.maker(attempt)
        for attempt in sight.attempts.get(row.id, [])
        if attempt.number == number
    ):
        return False
    again = [
        each.at
        for each in sight.of_delivery[row.id]
        if each.arrived.number == number and each.at > sending.at
    ]
    times = requeues.times(row.id, row.destination, row.environment)
    return may_be_between(times, sending.at, min(again, default=inf))


def _owned(sight: Sight, sending: Sending) -> bool:
    return sending.end < sight.processes[sending.arrived.process].doubted_at


def _accepted_in_order(sight: Sight, requeues: Requeues) -> Iterator[str]:
    seqs: dict[str, list[int]] = defaultdict(list)
    for row in sight.rows.deliveries:
        requeued = row.dlq_status == "RETRIED_FROM_DLQ" or row.schedule_start > 0
        # If a delivery is requeued, and then discarded before its next attempt, its row shows no requeue.
        if row.dlq_status == "DISCARDED":
            requeued |= bool(requeues.times(row.id, row.destination, row.environment))
        if row.origin == "NORMAL" and not requeued:  # a requeue gives a delivery a new seq
            seqs[row.event].append(row.seq)
    keys = Counter(
        (request.posted.environment, item.key)
        for request in sight.requests
        for item in request.posted.items
    )
    moments: list[tuple[int, Request, list[int]]] = []
    for request in sight.requests:
        if request.answered is None or request.answered_index is None:
            continue
        if request.answer != "accepted":
            continue
        own = [
            seqs.get(identifier, [])
            for item, identifier in zip(request.posted.items, request.answered.ids, strict=False)
            if item.key is None or keys[request.posted.environment, item.key] == 1
        ]
        for one, after in pairwise(each for each in own if each):
            if max(one) > min(after):
                yield f"request {request.posted.request}'s events are not in order of their places"
        if known := [seq for each in own for seq in each]:
            moments += [(request.index, request, known), (request.answered_index, request, known)]
    highest = -1
    for index, request, known in sorted(moments, key=lambda moment: moment[0]):
        if index == request.answered_index:
            highest = max(highest, *known)
        elif min(known) < highest:
            yield f"request {request.posted.request} was posted after another's answer, and is before it"
