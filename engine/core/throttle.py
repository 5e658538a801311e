"""The throttle of a destination: its circuit, rate, concurrency and Retry-After. It also notes the
reasons to disable the destination: a 410, or failing for too long.

The circuit's probe is the next eligible delivery. Like any other delivery, the probe waits for the
rate and for a Retry-After. A change of the URL ends a Retry-After, because the receiver at the old URL
asked for it.
"""

import math

from engine.core.circuit import Circuit
from engine.core.counters import Counters
from engine.core.destination import Destination
from engine.core.failing import Failing
from engine.core.health import CircuitState
from engine.core.limit import START, AdaptiveLimit, LimitState
from engine.core.records import Delivery, Outcome
from engine.core.schedule import retry_after_s
from engine.core.snapshot import CircuitSnapshot, Snapshot
from engine.core.vocabulary import DestinationStatus, ErrorCategory, Ordering, Origin

# If a destination's host name has led only to forbidden addresses for an hour, a delivery that fails for
# this reason is dead-lettered without further retries.
BLOCK_CONFIRMED_S = 3600.0
_CLOSED = CircuitState.CLOSED  # the look-up of an enum's member costs more than a call


def most_of(config: Destination) -> int:
    """Return the upper bound of an adaptive concurrency."""
    return 1 if config.ordering is Ordering.STRICT else config.concurrency


class Throttle:
    """Owner of everything that holds back one destination's attempts. Instants are seconds since the
    epoch."""

    __slots__ = (
        "blocked_since", "bucket", "changed", "circuit", "failing", "full", "gone_version", "limit",
        "opens_at", "overdue", "paused_until", "width",
    )  # fmt: skip

    def __init__(self, config: Destination, now: float, snapshot: Snapshot | None) -> None:
        self.circuit = Circuit()
        self.failing = Failing(None if snapshot is None else snapshot.row, now)
        self.bucket: TokenBucket | None = None
        self.paused_until: float | None = None
        self.blocked_since: float | None = None  # since then every failure was a BLOCKED_ADDRESS
        self.gone_version: int | None = None  # the version that must be disabled: nothing is sent
        self.overdue = False  # whether the reason is failing for too long, not a 410
        self.opens_at: float | None = None  # when to call `allow` again, if it allowed too few
        self.changed = False  # whether the state of a snapshot has changed
        self.width = config.concurrency
        self.full = False  # whether the attempts in flight used up `width` when the last ones began
        self.limit: AdaptiveLimit | None = None
        kept = None if snapshot is None else self._restore(config, now, snapshot)
        if config.adapts:
            self._adapt(AdaptiveLimit(most_of(config), now, kept))
        if config.rate_per_second is not None:
            tokens = None
            if snapshot is not None and snapshot.tokens is not None:
                passed = max(0.0, now - snapshot.taken_at)
                tokens = snapshot.tokens + passed * config.rate_per_second
            self.bucket = TokenBucket(config.rate_per_second, now, tokens)

    @property
    def calm(self) -> bool:
        """True if nothing is held back, and a success changes nothing."""
        circuit = self.circuit
        return (
            not circuit.failures
            and not self.failing.failures
            and circuit.state is _CLOSED
            and self.bucket is None
            and self.limit is None
            and self.paused_until is None
            and self.gone_version is None
            and self.blocked_since is None
        )

    def allow(self, now: float, wanted: int) -> int:
        """Return how many attempts may begin now, at most `wanted`. A Retry-After, the circuit and the
        rate can hold attempts back. If none may begin, set `opens_at` to the time when the next attempt
        may begin. While a probe is under way, this time is unknown, and `opens_at` is None."""
        self.opens_at = None
        if self.paused_until is not None:
            if now < self.paused_until:
                self.opens_at = self.paused_until
                return 0
            self.paused_until = None
        circuit = self.circuit
        if circuit.state is not _CLOSED:
            if not circuit.may_probe(now):
                self.opens_at = circuit.next_probe_at
                return 0
            wanted = 1
        bucket = self.bucket
        if bucket is not None:
            available = bucket.available(now)
            if available < wanted:
                if not available:
                    self.opens_at = bucket.next_at(now)
                return available
        return wanted

    def allow_urgent(self, now: float, wanted: int) -> int:
        """Return how many of the attempts that a person asked for may begin now, at most `wanted`. Only
        the rate can hold these attempts back."""
        return wanted if self.bucket is None else min(wanted, self.bucket.available(now))

    def note_rate(self, now: float) -> None:
        """Make `opens_at` no later than the time when the rate allows an attempt. Call this after
        `allow`, if there are waiting attempts that a person asked for. `allow` can have set `opens_at` to
        a later time: the end of a pause, or the circuit's next probe. But only the rate holds these
        attempts back."""
        if self.bucket is not None:
            at = self.bucket.next_at(now)
            self.opens_at = at if self.opens_at is None else min(self.opens_at, at)

    def sent(self, deliveries: list[Delivery], now: float, in_flight: int) -> None:
        """Note attempts that begin; `in_flight`: the number in flight now."""
        # `full` says that the attempts in flight use up the width. If only replays wait, `width - 1`
        # attempts use it up, because the picker keeps one slot free for live deliveries. This method does
        # not know which deliveries wait. It therefore counts the width as used up by `width - 1` attempts
        # even if live deliveries wait.
        self.full = in_flight >= self.width - 1
        if self.bucket is not None:
            self.bucket.spend(len(deliveries))
            # A restart must not give a slow destination another burst.
            self.changed = self.changed or self.bucket.rate < 1
        if self.circuit.state is CircuitState.OPEN:
            self.circuit.probed(deliveries[0].id, now)
            self.changed = True

    def succeeded(self, delivery: Delivery, outcome: Outcome, now: float) -> None:
        if outcome.skipped:
            self.skipped(delivery, now)
            return
        if self.limit is not None:
            self._learn(self.limit, outcome, now)
        circuit = self.circuit
        if self.failing.failures and self.failing.succeeded():
            self.changed = True
        if self.blocked_since is not None:
            self.blocked_since, self.changed = None, True
        troubled = circuit.failures or circuit.state is not _CLOSED
        if troubled and circuit.succeeded():
            self.changed = True

    def skipped(self, delivery: Delivery, now: float) -> None:
        """Note an attempt that sent nothing."""
        if self.circuit.sent_nothing(delivery.id, now):
            self.changed = True

    def failed(self, delivery: Delivery, outcome: Outcome, config: Destination, now: float) -> None:
        own = delivery.event.origin is Origin.OWN
        if self.failing.failed(now, own=own):
            self.changed = True
        self._lose_patience(config, now)
        if outcome.unsent:
            self.skipped(delivery, now)
            return
        if self.limit is not None:
            self._learn(self.limit, outcome, now)
        self._note_block(outcome, now)
        if self.circuit.failed(delivery.id, outcome.category, now, own=own):
            self.changed = True
        gone = outcome.category == ErrorCategory.DESTINATION_GONE
        if gone and config.status == DestinationStatus.ACTIVE:
            self.gone_version, self.overdue = config.version, False
            self.changed = True
        if outcome.retry_after_s is not None:
            until = now + retry_after_s(config, outcome.retry_after_s)
            if until > (self.paused_until or now):
                self.paused_until = until
                self.changed = True

    def failed_too_long(self) -> tuple[bool, bool]:
        """Call this only while the destination must be disabled. Return two values. The first is True if
        the reason is that the destination has failed for too long. The second is True if the first is
        True, and only deliveries of Angarium's own events have failed since the last success."""
        return self.overdue, self.overdue and self.failing.quiet

    def look(self, now: float, *, waits: bool) -> None:
        """Note whether deliveries wait. If `Failing.due_at` knows the instant when the destination will
        begin to count as failing, this method sets `opens_at` to this instant, unless `opens_at` is
        earlier. The actor's next turn then begins at `opens_at` at the latest, and calls `look` again."""
        if self.failing.look(now, waits=waits):
            self.changed = True
        due = self.failing.due_at()
        if due is not None:
            self.opens_at = due if self.opens_at is None else min(self.opens_at, due)

    def confirms_block(self, outcome: Outcome, now: float) -> bool:
        """Return True if this failure is a BLOCKED_ADDRESS, and all attempts of the last hour have ended
        with the same failure."""
        blocked = outcome.category == ErrorCategory.BLOCKED_ADDRESS and not outcome.unsent
        since = self.blocked_since
        return blocked and since is not None and now - since >= BLOCK_CONFIRMED_S

    def configure(self, old: Destination, new: Destination, now: float) -> None:
        enabled = old.status != new.status and new.status == DestinationStatus.ACTIVE
        enabled = enabled or new.enabled_version > old.version  # by a version between the two
        moved = old.url != new.url or new.moved_version > old.version
        if enabled or moved:
            self.circuit.repaired(now)
            self.failing.restart(now)
        if moved:
            self.paused_until = self.blocked_since = None
        elif self.paused_until is not None:
            self.paused_until = min(self.paused_until, now + retry_after_s(new, math.inf))
        if self.gone_version is not None:
            settled = moved or enabled or self._hold_ends(new)
            self.gone_version = None if settled else new.version
            self.changed = True
        if old.rate_per_second != new.rate_per_second:
            rate = new.rate_per_second
            level = None if self.bucket is None else self.bucket.level(now)
            self.bucket = None if rate is None else TokenBucket(rate, now, level)
            self.changed = True
        if enabled or moved or old.status != new.status:
            self.changed = True
        self._resize(old, new, now, moved=moved)

    def _hold_ends(self, new: Destination) -> bool:
        """Return True if the version `new` ends the present hold: attempts are held back because the
        destination is to be disabled (see `gone_version`). The hold ends if `new` is not ACTIVE. If the
        destination is to be disabled because it has failed for too long, the hold also ends if `new` has
        no `disable_after_s`."""
        disabled = new.status != DestinationStatus.ACTIVE
        return disabled or (self.overdue and new.disable_after_s is None)

    def resume(self, now: float) -> None:
        """End a Retry-After, and let an open circuit begin a probe now. An operator asked for this."""
        self.paused_until = None
        self.circuit.repaired(now)
        self.changed = True

    def clock_stepped(self, by_s: float) -> None:
        """Follow a step of the clock: move all instants by `by_s`, so that waits keep their lengths."""
        self.circuit.clock_stepped(by_s)
        self.failing.clock_stepped(by_s)
        self.paused_until = None if self.paused_until is None else self.paused_until + by_s
        self.blocked_since = None if self.blocked_since is None else self.blocked_since + by_s
        if self.bucket is not None:
            self.bucket.clock_stepped(by_s)
        if self.limit is not None:
            self.limit.clock_stepped(by_s)
        self.changed = self.changed or not self.calm

    def snapshot(self, now: float, version: int, counters: Counters) -> Snapshot:
        """Return the state that must outlive this process."""
        circuit = self.circuit
        kept = None
        if circuit.state is not _CLOSED:
            # The snapshot of a HALF_OPEN circuit is an OPEN circuit whose probe is due. If the process
            # crashes now, the outcome of the present probe is lost. The next process then begins another
            # probe.
            kept = CircuitSnapshot(
                circuit.opened_at or now, circuit.next_probe_at or now, circuit.tries, circuit.quiet
            )
        return Snapshot(
            taken_at=now,
            circuit=kept,
            paused_until=self.paused_until,
            gone_version=self.gone_version,
            overdue=self.gone_version is not None and self.overdue,
            blocked_since=self.blocked_since,
            seen=version,
            row=self.failing.row(),
            tokens=None if self.bucket is None else self.bucket.level(now),
            counters=counters.state(now),
            limit=None if self.limit is None else self.limit.state(),
        )

    def start_empty(self, now: float) -> None:
        """Empty the token bucket, because the snapshot may have been taken before the last attempts took
        their tokens. The destination then waits at most a second.

        If the rate is below one attempt a second, the bucket keeps the tokens of the snapshot: at such a
        rate, a snapshot follows each attempt.
        """
        if self.bucket is not None and self.bucket.rate >= 1:
            self.bucket = TokenBucket(self.bucket.rate, now, 0.0)

    def _resize(self, old: Destination, new: Destination, now: float, *, moved: bool) -> None:
        """Apply a change of the configured concurrency. If the URL has changed (`moved`), a new adaptive
        limit begins, because the old limit was measured at another receiver."""
        if not new.adapts:
            if self.limit is not None:
                self.limit = None
                self.changed = True
            self.width = new.concurrency
        elif self.limit is None or moved:
            start = START if old.adapts else old.concurrency
            self._adapt(AdaptiveLimit(most_of(new), now, start=start))
            self.changed = True
        else:
            self.limit.bound(most_of(new))
            self.width = self.limit.width

    def _adapt(self, limit: AdaptiveLimit) -> None:
        self.limit = limit
        self.width = limit.width

    def _lose_patience(self, config: Destination, now: float) -> None:
        most_s = config.disable_after_s
        if most_s is None or config.status != DestinationStatus.ACTIVE:
            return
        if self.gone_version is None and self.failing.fails_longer(most_s, now):
            self.gone_version, self.overdue = config.version, True
            self.changed = True

    def _note_block(self, outcome: Outcome, now: float) -> None:
        since = self.blocked_since
        if outcome.category != ErrorCategory.BLOCKED_ADDRESS:
            self.blocked_since = None
        elif since is None:
            self.blocked_since = now
        self.changed = self.changed or since is not self.blocked_since

    def _learn(self, limit: AdaptiveLimit, outcome: Outcome, now: float) -> None:
        if limit.ended(outcome, self.full, now):
            self.width = limit.width
            self.changed = self.changed or limit.moved

    def _restore(self, config: Destination, now: float, snapshot: Snapshot) -> LimitState | None:
        """Take over a snapshot. If the configuration has changed since the snapshot, the change has the
        same effects as in `configure`. Returns the adaptive limit in the snapshot. None: the snapshot has
        no limit, or the URL has changed since the snapshot."""
        seen = config.version if snapshot.seen is None else snapshot.seen
        moved, enabled = config.moved_version > seen, config.enabled_version > seen
        if snapshot.circuit is not None:
            kept = snapshot.circuit
            self.circuit.reopen(
                kept.opened_at, kept.next_probe_at, kept.tries, now, quiet=kept.quiet
            )
        if not moved and snapshot.paused_until is not None and snapshot.paused_until > now:
            # Shorten the wait if necessary: it can be too long if the clock was set back.
            left = retry_after_s(config, snapshot.paused_until - now)
            self.paused_until = now + left
        if not moved and snapshot.blocked_since is not None:
            # A step of the clock can have put `blocked_since` after `now`.
            self.blocked_since = min(snapshot.blocked_since, now)
        if snapshot.gone_version is not None:
            self.overdue = snapshot.overdue
            settled = moved or enabled or self._hold_ends(config)
            self.gone_version = None if settled else config.version
        if enabled or moved:
            self.circuit.repaired(now)
            self.failing.restart(now)
        if snapshot.seen != config.version:
            self.changed = True
        return None if moved else snapshot.limit


# Seconds since the epoch are floats, exact to 0.2 us. When a wait for a token ends, the bucket can
# therefore lack a tiny part of the token. The token is taken anyway, and the missing part remains as a
# negative level, so that rounding errors do not add up.
_ROUNDING_S = 1e-6


class TokenBucket:
    """A destination's rate limit: a token bucket that holds one second's tokens, but at least one."""

    __slots__ = ("_at", "_tokens", "capacity", "rate")

    def __init__(self, rate: float, now: float, tokens: float | None = None) -> None:
        self.rate = rate
        self.capacity = max(1.0, rate)
        self._tokens = self.capacity if tokens is None else min(max(0.0, tokens), self.capacity)
        self._at = now

    def available(self, now: float) -> int:
        self._fill(now)
        return int(self._tokens + self.rate * _ROUNDING_S + 1e-9)

    def spend(self, count: int) -> None:
        """Take tokens that `available` has just shown."""
        self._tokens -= count

    def next_at(self, now: float) -> float:
        """Return when the next attempt may begin, in whole milliseconds, rounded up."""
        self._fill(now)
        return math.ceil((now + max(0.0, 1.0 - self._tokens) / self.rate) * 1000) / 1000

    def clock_stepped(self, by_s: float) -> None:
        self._at += by_s

    def level(self, now: float) -> float:
        self._fill(now)
        return self._tokens

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._tokens = min(self.capacity, self._tokens + (now - self._at) * self.rate)
            self._at = now
