"""A store that holds one destination's rows, and is as strict as the real SQL statements."""

from copy import copy
from dataclasses import dataclass, field

from engine.core.commands import AnyRequest, DeadRequest, DueRequest, NamedRequest
from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryStatus, DlqStatus

EXAMINED = 15  # the most rows that a read looks at
UNSETTLED = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


@dataclass
class Row:
    """A delivery as the store holds it."""

    delivery: Delivery  # as accepted; readers get a copy
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempt_count: int = 0
    next_attempt_at: float | None = None
    dlq: DlqStatus | None = None
    not_before: float = 0.0  # the earliest next attempt by the schedule, as the test computes it
    after_commit: float = 0.0  # the next value of `not_before`, once the failure is recorded
    ended: bool = False  # 2xx, 410 or quarantine: no attempt may follow

    @property
    def seq(self) -> int:
        return self.delivery.seq

    def read(self) -> Delivery:
        delivery = copy(self.delivery)
        delivery.attempt_count = self.attempt_count
        delivery.next_attempt_at = self.next_attempt_at
        delivery.dlq_status = self.dlq
        return delivery


Answer = tuple[list[Delivery], int, dict[str, int], bool]


@dataclass
class Store:
    """Rows in order of seq. `open`: the unsettled ones."""

    rows: dict[str, Row] = field(default_factory=dict)
    open: dict[str, Row] = field(default_factory=dict)
    last_seqs: dict[int, int] = field(default_factory=dict)

    def accept(self, delivery: Delivery) -> None:
        """Insert a row. Seqs must rise."""
        self.rows[delivery.id] = self.open[delivery.id] = Row(delivery)
        self.last_seqs[delivery.queue] = delivery.seq

    def requeue(self, identifier: str, seq: int) -> Delivery:
        """Requeue a delivery as the SQL statement does. The delivery leaves the DLQ, gets a fresh
        schedule, and goes to the tail. Return its row.
        """
        row = self.rows[identifier]
        assert row.status is DeliveryStatus.FAILED
        assert row.dlq is DlqStatus.IN_DLQ
        row.delivery = copy(row.delivery)
        row.delivery.seq = seq
        row.delivery.schedule_start = row.attempt_count
        row.status, row.dlq = DeliveryStatus.PENDING, DlqStatus.RETRIED_FROM_DLQ
        row.not_before = row.after_commit = 0.0
        row.ended = False
        self.open[identifier] = row  # at the end of the order: it was not in `open`
        self.last_seqs[row.delivery.queue] = seq
        return row.read()

    def write(self, settlement: Settlement) -> None:
        """Settle a delivery. An assertion fails if the SQL statement would refuse the settlement."""
        row = self.rows[settlement.delivery.id]
        if settlement.attempt is not None:
            assert settlement.attempt.number == settlement.expects + 1
        dead = row.status is DeliveryStatus.FAILED and row.dlq is DlqStatus.IN_DLQ
        discard = settlement.dlq_status is DlqStatus.DISCARDED
        assert row.attempt_count == settlement.expects, "a settlement would be refused"
        assert row.seq == settlement.delivery.seq, "a settlement of a former life"
        assert row.status in UNSETTLED or (dead and discard), "settled twice"
        row.status = settlement.status
        row.dlq = settlement.dlq_status
        row.next_attempt_at = settlement.next_attempt_at
        if settlement.attempt is not None:
            row.attempt_count = settlement.attempt.number
            row.not_before = row.after_commit
        if row.status not in UNSETTLED:
            self.open.pop(settlement.delivery.id, None)
        assert (row.status is DeliveryStatus.RETRYING) == (row.next_attempt_at is not None)

    def execute(self, request: AnyRequest) -> Answer:
        rows = list(self.open.values())
        if isinstance(request, DueRequest):
            due = sorted(
                (row.next_attempt_at, row.seq, row)
                for row in rows
                if row.next_attempt_at is not None
                and (request.after or 0.0) < row.next_attempt_at < request.before
            )
            return [row.read() for _, _, row in due[: request.limit]], 0, {}, True
        if isinstance(request, DeadRequest):
            dead = [row.read() for row in self.rows.values() if row.dlq is DlqStatus.IN_DLQ]
            return dead[: request.limit], 0, {}, True
        if isinstance(request, NamedRequest):
            return [row.read() for row in rows if row.delivery.id in request.ids], 0, {}, True
        wanted = UNSETTLED if request.ordered else (DeliveryStatus.PENDING,)
        found: list[Delivery] = []
        skipped: dict[str, int] = {}
        through = request.after
        size = examined = 0
        for row in rows:
            delivery = row.delivery
            if row.seq <= request.after or delivery.queue not in request.classes:
                continue
            if len(found) >= request.limit or size >= request.max_bytes or examined >= EXAMINED:
                return found, through, skipped, False
            examined += 1
            if row.status not in wanted:
                pass
            elif delivery.lane is not None and delivery.lane in request.skip_lanes:
                skipped.setdefault(delivery.lane, row.seq)
            elif request.only_lane is None or delivery.lane == request.only_lane:
                found.append(row.read())
                size += len(delivery.event.payload)
            through = row.seq
        return found, through, skipped, True
