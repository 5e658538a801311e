"""The backlog of one destination: each delivery waits in memory or only in the store, never in both."""

from collections.abc import Callable, Sequence

from engine.core.commands import MemoryLimits
from engine.core.destination import Destination
from engine.core.lanes import LaneAdmission, Lanes
from engine.core.queue import EligibleQueue
from engine.core.read_state import ReadState
from engine.core.reader import Outstanding, Reader
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, Ordering
from engine.core.window import SOON_S, Window


class Backlog:
    """Owner of one destination's waiting deliveries. Instants are seconds since the epoch."""

    __slots__ = ("_in_flight", "_judge_wait", "_uncommitted", "accepting", "lanes", "ordering",
                 "queue", "reader", "window")  # fmt: skip

    def __init__(
        self,
        limits: MemoryLimits,
        ordering: Ordering,
        in_flight: dict[str, Delivery],
        uncommitted: dict[str, Delivery],
        judge_wait: Callable[[Delivery, float], float],
    ) -> None:
        ordered = ordering != Ordering.NONE
        self.ordering = ordering
        self.window = Window(limits, ordered=ordered)
        self.queue = EligibleQueue()
        strict = ordering == Ordering.STRICT
        self.lanes = Lanes(self.queue, self.window, strict=strict) if ordered else None
        self._in_flight = in_flight
        self._uncommitted = uncommitted
        self.reader = Reader(self.window, self.queue, self.lanes, self._retrying_held)
        self.accepting = True  # False: every arrival stays in the store
        self._judge_wait = judge_wait  # shortens too long a wait; returns the latest due time

    def restore(self, low_seq: int, last_seqs: dict[int, int], waiting: int) -> None:
        """Begin with the deliveries in the store."""
        window = self.window
        before = max(0, low_seq - 1)
        for group in range(len(window.cursors)):
            window.cursors[group] = window.lasts[group] = window.through[group] = before
        for queue, seq in last_seqs.items():
            group = window.group_of[queue]
            window.lasts[group] = max(window.lasts[group], seq)
        window.stored = waiting

    # --- what arrives

    def arrive(self, deliveries: Sequence[Delivery], now: float) -> None:
        """Place deliveries that were just committed. A delivery enters memory if there is room, and if
        no earlier delivery of its class must still be read from the store."""
        window, lanes = self.window, self.lanes
        queues, group_of = self.queue, window.group_of
        cursors, lasts = window.cursors, window.lasts
        for delivery in deliveries:
            queue, seq = delivery.queue, delivery.seq
            group = group_of[queue]
            if not self.accepting or cursors[group] != lasts[group] or seq <= cursors[group]:
                self._keep_out(delivery, group)
            elif lanes is not None:
                self._arrive_in_lane(lanes, delivery, group, now)
            elif window.admit(delivery):
                cursors[group] = lasts[group] = seq
                queues.of(queue).append(delivery)
            else:
                self._keep_out(delivery, group)

    def _arrive_in_lane(self, lanes: Lanes, delivery: Delivery, group: int, now: float) -> None:
        admission = lanes.admit(delivery, now)
        if admission is LaneAdmission.NO_ROOM:
            self._keep_out(delivery, group)
            return
        self.window.pass_to(group, delivery.seq)
        if admission is LaneAdmission.SKIPPED:
            self.window.stored += 1

    def _keep_out(self, delivery: Delivery, group: int) -> None:
        """Leave a delivery in the store. But set it aside in memory if memory has room, a read of its
        group from the cursor is under way, and the group's earlier arrivals during this read were set
        aside, too. The delivery can then be queued behind the deliveries that the read returns."""
        window, outstanding = self.window, self.reader.outstanding
        if outstanding is not None and outstanding.group == group:
            useful = self.accepting and self.reader.state is ReadState.READING
            if useful and outstanding.contiguous and window.fits_aside(delivery):
                window.note(group, delivery.seq, 0)
                window.take(delivery)
                window.aside += 1
                outstanding.ahead.append(delivery)
                return
            outstanding.contiguous = False
        window.note(group, delivery.seq, 1)

    def spilled(self, queue: DeliveryClass, seq: int, count: int) -> None:
        """Note `count` committed deliveries that stay in the store. `seq` is their highest seq."""
        group = self.window.group_of[queue]
        outstanding = self.reader.outstanding
        if outstanding is not None and outstanding.group == group:
            outstanding.contiguous = False
        self.window.note(group, seq, count)

    # --- what reads bring

    def loaded(
        self,
        outstanding: Outstanding,
        deliveries: list[Delivery],
        through: int,
        skipped: dict[str, int],
        now: float,
        *,
        end: bool,
    ) -> None:
        self.abandoned(outstanding)  # deliveries set aside are placed after those of the answer
        if outstanding.lane is not None:
            self._loaded_lane(outstanding, deliveries, through, now, end=end)
        elif outstanding.group is not None:
            self._loaded_range(
                outstanding, outstanding.group, deliveries, through, skipped, now, end
            )

    def _loaded_range(
        self,
        outstanding: Outstanding,
        group: int,
        deliveries: list[Delivery],
        through: int,
        skipped: dict[str, int],
        now: float,
        end: bool,
    ) -> None:
        window = self.window
        before = window.cursors[group]
        if end:
            through = max(through, outstanding.last)
        for delivery in deliveries:
            if not self._is_news(delivery, outstanding):
                continue
            if not self._admit(delivery, now):
                through, end = delivery.seq - 1, False
                break
        window.answered(group, through)
        if self.lanes is not None:
            for key, seq in skipped.items():
                if seq <= through:
                    self.lanes.passed_over(key, seq)
        if end:
            self._place_ahead(outstanding.ahead, group, now)
        self.reader.fed(progress=window.cursors[group] > before)
        self.recount()

    def _place_ahead(self, ahead: list[Delivery], group: int, now: float) -> None:
        window = self.window
        for delivery in ahead:
            if delivery.seq > window.cursors[group]:  # the read has covered the others
                if not self._admit(delivery, now):
                    break
                window.pass_to(group, delivery.seq)

    def _loaded_lane(
        self,
        outstanding: Outstanding,
        deliveries: list[Delivery],
        through: int,
        now: float,
        *,
        end: bool,
    ) -> None:
        lanes, window, lane = self.lanes, self.window, outstanding.lane
        assert lanes is not None
        assert lane is not None
        cursor = window.cursors[0]
        if through >= cursor or (deliveries and deliveries[-1].seq > cursor):
            end = True
        single, _ = lanes.reads_as(lane)
        news = [
            delivery
            for delivery in deliveries
            if delivery.seq <= cursor
            and self._is_news(delivery, outstanding)
            and (not single or lane.key.endswith(delivery.id))
        ]
        for delivery in news:
            if delivery.next_attempt_at is not None:
                self._judge_wait(delivery, now)
        taken = lanes.reload(lane, news, through, end=end or single, now=now)
        window.stored -= taken
        self.reader.fed(progress=taken > 0 or not news)
        self.recount()

    def due(self, outstanding: Outstanding, deliveries: list[Delivery], now: float) -> None:
        """Place the answer of a DueRequest."""
        assert self.lanes is None
        full = len(deliveries) >= outstanding.request.limit
        present = {delivery.id for delivery in self.queue.waiting()}
        taken = 0
        all_due, no_room = True, False
        last_due = now
        for delivery in deliveries:
            last_due = delivery.next_attempt_at or now
            if delivery.id in present or not self._is_news(delivery, outstanding):
                continue
            self._judge_wait(delivery, now)
            due = delivery.next_attempt_at or now
            near = due <= now + SOON_S
            if near and self.window.fits_urgently(delivery):
                self.window.take(delivery)
                self.window.stored -= 1
                self.queue.offer(delivery)
                taken += 1
            else:
                self.reader.leaves(due)
                all_due, no_room = False, no_room or near
        if full or no_room:
            self.reader.leaves_more(outstanding.request, last_due, now)
        self.reader.grow(all_due=full and all_due)
        well = not no_room and (not full or last_due > now + SOON_S)
        self.reader.fed(progress=taken > 0 or well)
        self.recount()

    def _admit(self, delivery: Delivery, now: float) -> bool:
        """Place a delivery from the store. Returns False if memory has no room for the delivery. Then the
        cursor must stop before the delivery."""
        if delivery.next_attempt_at is not None:
            self._judge_wait(delivery, now)
        if self.lanes is not None:
            admission = self.lanes.admit(delivery, now)
            if admission is LaneAdmission.HELD:
                self.window.stored -= 1
            return admission is not LaneAdmission.NO_ROOM
        if not self.window.admit(delivery):
            return False
        self.window.stored -= 1
        self.queue.offer(delivery)
        return True

    def _is_news(self, delivery: Delivery, outstanding: Outstanding) -> bool:
        identifier = delivery.id
        known = self._in_flight.get(identifier) or self._uncommitted.get(identifier)
        if known is not None:
            if self.lanes is not None:
                self.lanes.resume(known)
            return False
        return identifier not in self.queue.urgent and not outstanding.is_stale(delivery)

    def abandoned(self, outstanding: Outstanding) -> None:
        """Drop the deliveries that were set aside during a read. They are then only in the store."""
        for delivery in outstanding.ahead:
            self.window.leave(delivery)
        self.window.aside = 0

    # --- what ends

    def ended(self, delivery: Delivery, now: float) -> None:
        """Forget a delivery whose final outcome is committed, and release its lane."""
        self.window.drop(delivery)
        if self.lanes is not None:
            self.lanes.release(delivery, now)

    def retried(self, delivery: Delivery, now: float) -> None:
        """Place a delivery whose status RETRYING is committed."""
        due = delivery.next_attempt_at
        assert due is not None
        if self.lanes is not None:
            self.lanes.wait(delivery, now)
        elif self.window.keeps(due, now) and self.accepting:
            self.queue.offer(delivery)
        else:
            self.window.leave(delivery)
            self.reader.leaves(due)

    def remove(self, delivery: Delivery) -> Delivery | None:
        """Take a waiting delivery out of memory by its id."""
        if self.lanes is not None:
            found = self.lanes.remove(delivery.id, delivery.lane)
        else:
            found = self.queue.remove(delivery.id)
        if found is not None:
            self.window.drop(found)
        return found

    def forget(self) -> None:
        """Drop all waiting deliveries from memory, so that they are read again.

        Most deliveries are read in seq order. For these, the cursor of the next read moves back to the
        lowest seq that was dropped. But the RETRYING deliveries of an unordered destination are read by
        due time. For these, the earliest due time is noted.
        """
        window, reader = self.window, self.reader
        reader.forget()
        if reader.outstanding is not None:
            self.abandoned(reader.outstanding)
            reader.outstanding.ahead = []
        low = self.lanes.low_seq() if self.lanes is not None else None
        if low is not None:
            window.cursors[0] = min(window.cursors[0], low - 1)
        for delivery in self.waiting():
            window.leave(delivery)
            if self.lanes is None and delivery.next_attempt_at is not None:
                reader.leaves(delivery.next_attempt_at)
            else:
                group = window.group_of[delivery.queue]
                window.cursors[group] = min(window.cursors[group], delivery.seq - 1)
        self.queue.clear()
        if self.lanes is not None:
            self.lanes.clear()

    # --- time

    def promote(self, now: float) -> None:
        if self.queue.waits:
            self.queue.promote(now)
        if self.lanes is not None:
            self.lanes.promote(now)

    def wake_at(self, now: float, opens_at: float | None) -> float | None:
        """Return the earliest of three instants: the next read, the next retry, and `opens_at`, when
        sending is allowed again. None if there is no such instant."""
        wake, waits = self.reader.wake_at(now), self.queue.waits
        if waits and (wake is None or waits[0][0] < wake):
            wake = waits[0][0]
        if opens_at is not None and (wake is None or opens_at < wake):
            wake = opens_at
        return wake

    def recap(self, latest: Callable[[Delivery], float]) -> None:
        for delivery in self.waiting():
            if delivery.next_attempt_at is not None:
                delivery.next_attempt_at = min(delivery.next_attempt_at, latest(delivery))
        self.queue.reorder()

    def recall(self, latest: float, now: float) -> None:
        """Let the next reads return the deliveries in the store that are due after `latest`. After such a
        read, `_judge_wait` makes each of these deliveries due no later than the present retry schedule
        allows."""
        if self.lanes is not None:
            self.lanes.recall(latest)
        else:
            self.reader.recall(latest, now)

    # --- what waits

    def waiting(self) -> list[Delivery]:
        behind = [] if self.lanes is None else self.lanes.behind_heads()
        return [*self.queue.waiting(), *behind]

    def low_seq(self) -> int:
        """Return a seq below which all deliveries are settled. If the destination is unordered, RETRYING
        deliveries are the exception: they can have lower seqs."""
        window = self.window
        seqs = [delivery.seq for delivery in self._uncommitted.values()]
        seqs += [
            delivery.seq
            for delivery in (*self._in_flight.values(), *self.waiting())
            if self.lanes is not None or delivery.next_attempt_at is None
        ]
        if self.lanes is not None and (low := self.lanes.low_seq()) is not None:
            seqs.append(low)
        behind = [c + 1 for c, last in zip(window.cursors, window.lasts, strict=True) if c < last]
        return min([*seqs, *behind], default=max(window.lasts) + 1)

    def empty(self) -> bool:
        """Return whether nothing waits anywhere, as far as is known."""
        reader, lanes = self.reader, self.lanes
        known = self.window.held or reader.outstanding or not self.window.caught_up()
        return not known and (lanes is None or lanes.empty()) and reader.earliest_due() is None

    def settled_by_commit(self, config: Destination) -> bool:
        """Return True if the commit of a final outcome makes no lane free, and nothing must be read, now
        or later. Return False if the destination is not ACTIVE, or `config` has another ordering."""
        plain = self.accepting and self.lanes is None and config.ordering is self.ordering
        return plain and self.reader.done()

    def _retrying_held(self) -> int:
        held = (*self._in_flight.values(), *self._uncommitted.values(), *self.queue.waiting())
        return sum(delivery.next_attempt_at is not None for delivery in held)

    def recount(self) -> None:
        """Set the count of stored deliveries to zero if it is certain that the store holds none.

        A negative count is not changed. The count can be negative if a read has returned deliveries
        before the actor handles the message about their arrival: this message will raise the count.
        """
        if self.window.stored > 0 and not self.stored():
            self.window.stored = 0

    def stored(self) -> int:
        """Return how many deliveries wait only in the store, as far as is known."""
        window = self.window
        nothing = not window.stored or (
            window.caught_up()
            and self.reader.earliest_due() is None
            and not (self.lanes is not None and self.lanes.skipped)
        )
        return 0 if nothing else window.stored
