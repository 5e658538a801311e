"""The reader: it chooses what to read next from the store. Only one read at a time is under way.

For an ordered destination, two kinds of reads alternate, so that neither starves: reads that begin at
the cursor, and reads of skipped lanes. The deliveries of a skipped lane are left in the store until the
lane is read back.
"""

from collections.abc import Callable
from itertools import islice
from math import inf

from msgspec import Struct

from engine.core.commands import AnyRequest, DeadRequest, DueRequest, NamedRequest, ReadRequest
from engine.core.lanes import Lane, Lanes
from engine.core.queue import EligibleQueue
from engine.core.read_state import TRANSITIONS, ReadSignal, ReadState
from engine.core.records import Delivery, Ids
from engine.core.vocabulary import DeliveryClass
from engine.core.window import CLASSES, READ_CHUNK, Window

AHEAD_S = 1.0  # deliveries are read this long before they are due, since a read takes a while
FAR_S = 60.0  # an actor can leave memory if no delivery is due within this time
RETRY_READ_S = 1.0
# The limit of rows in a read of due retries. It is low, because many of the rows may not be due yet. If
# an answer is full and all its rows are due, the next limit is DUE_READ_MOST.
DUE_READ = 32
DUE_READ_MOST = 128  # rows; not more, because these reads have no bound in bytes
NAMED_READ = 32  # deliveries of one read by ids, to which memory's bounds do not apply
EVER_S = 100 * 365 * 86_400.0  # later than any due time, even one that a wrong clock set


class Outstanding(Struct):
    """The read that is under way, and the changes since it began."""

    request: AnyRequest
    group: int | None = None  # of a cursor's read
    lane: Lane | None = None  # of a lane's read
    last: int = 0  # the group's highest known seq when the read began
    ahead: list[Delivery] = []  # arrivals of the group since the read began, without a gap
    contiguous: bool = True  # whether the next arrival can go into memory
    settled: dict[str, int] = {}  # deliveries whose rows changed since then, with their seqs

    def is_stale(self, delivery: Delivery) -> bool:
        """Return True if the row that was read can be older than the delivery's last settlement. If the
        row's seq is higher than the settlement's, the row is newer: only a requeue raises the seq."""
        return delivery.seq <= self.settled.get(delivery.id, -1)


class Reader:
    """Owner of the outstanding read, and of the due times of RETRYING deliveries in the store."""

    __slots__ = (
        "_asked_due",
        "_due_limit",
        "_lanes",
        "_lanes_turn",
        "_longest_s",
        "_named_from",
        "_queue",
        "_rest_until",
        "_retrying",
        "_starved_at",
        "_window",
        "beyond",
        "named",
        "next_due",
        "no_more_dead",
        "outstanding",
        "state",
    )  # fmt: skip

    def __init__(
        self, window: Window, queue: EligibleQueue, lanes: Lanes | None, retrying: Callable[[], int]
    ) -> None:
        self._window = window
        self._queue = queue
        self._lanes = lanes
        self._retrying = retrying  # counts the deliveries in memory that are RETRYING in the store
        self.state = ReadState.IDLE
        self.outstanding: Outstanding | None = None
        self.next_due: float | None = None  # unordered: the first due time in the store
        self._asked_due: float | None = None  # `next_due` when the read under way began
        # When to begin the next read of the RETRYING deliveries that wait longer than the present
        # schedule allows. Their waits are shortened after the read. Other reads return the earliest due
        # rows first, and would find these deliveries too late. None for a destination with ordering.
        self.beyond: float | None = None
        self._longest_s = inf  # the longest wait of the present schedule, set by `recall`
        self._rest_until = 0.0  # RESTING: the end of the pause
        self._starved_at = 0, 0  # STARVED: deliveries and bytes held when an answer did not fit
        self._lanes_turn = True
        self._due_limit = DUE_READ
        self._named_from = 0.0  # when to read `named` again, if a delivery has not arrived yet
        self.named: Ids = {}  # to be read by their ids
        self.no_more_dead = False  # archived: nothing is IN_DLQ any more

    # --- knowledge

    def leaves(self, due: float) -> None:
        """Note a RETRYING delivery that waits only in the store."""
        if self.next_due is None or due < self.next_due:
            self.next_due = due

    def corrected(self, due: float | None) -> None:
        """Record that a delivery's wait was shortened in the store: its retry is now due at `due`.

        A read that began before the change can still return the row with the longer wait. If the retry
        schedule has meanwhile been changed to allow the longer wait, the state machine does not shorten
        the wait again. Without this record, the reader would then miss `due`.
        """
        if due is not None and self._lanes is None:
            self.leaves(due)

    def leaves_more(self, request: AnyRequest, last_due: float, now: float) -> None:
        """Record that the store can have further deliveries for a DueRequest, because the answer was full
        or memory had no room. `last_due`: the due time of the answer's last delivery."""
        latest = now + self._longest_s
        self.leaves(min(last_due, latest))
        if _looks_beyond(request) or last_due > latest:
            self.beyond = now + RETRY_READ_S  # the shortened waits must be written first

    def recall(self, latest: float, now: float) -> None:
        """Let the next reads return the RETRYING deliveries in the store that are due after `latest`, so
        that their waits can be shortened. `latest`: `now` plus the longest wait of the present schedule.
        Longer waits began under another schedule, or before the clock was set back."""
        self._longest_s = latest - now
        if self.earliest_due() is not None:
            self.beyond = now
            self.next_due = None if self.next_due is None else min(self.next_due, latest)
            self._asked_due = None if self._asked_due is None else min(self._asked_due, latest)

    def earliest_due(self) -> float | None:
        """Return when the earliest RETRYING delivery in the store is due, as far as is known."""
        known = [due for due in (self.next_due, self._asked_due) if due is not None]
        if self._lanes is not None and (due := self._lanes.next_due()) is not None:
            known.append(due)
        return min(known, default=None)

    def nothing_near(self, now: float) -> bool:
        due = self.earliest_due()
        return due is None or (due > now + FAR_S and self.beyond is None)

    def done(self) -> bool:
        """Return True if nothing must be read, now or later. Only for a destination without ordering."""
        if self.outstanding is not None or self.next_due is not None or self.beyond is not None:
            return False
        if self.named:
            return False
        return self._window.cursors == self._window.lasts

    def _meet(self, signal: ReadSignal) -> None:
        after = TRANSITIONS[self.state, signal]
        if after is None:
            raise AssertionError(f"a {self.state.name} reading cannot meet {signal.name}")
        self.state = after

    def forget(self) -> None:
        """Make the reader ignore the answer of the read under way, if there is one."""
        self._meet(ReadSignal.FORGET)

    def finish(self, request: AnyRequest) -> Outstanding | None:
        """End the read whose answer has come, and return the read. Return None if `request` is not under
        way, or if its answer must be ignored."""
        void = self.state is ReadState.VOID
        outstanding = self._end(request, ReadSignal.ANSWER, useless=void)
        return None if void else outstanding

    def failed(self, request: AnyRequest, now: float) -> Outstanding | None:
        outstanding = self._end(
            request, ReadSignal.FAIL, useless=True, rest_until=now + RETRY_READ_S
        )
        if outstanding is not None and outstanding.lane is not None and self._lanes is not None:
            self._lanes.wanted[outstanding.lane.key] = None
        return outstanding

    def _end(
        self, request: AnyRequest, signal: ReadSignal, *, useless: bool, rest_until: float = 0.0
    ) -> Outstanding | None:
        """End a read. `useless`: the read has failed or its answer is void. It must be repeated."""
        outstanding = self.outstanding
        if outstanding is None or outstanding.request != request:
            return None
        self._meet(signal)
        self.outstanding = None
        self._rest_until = rest_until
        self._window.reserved = self._window.reserved_bytes = 0
        due, self._asked_due = self._asked_due, None
        if useless:
            if due is not None:
                self.leaves(due)
            if _looks_beyond(request):
                self.beyond = rest_until
            if isinstance(request, NamedRequest):
                self.named.update(dict.fromkeys(request.ids))
        return outstanding

    def name_again(self, identifier: str, now: float) -> None:
        self.named[identifier] = None
        self._named_from = now + RETRY_READ_S

    def clock_stepped(self, by_s: float) -> None:
        """Follow a step of the clock. Pauses between reads keep their remaining time. The due times of
        rows in the store do not change."""
        self._rest_until += by_s
        self._named_from += by_s
        self.beyond = None if self.beyond is None else self.beyond + by_s

    def fed(self, *, progress: bool) -> None:
        """Record that the answer of a read was handled. `progress` is False if memory had no room for any
        delivery of the answer. The reader is then STARVED until deliveries leave memory."""
        window = self._window
        if window.held and not progress:
            self._starved_at = window.held, window.bytes
            self._meet(ReadSignal.NO_ROOM)

    def grow(self, *, all_due: bool) -> None:
        self._due_limit = DUE_READ_MOST if all_due else DUE_READ

    # --- choice

    def choose(self, now: float) -> AnyRequest | None:
        """Return the next read, if one is needed and there is room for its answer."""
        if self.named and (request := self.choose_named(now)) is not None:
            return request
        if self.state is not ReadState.IDLE and not self._becomes_idle(now):
            return None
        if self._lanes is None:
            if self.beyond is None and self.next_due is None and self._window.caught_up():
                return None  # nearly always
            return self._choose_beyond(now) or self._choose_due(now) or self._choose_class()
        first, second = self._choose_lane, self._choose_range
        if not self._lanes_turn:
            first, second = second, first
        return first() or second()

    def choose_named(self, now: float) -> AnyRequest | None:
        """Return the next read by ids, if one is needed. Such a read returns few rows, so memory need not
        have room."""
        if not self.named or now < self._named_from:
            return None
        if not self._becomes_idle(now) and self.state is not ReadState.STARVED:
            return None
        ids = tuple(islice(self.named, NAMED_READ))
        for identifier in ids:
            del self.named[identifier]
        return self._begin(Outstanding(NamedRequest(ids)), 0, 0)

    def named_at(self, now: float) -> float | None:
        """Return when the next read by ids can begin, if it must wait until then. None if it can begin
        now, if another read is under way, or if no read by ids is needed."""
        if not self.named or self.outstanding is not None:
            return None
        resting = self.state is ReadState.RESTING
        at = max(self._named_from, self._rest_until if resting else 0.0)
        return at if at > now else None

    def choose_to_discard(self, now: float, *, quiet: bool) -> AnyRequest | None:
        """Return the next read of an archived destination, whose deliveries are all discarded. Dead
        letters are read only if no attempt and no settlement is under way (`quiet`)."""
        if not self._becomes_idle(now) and self.state is not ReadState.STARVED:
            return None
        limit = min(READ_CHUNK, self._window.free())
        if limit <= 0:
            return None
        window = self._window
        for group, cursor in enumerate(window.cursors):
            if cursor < window.lasts[group]:
                return self._begin_range(group, limit, max(1, window.room(None)[1]))
        limit = min(limit, DUE_READ)
        if self.next_due is not None:
            return self._begin_due(now, limit, self._retrying())
        if quiet and not self.no_more_dead:
            return self._begin(Outstanding(DeadRequest(limit)), limit, 0)
        return None

    def wake_at(self, now: float) -> float | None:
        """Return when to choose a read if nothing happens before."""
        named, other = self.named_at(now), self._other_at(now)
        return other if named is None else named if other is None else min(named, other)

    def _other_at(self, now: float) -> float | None:
        if self.outstanding is not None:
            return None
        if self.state is ReadState.RESTING and now < self._rest_until:
            return self._rest_until
        if self._lanes is not None:
            return self._lanes.next_due()
        if self.beyond is None and self.next_due is None:  # nearly always
            return None
        times = [self.beyond, None if self.next_due is None else self.next_due - AHEAD_S]
        return min((at for at in times if at is not None and at > now), default=None)

    def _becomes_idle(self, now: float) -> bool:
        window, (held, size) = self._window, self._starved_at
        if self.state is ReadState.RESTING and now >= self._rest_until:
            self._meet(ReadSignal.RESTED)
        elif self.state is ReadState.STARVED and (window.held < held or window.bytes < size):
            self._meet(ReadSignal.ROOM)
        return self.state is ReadState.IDLE

    def _choose_beyond(self, now: float) -> AnyRequest | None:
        if self.beyond is None or self.beyond > now:
            return None
        gain, known = min(DUE_READ_MOST, self._window.room(None)[0]), self._retrying()
        if gain <= 0:
            return None
        self.beyond = None
        request = DueRequest(now + EVER_S, gain + known, after=now + self._longest_s)
        return self._begin(Outstanding(request), gain, 0)

    def _choose_due(self, now: float) -> AnyRequest | None:
        if self.next_due is None or self.next_due > now + AHEAD_S:
            return None
        room = self._window.room(None)[0]
        if room <= 0:
            return None
        gain = min(self._due_limit, room)
        # The answer can begin with rows of `known` retries that are already in memory. These rows need no
        # room, so the request asks for `gain` + `known` rows. If memory has little room, and these rows
        # would be a large part of the answer, no read begins now: it would bring little for its cost.
        known = self._retrying()
        if known * 2 > gain and room < self._window.limits.deliveries // 4:
            return None
        return self._begin_due(now, gain, known)

    def _choose_class(self) -> AnyRequest | None:
        window = self._window
        if window.cursors == window.lasts:
            return None
        for queue in CLASSES:
            if window.cursors[queue] < window.lasts[queue]:
                room, size = window.room(queue)
                # If memory has little room, a read would return few rows for its cost. Then the eligible
                # deliveries in memory are sent first.
                few = room < min(READ_CHUNK, window.limits.deliveries // 4)
                if room > 0 and size > 0 and not (few and self._queue.ready[queue]):
                    return self._begin_range(queue, min(room, READ_CHUNK), size)
        return None

    def _choose_lane(self) -> AnyRequest | None:
        lanes, window = self._lanes, self._window
        assert lanes is not None
        room, size = window.room(None)
        if not lanes.wanted or room <= 0 or size <= 0:
            return None
        key = next(iter(lanes.wanted))
        lane = lanes.skipped[key]
        lanes.asked(lane)
        self._lanes_turn = False
        assert lane.skipped_from is not None
        single, only = lanes.reads_as(lane)
        limit = 1 if single else max(1, min(room // 2, READ_CHUNK))
        request = ReadRequest(
            classes=CLASSES,
            after=lane.skipped_from - 1,
            limit=limit,
            max_bytes=size,
            ordered=True,
            only_lane=only,
        )
        return self._begin(Outstanding(request, lane=lane), limit, size)

    def _choose_range(self) -> AnyRequest | None:
        lanes, window = self._lanes, self._window
        assert lanes is not None
        if window.cursors == window.lasts or lanes.saturated() or lanes.strictly_skipped():
            return None
        room, size = window.room(DeliveryClass.CRITICAL)
        few = room < min(READ_CHUNK, window.limits.deliveries // 4)
        if room <= 0 or size <= 0 or (few and self._queue.any_ready()):
            return None
        self._lanes_turn = True
        return self._begin_range(0, min(room, READ_CHUNK), size)

    def _begin_range(self, group: int, limit: int, size: int) -> AnyRequest:
        window, lanes = self._window, self._lanes
        request = ReadRequest(
            classes=(CLASSES[group],) if lanes is None else CLASSES,
            after=window.cursors[group],
            limit=limit,
            max_bytes=size,
            ordered=lanes is not None,
            skip_lanes=() if lanes is None else lanes.lane_keys(),
        )
        return self._begin(Outstanding(request, group=group, last=window.lasts[group]), limit, size)

    def _begin_due(self, now: float, gain: int, known: int) -> AnyRequest:
        self._asked_due, self.next_due = self.next_due, None
        return self._begin(Outstanding(DueRequest(now + EVER_S, gain + known)), gain, 0)

    def _begin(self, outstanding: Outstanding, limit: int, size: int) -> AnyRequest:
        self._meet(ReadSignal.ASK)
        self.outstanding = outstanding
        self._window.reserved = limit
        self._window.reserved_bytes = size
        return outstanding.request


def _looks_beyond(request: AnyRequest) -> bool:
    return isinstance(request, DueRequest) and request.after is not None
