"""The trouble log: it tells the operator of circuits, disabled destinations and dead letters.

It stands before the announcer and gets the same calls. A line names the destination and says what
happened. Dead letters are summed for each destination and minute. The lines of a minute are bounded, so
that failing receivers do not fill a disk; lines that are left out are counted.
"""

from collections.abc import Mapping
from typing import Any

import structlog
import trio
from msgspec import Struct
from pydantic.alias_generators import to_snake

from engine.recording.announcer import (
    CIRCUIT_CLOSED,
    DEAD_LETTERED,
    AnnounceOnce,
)

SUM_S = 60.0  # dead letters of so long make one line a destination
LINES = 60  # between two sums, and in a sum: a line a second at the most
DESTINATIONS = (
    # destinations whose dead letters are told separately, some MB; those of others are only counted
    10_000
)
_ABOUT = ("destinationId", "destinationName")  # which each line has first

log = structlog.get_logger("angarium.trouble")


class DeadLetters(Struct):
    """Dead letters of one destination since the last sum."""

    environment: int
    count: int
    last: Mapping[str, Any]  # the last announcement


class TroubleLog:
    """Owner of the dead letters that are not told yet. Call it to announce; see `AnnounceOnce`."""

    def __init__(self, announce: AnnounceOnce) -> None:
        self._announce = announce
        self._dead: dict[str, DeadLetters] = {}
        self._others = 0  # dead letters of destinations beyond `DESTINATIONS`
        self._lines = 0
        self._untold = 0

    def __call__(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None,
        occasion: str,
        hops: int = 0,
    ) -> None:
        """Note what happened, and announce it."""
        if event_type == DEAD_LETTERED:
            self._count(environment, payload)
        else:
            self._tell(environment, event_type, payload)
        self._announce(environment, event_type, payload, customer, occasion, hops)

    async def run(self) -> None:
        """Sum up once a minute until cancelled, and then a last time."""
        try:
            while True:
                await trio.sleep(SUM_S)
                self.sum_up()
        finally:
            self.sum_up()

    def sum_up(self) -> None:
        """Write what is not told yet: the destinations with the most dead letters first."""
        dead, self._dead = self._dead, {}
        worst = sorted(dead.items(), key=lambda item: -item[1].count)
        for destination, letters in worst[:LINES]:
            log.warning(
                "deliveries.dead_lettered",
                destination=destination,
                name=letters.last["destinationName"],
                environment=letters.environment,
                count=letters.count,
                last_delivery=letters.last["deliveryId"],
                last_error=letters.last["lastError"],
                error_category=letters.last["errorCategory"],
                response_status=letters.last["responseStatus"],
                remedy="mend the receiver, then `angarium dlq retry --destination ID`",
            )
        others = self._others + sum(letters.count for _, letters in worst[LINES:])
        if others or self._untold:
            log.warning("trouble.left_out", dead_letters=others, lines=self._untold)
        self._others = self._lines = self._untold = 0

    def _count(self, environment: int, payload: Mapping[str, Any]) -> None:
        destination = payload["destinationId"]
        letters = self._dead.get(destination)
        if letters is not None:
            letters.count += 1
            letters.last = payload
        elif len(self._dead) < DESTINATIONS:
            self._dead[destination] = DeadLetters(environment, 1, payload)
        else:
            self._others += 1

    def _tell(self, environment: int, event_type: str, payload: Mapping[str, Any]) -> None:
        if self._lines >= LINES:
            self._untold += 1
            return
        self._lines += 1
        write = log.info if event_type == CIRCUIT_CLOSED else log.warning
        write(
            event_type.removeprefix("angarium."),
            destination=payload["destinationId"],
            name=payload["destinationName"],
            environment=environment,
            **{to_snake(name): value for name, value in payload.items() if name not in _ABOUT},
        )
