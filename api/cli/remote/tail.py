"""The follower of deliveries.

A turn reads the newest pages of the list. Older deliveries that are not on these pages can still change
until they are settled. So a turn also reads `LOOKS` of the older, unsettled deliveries one by one. It
chooses those that were not read for the longest time.
"""

import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from api.cli.remote.output import note

if TYPE_CHECKING:
    from angarium import Client
    from angarium.shapes import DeliveryItem

PAGE = 100
MOST_PAGES = 10  # of new deliveries in one turn; further ones are skipped with a note
MOST_WATCHED = 1_000  # unsettled deliveries that are read again
# The number of deliveries that a turn reads one by one. With LOOKS = 2, a turn makes 3 requests: 2 for
# these deliveries, and 1 for the list. With the default interval between turns, the command makes 90
# requests a minute. The smallest plan allows 120 requests a minute.
LOOKS = 2
AWAY_S = 5.0  # between two attempts while the server does not respond
OPEN = ("PENDING", "DELIVERING", "RETRYING")


def follow(
    client: "Client", destination_id: str | None, lines: int, interval_s: float
) -> Iterator["DeliveryItem"]:
    """Yield the last deliveries, then each new delivery and each changed delivery, without end.

    Raises AngariumError if the first read fails. A later read is tried again if the connection or the
    server fails, or if the rate limit is reached. After any other failure of a later read, raises
    AngariumError.
    """
    from angarium import ConnectionFailedError, RateLimitedError, ServerError

    tail = _Tail(client, destination_id)
    yield from tail.first(lines)
    away = False
    while True:
        time.sleep(AWAY_S if away else interval_s)
        try:
            yield from tail.look()
        except (ConnectionFailedError, RateLimitedError, ServerError) as error:
            if not away:
                note(f"{error}; trying again")
            away = True
        else:
            away = False


class _Tail:
    def __init__(self, client: "Client", destination_id: str | None) -> None:
        self._client = client
        self._destination = destination_id
        self._highest = ""
        self._watched: OrderedDict[str, tuple[object, ...]] = OrderedDict()  # longest unread first

    def first(self, lines: int) -> Iterator["DeliveryItem"]:
        """Yield the last deliveries, the newest last."""
        page = self._client.deliveries.list(limit=PAGE, destination_id=self._destination)
        newest = page["items"][:lines]
        if page["items"]:
            self._highest = page["items"][0]["id"]
        for delivery in reversed(page["items"]):
            changed = self._changed(delivery)
            if changed and delivery in newest:
                yield delivery

    def look(self) -> Iterator["DeliveryItem"]:
        seen = set()
        for delivery in reversed(self._newest()):
            seen.add(delivery["id"])
            new = delivery["id"] > self._highest
            if self._changed(delivery) if delivery["id"] in self._watched else new:
                self._changed(delivery)
                yield delivery
            if new:
                self._highest = delivery["id"]
        for identifier in [each for each in self._watched if each not in seen][:LOOKS]:
            yield from self._again(identifier)

    def _newest(self) -> list["DeliveryItem"]:
        """Return the deliveries of the newest pages. Stop reading pages at a delivery that was seen
        before, or after `MOST_PAGES` pages."""
        found: list[DeliveryItem] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = self._client.deliveries.list(
                limit=PAGE, cursor=cursor, destination_id=self._destination
            )
            found += page["items"]
            cursor = page["nextCursor"]
            if cursor is None or not found or found[-1]["id"] <= self._highest:
                return found
        note("... too many new deliveries, some are not shown: see `angarium deliveries list`")
        return found

    def _again(self, identifier: str) -> Iterator["DeliveryItem"]:
        from angarium import NotFoundError

        try:
            detail = self._client.deliveries.get(identifier)
        except NotFoundError:  # retention has removed it
            del self._watched[identifier]
            return
        item: DeliveryItem = {name: detail[name] for name in _ITEM if name in detail}  # type: ignore[literal-required,assignment]  # a detail has all fields of an item
        if self._changed(item):
            yield item
        elif identifier in self._watched:
            self._watched.move_to_end(identifier)

    def _changed(self, delivery: "DeliveryItem") -> bool:
        """Remember a delivery's state. Return True if it has changed."""
        identifier = delivery["id"]
        state = (delivery["status"], delivery["attemptCount"], delivery["dlqStatus"])
        before = self._watched.pop(identifier, None)
        if delivery["status"] in OPEN:
            self._watched[identifier] = state
            if len(self._watched) > MOST_WATCHED:
                self._watched.popitem(last=False)
        return before != state


_ITEM = (
    "id", "eventId", "eventType", "destinationId", "environment", "status", "kind", "priority",
    "originKind", "isReplay", "attemptCount", "errorCategory", "responseStatus", "dlqStatus",
    "createdAt", "updatedAt", "nextAttemptAt", "deliveredAt",
)  # fmt: skip
