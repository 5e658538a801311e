"""The failures in a row of one destination, which decide whether it counts as failing.

A destination begins to fail after ten failures in a row of any kind. It also begins to fail an hour after
a single failure, if in the whole hour deliveries waited and no attempt succeeded. The destination
recovers with its next success.
"""

from engine.core.snapshot import FailureRow

FAILURES_TO_FAIL = 10
SILENT_S = 3600.0


class Failing:
    """Owner of a destination's failures in a row. Instants are seconds since the epoch."""

    __slots__ = ("began_at", "failures", "quiet", "restarted_at", "silent_since", "since")

    def __init__(self, kept: FailureRow | None, now: float) -> None:
        self.failures = 0
        self.began_at: float | None = None  # the first failure after the last success
        self.since: float | None = None  # when the destination began to count as failing
        # since when deliveries have waited and failed without a success
        self.silent_since: float | None = None
        self.restarted_at: float | None = None  # when the count of failing time restarted
        self.quiet = True  # only deliveries of Angarium's own events have failed
        if kept is not None:
            self.failures, self.quiet = kept.failures, kept.quiet
            self.since = None if kept.since is None else min(kept.since, now)
            self.restarted_at = None if kept.restarted_at is None else min(kept.restarted_at, now)
            silent = kept.silent_since
            self.silent_since = None if silent is None else min(silent, now)
            began = [at for at in (kept.began_at, silent, kept.since, now) if at is not None]
            self.began_at = min(began)  # an older release's snapshot lacks `began_at`

    def failed(self, now: float, *, own: bool) -> bool:
        """Count a failure. `own`: the delivery carries one of Angarium's own events. Returns True if a
        new snapshot must be written."""
        self.failures += 1
        loud = self.quiet and not own
        self.quiet = self.quiet and own
        if self.silent_since is None:
            self.silent_since = now
            if self.began_at is None:
                self.began_at = now
        if self.since is None and self.failures >= FAILURES_TO_FAIL:
            self.since = now
            return True
        return loud and self.since is not None

    def succeeded(self) -> bool:
        """Count a success. Returns True if the destination was failing."""
        recovered = self.since is not None
        self.failures, self.quiet = 0, True
        self.began_at = self.since = self.silent_since = self.restarted_at = None
        return recovered

    def due_at(self) -> float | None:
        """Return when the destination will count as failing if no delivery succeeds before then. None in
        two cases: the destination counts as failing already, or no attempt has failed since deliveries
        began to wait."""
        if self.since is not None or self.silent_since is None:
            return None
        return self.silent_since + SILENT_S

    def before(self, due: float | None) -> float | None:
        fails = self.due_at()
        return due if due is None or fails is None else min(due, fails)

    def look(self, now: float, *, waits: bool) -> bool:
        """Note whether deliveries wait now. If they wait, and the instant that `due_at` returns has come,
        the destination begins to count as failing with this call. Returns True in this case."""
        if not waits:
            self.silent_since = None
            return False
        due = self.due_at()
        if due is None or now < due:
            return False
        self.since = now
        return True

    def restart(self, now: float) -> None:
        """Restart the time that `fails_longer` measures, because an operator changed the destination."""
        if self.since is not None:
            self.restarted_at = now

    def clock_stepped(self, by_s: float) -> None:
        self.began_at = None if self.began_at is None else self.began_at + by_s
        self.since = None if self.since is None else self.since + by_s
        self.silent_since = None if self.silent_since is None else self.silent_since + by_s
        self.restarted_at = None if self.restarted_at is None else self.restarted_at + by_s

    def fails_longer(self, than_s: float, now: float) -> bool:
        """Return True if the destination has counted as failing for at least `than_s` seconds. The time
        before the last call of `restart` does not count."""
        return self.since is not None and now - max(self.since, self.restarted_at or 0.0) >= than_s

    def row(self) -> FailureRow | None:
        if not self.failures:
            return None
        return FailureRow(
            self.failures,
            self.quiet,
            self.silent_since,
            self.since,
            self.restarted_at,
            self.began_at,
        )
