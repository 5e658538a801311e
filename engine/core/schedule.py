"""The retry schedule of a delivery. Instants are seconds since the epoch.

A PATCH can change the schedule while a delivery waits for its retry. There are three cases:

- The new schedule allows no further attempt. A delivery in memory becomes due at once. A delivery in the
  store becomes due when it is read. The read usually happens at its old due time or before. The read
  happens later if memory is full or if the destination is disabled. When the delivery is due, it is
  dead-lettered instead of sent.
- The delivery would wait for longer than `longest_wait_s` from now. Then it waits for `longest_wait_s`
  from now. For a delivery in the store, "now" is the time when it is read.
- Otherwise the delivery keeps its due time.
"""

import math

from engine.core.destination import Destination
from engine.core.records import Delivery

JITTER = 0.2  # part of a delay, up or down: spreads the retries of deliveries that failed together
RETRY_AFTER_CAP_S = 60.0  # the longest Retry-After of a destination without a schedule
_SLACK_S = 1.0  # rounding, and the moment between an attempt's end and its verdict


def longest_delay_s(config: Destination) -> int:
    return max(config.retry_schedule_s, default=0)


def longest_wait_s(config: Destination) -> float:
    """Return the longest wait for a retry that the schedule allows. If a delivery waits longer, the clock
    was wrong or the schedule was another when the wait began."""
    return longest_delay_s(config) * (1 + JITTER) + _SLACK_S


def retry_after_s(config: Destination, asked_s: float) -> float:
    """Return how long a Retry-After holds the destination: at most the schedule's longest delay."""
    return max(0.0, min(asked_s, longest_delay_s(config) or RETRY_AFTER_CAP_S))


def exhausted(delivery: Delivery, config: Destination) -> bool:
    return delivery.attempt_count - delivery.schedule_start > len(config.retry_schedule_s)


def retry_at(config: Destination, failures: int, now: float, chance: float) -> float | None:
    """Return when the next attempt is due. None: the schedule allows no further attempt. `failures`: how
    many attempts have failed since the schedule began. A requeue begins the schedule again.

    `chance` (random, 0 <= x < 1) spreads the delay by ±20 %. The result is rounded up to whole
    milliseconds, because the delivery's row stores the due time in milliseconds.
    """
    schedule = config.retry_schedule_s
    if failures > len(schedule):
        return None
    due = now + schedule[failures - 1] * (1 - JITTER + 2 * JITTER * chance)
    return math.ceil(due * 1000) / 1000
