"""The trouble log: it logs failing destinations, circuits and dead letters for the operator, and
announces them by Angarium's own events.

In each minute, the first `SINGLY` dead letters of a destination are announced by an event each. Its other
dead letters of this minute are announced by one event, which has their number. The log has one line for
all dead letters of a destination in a minute.

The number of lines in a minute is limited, so that failing receivers do not fill a disk.
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
    DEAD_LETTERS,
    RECOVERED,
    AnnounceOnce,
)

SUM_S = 60.0  # the log has one line for a destination's dead letters of this time
SINGLY = 10  # dead letters of a destination that are announced one by one in each `SUM_S`
# The limit on the log's lines about dead letters in a minute. The lines about destinations and circuits
# have a limit of their own, which is as high.
LINES = 60
DESTINATIONS = (
    # The limit on the destinations that have a count of dead letters. 10,000 counts take some MB. Each
    # dead letter of a destination without a count is announced by an event of its own.
    10_000
)
_GOOD_NEWS = CIRCUIT_CLOSED, RECOVERED
_ABOUT = ("destinationId", "destinationName")

log = structlog.get_logger("angarium.trouble")


class DeadLetters(Struct):
    """Dead letters of one destination since the last sum."""

    environment: int
    count: int
    last: Mapping[str, Any]  # the last announcement
    customer: str | None
    hops: int  # the largest number of hops of an event whose dead letter is only in the sum


class TroubleLog:
    """Owner of the counts of dead letters since the last `sum_up`. To announce one of Angarium's own
    events, call the `TroubleLog` like an `AnnounceOnce`."""

    def __init__(self, announce: AnnounceOnce) -> None:
        self._announce = announce
        self._dead: dict[str, DeadLetters] = {}
        self._others = 0  # dead letters of destinations beyond `DESTINATIONS`
        self._lines = 0
        self._lines_left_out = 0

    def __call__(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None,
        occasion: str,
        hops: int = 0,
    ) -> None:
        """Announce an event and log it.

        A dead letter is not logged now: `sum_up` logs the numbers of dead letters. The first `SINGLY`
        dead letters of a destination since the last `sum_up` are announced now, each by an event of its
        own. Further dead letters are not announced now: `sum_up` announces their number. But if the
        destination has no count (see `DESTINATIONS`), all its dead letters are announced now.
        """
        if event_type != DEAD_LETTERED:
            self._tell(environment, event_type, payload)
        elif not self._count(environment, payload, customer, hops):
            return
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
        """Log each destination's number of dead letters, for the `LINES` destinations with the most.

        The first `SINGLY` dead letters of a destination were announced when they came, each by an event
        of its own. If the destination had further dead letters, announce their number now, by one event.
        """
        dead, self._dead = self._dead, {}
        for letters in dead.values():
            if letters.count > SINGLY:
                self._announce_sum(letters)
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
                remedy="fix the receiver, then `angarium dlq retry --destination ID`",
            )
        others = self._others + sum(letters.count for _, letters in worst[LINES:])
        if others or self._lines_left_out:
            log.warning("trouble.left_out", dead_letters=others, lines=self._lines_left_out)
        self._others = self._lines = self._lines_left_out = 0

    def _count(
        self, environment: int, payload: Mapping[str, Any], customer: str | None, hops: int
    ) -> bool:
        """Count a dead letter. Return True if it must be announced by an event of its own."""
        destination = payload["destinationId"]
        letters = self._dead.get(destination)
        if letters is None:
            if len(self._dead) < DESTINATIONS:
                self._dead[destination] = DeadLetters(environment, 1, payload, customer, 0)
            else:
                self._others += 1
            return True
        letters.count += 1
        letters.last = payload
        if letters.count <= SINGLY:
            return True
        letters.hops = max(letters.hops, hops)
        return False

    def _announce_sum(self, letters: DeadLetters) -> None:
        last = letters.last
        payload = {
            "destinationId": last["destinationId"],
            "destinationName": last["destinationName"],
            "count": letters.count - SINGLY,
            "lastDeliveryId": last["deliveryId"],
            "errorCategory": last["errorCategory"],
            "responseStatus": last["responseStatus"],
            "lastError": last["lastError"],
            "deadLetteredAt": last["deadLetteredAt"],
        }
        occasion = f"{last['destinationId']}:{last['deliveryId']}"
        self._announce(
            letters.environment, DEAD_LETTERS, payload, letters.customer, occasion, letters.hops
        )

    def _tell(self, environment: int, event_type: str, payload: Mapping[str, Any]) -> None:
        if self._lines >= LINES:
            self._lines_left_out += 1
            return
        self._lines += 1
        write = log.info if event_type in _GOOD_NEWS else log.warning
        write(
            event_type.removeprefix("angarium."),
            destination=payload["destinationId"],
            name=payload["destinationName"],
            environment=environment,
            **{to_snake(name): value for name, value in payload.items() if name not in _ABOUT},
        )
