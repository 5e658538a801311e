"""The wait until a server has finished its work. The wait watches the server's CPU, and sends requests
only once the server rests, because requests use CPU too."""

import time
from collections.abc import Callable

from bench.checks import Broken
from bench.service import Service, call

LOOK_S = 0.05
# A server rests if it and its database together used at most two clock ticks of CPU in the last 0.15 s
# (`RESTING_LOOKS` times `LOOK_S`). Two ticks are allowed, because timers, leases and PostgreSQL's
# background writer always use some milliseconds a second. If the server does not rest within `UPKEEP_S`,
# only the server's CPU counts from then on, not the database's.
RESTING_S = 0.021
RESTING_LOOKS = 3
UPKEEP_S = 1.0  # the wait for the database's own work after a run, such as autovacuum
SETTLE_S = 60.0  # the longest wait until all outcomes are recorded, including those of retries


def resting(service: Service, settled: Callable[[], bool]) -> tuple[float, float]:
    """Wait until a server rests and has recorded all outcomes. Return the CPU seconds that the server and
    its database had used when the rest began. Raises Broken if outcomes stay unrecorded."""
    give_up = time.monotonic() + SETTLE_S
    while True:
        found = _rests(service, give_up)
        if settled():
            return found
        if time.monotonic() > give_up:
            raise Broken("deliveries stay unrecorded")


def _rests(service: Service, give_up: float) -> tuple[float, float]:
    looks: list[tuple[float, float]] = [service.cpu_s()]
    upkeep = time.monotonic() + UPKEEP_S
    while True:
        time.sleep(LOOK_S)
        looks.append(service.cpu_s())
        if len(looks) <= RESTING_LOOKS:
            continue
        then, now = looks[-1 - RESTING_LOOKS], looks[-1]
        patient = time.monotonic() < upkeep
        spent = now[0] - then[0] + (now[1] - then[1] if patient else 0.0)
        if spent <= RESTING_S or time.monotonic() > give_up:
            return then


def recorded(service: Service, key: str = "", destination: str = "") -> bool:
    """Return True if an environment has no unsettled delivery. `key` is an API key of the environment
    (default: `service.key`). With `destination`, only deliveries to this destination count."""
    narrowed = f"&destinationId={destination}" if destination else ""
    return not any(
        call(
            "GET",
            f"{service.url}/deliveries?status={status}&limit=1{narrowed}",
            None,
            key or service.key,
        )["items"]
        for status in ("PENDING", "DELIVERING")
    )
