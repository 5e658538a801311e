"""The decision whether and when to retry a call. No clock, no network."""

from dataclasses import dataclass

SURELY_REFUSED = frozenset({429, 503})  # the service says that the call had no effect
DOUBTFUL = frozenset({408, 500, 502, 504})  # the call can have had an effect


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with jitter (half to all of a delay), never before the service's
    Retry-After.

    With the defaults and without Retry-After, the delays are 4 s at most together, which covers a
    restart of the service. If Retry-After is more than a minute, there is no retry, so that the
    caller can decide.
    """

    retries: int = 4
    first_delay_s: float = 0.25
    longest_delay_s: float = 8.0
    longest_retry_after_s: float = 60.0

    def delay_s(
        self,
        attempt: int,
        *,
        status: int | None,
        repeatable: bool,
        reached: bool,
        retry_after_s: float | None,
        jitter: float,
    ) -> float | None:
        """Return how long to wait after attempt number `attempt` (from 1), None to give up.

        `status` is None if there was no answer. `reached`: the request can have arrived. `repeatable`:
        two calls have the same effect as one. `jitter` is in [0, 1).
        """
        if attempt > self.retries:
            return None
        if status is None:
            if reached and not repeatable:
                return None
        elif status not in SURELY_REFUSED and not (status in DOUBTFUL and repeatable):
            return None
        if retry_after_s is not None and retry_after_s > self.longest_retry_after_s:
            return None
        backoff = min(self.longest_delay_s, self.first_delay_s * 2.0 ** (attempt - 1)) * (
            0.5 + jitter / 2
        )
        return max(backoff, retry_after_s or 0.0)


def retry_after_s(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, None without one. The service never sends dates."""
    if value is None or not (value.isascii() and value.strip().isdigit()):
        return None
    return float(value)
