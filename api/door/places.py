"""The places of the application: permits to run a request. Each running request holds one place, so the
number of places bounds the requests that run at once. Accounts share the places fairly.

An account is a workspace, a workspace's customer in an embed session, or the address of an unknown
client.
"""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

import trio

from api.entry import Entry
from engine.model.errors import Refusal
from engine.runtime.fair_queue import FairWaiters
from engine.runtime.tally import Tally

# The most requests that begin between two passes of the reactor. The framework takes 0.5 ms to begin a
# request.
STARTS = 4
# The most requests that wait for a place (a permit to run). Each waiting request takes about 10 KB. If
# more requests waited, some of them would wait longer than WAIT_S.
WAITING = 1_024
WAIT_S = 5.0  # the same as in `api.shares`, where requests of one workspace wait for each other
RETRY_AFTER_S = 1
NETWORK_BYTES = 8  # of an IPv6 address: one client can use a whole /64 network


@dataclass(frozen=True, slots=True)
class PlacesStatistics:
    """The present numbers, and the refusals since the start."""

    held: int
    waiting: int
    refused: int


class Places:
    """The owner of the places. `run` it beside the door."""

    def __init__(self, at_once: int, waiting: int = WAITING, wait_s: float = WAIT_S) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._wait_s = wait_s
        self._held = Tally()
        self._waiting: FairWaiters[str, Place] = FairWaiters()
        self._refused = 0
        self._news = trio.Event()

    async def take(self, account: str) -> "Place":
        """Wait for the account's turn, and return a place. Raises Refusal 503 if too many requests wait,
        or if this request has waited too long."""
        # An account can add a request only while it has fewer requests in the queue than the queue has
        # free entries. So one account never fills more than half of the queue, and the other half stays
        # free for other accounts.
        if self._waiting.waiting(account) >= self._most_waiting - self._waiting.count:
            raise self._refusal()
        place = Place(account, self._give_back)
        self._waiting.put(account, place)
        self._news.set()
        try:
            with trio.move_on_after(self._wait_s):
                await place.given.wait()
        except BaseException:
            if place.given.is_set():
                place.give_back()
            else:
                self._waiting.leave(account, place)
            raise
        if not place.given.is_set():
            self._waiting.leave(account, place)
            raise self._refusal()
        return place

    async def run(self) -> None:
        """Give places (permits to run) to waiting requests until cancelled. At most `STARTS` requests get
        a place between two passes of the reactor."""
        while True:
            await self._news.wait()
            self._news = trio.Event()
            while self._give(STARTS):
                await trio.lowlevel.checkpoint()

    def _give(self, most: int) -> bool:
        for _ in range(most):
            free = self._at_once - self._held.total
            found = self._waiting.take(self._may) if free else None
            if found is None:
                return False
            account, place = found
            self._held.add(account)
            place.given.set()
        return True

    def _may(self, account: str) -> bool:
        return self._held.of(account) < self._at_once - self._held.total

    def _give_back(self, account: str) -> None:
        self._held.remove(account)
        if self._waiting:
            self._news.set()

    def _refusal(self) -> Refusal:
        self._refused += 1
        return Refusal("overloaded", "too many requests at once", retry_after_s=RETRY_AFTER_S)

    def statistics(self) -> PlacesStatistics:
        """Return the present numbers."""
        return PlacesStatistics(self._held.total, self._waiting.count, self._refused)


class Place:
    """The place (permit to run) of one request. `given` is set when the request has the place and can
    begin."""

    __slots__ = ("_give_back", "account", "given")

    def __init__(self, account: str, give_back: Callable[[str], None]) -> None:
        self.account = account
        self.given = trio.Event()
        self._give_back: Callable[[str], None] | None = give_back

    def give_back(self) -> None:
        """Give the place back, so that another request can use the place. A second call does nothing."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None and self.given.is_set():
            give_back(self.account)


def account_of(entry: Entry | None, host: str) -> str:
    """Return the account whose share of the places a request uses."""
    known = None if entry is None else entry.account
    if known is not None:
        return known
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:  # the socket has no address
        return "address"
    return f"address {(address.packed if address.version == 4 else address.packed[:NETWORK_BYTES]).hex()}"


# Answers with fewer bytes than this are not counted, because the socket's buffer nearly always takes them
# at once.
LEAST_BYTES = 4 * 1024
UNTAKEN_RETRY_S = 2
TOO_MUCH_UNTAKEN = "too many bytes of answers wait to be read: read them, then try again"


class UntakenAnswers:
    """The budget for the bytes of answers that the server holds until the clients take them. HTTP/1.1 and
    HTTP/2 share the budget. Only the trio thread uses it."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._drawn_by: dict[str, int] = {}
        self.drawn = 0
        self.refused = 0

    def has_room(self, account: str, size: int = LEAST_BYTES) -> bool:
        """Return True if an account can draw `size` bytes more."""
        own = self._drawn_by.get(account, 0)
        return not own or own + size <= self._total - self.drawn

    def check(self, account: str) -> None:
        """Raise Refusal 503 if an account's clients read their answers too slowly. The check comes before
        a request begins."""
        if not self.has_room(account):
            self.refused += 1
            raise Refusal("overloaded", TOO_MUCH_UNTAKEN, retry_after_s=UNTAKEN_RETRY_S)

    def draw(self, account: str, size: int, *, must: bool = False) -> bool:
        """Take `size` bytes from the budget. If the budget has no room, return False and take nothing.
        With `must`, take the bytes even if the budget has no room."""
        if not must and not self.has_room(account, size):
            self.refused += 1
            return False
        self._drawn_by[account] = self._drawn_by.get(account, 0) + size
        self.drawn += size
        return True

    def give_back(self, account: str, size: int) -> None:
        """Give bytes back: the client has taken them, or is gone."""
        self.drawn -= size
        left = self._drawn_by[account] - size
        if left:
            self._drawn_by[account] = left
        else:
            del self._drawn_by[account]
