"""The places in the application: a bounded number of requests in it at once, shared fairly by account.

An account is a workspace, a customer of one in an embed session, or a client's address where nobody is
known. Nothing here knows what a request is.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

import trio

from api.entry import Entry
from engine.model.errors import Refusal
from engine.runtime.tally import Tally

# Begun between two passes of the reactor: a request's first step in the framework takes some 0.5 ms.
STARTS = 4
# A place costs a waiting request about 10 KB, and past this one would wait for longer than WAIT_S.
WAITING = 1_024
WAIT_S = 5.0  # as a workspace's requests wait for each other (`api.shares`)
RETRY_AFTER_S = 1
NETWORK_BYTES = 8  # of an IPv6 address: what one client is given


@dataclass(frozen=True, slots=True)
class PlacesStatistics:
    """What is there now, and what was refused since the start."""

    held: int
    waiting: int
    refused: int


class Places:
    """Owner of the places. `run` it beside the door."""

    def __init__(self, at_once: int, waiting: int = WAITING, wait_s: float = WAIT_S) -> None:
        self._at_once = at_once
        self._most_waiting = waiting
        self._wait_s = wait_s
        self._held = Tally()
        # By account, whose turn it is next first: who was served goes to the end.
        self._lines: dict[str, deque[Place]] = {}
        self._waiting = 0
        self._refused = 0
        self._news = trio.Event()

    async def take(self, account: str) -> "Place":
        """Return a place, once it is the account's turn. Raises Refusal 503 where too many wait, or one
        waited too long; then nothing was begun."""
        line = self._lines.get(account)
        # Who takes no more than it leaves to others always leaves room for whoever comes next.
        if (0 if line is None else len(line)) >= self._most_waiting - self._waiting:
            raise self._refusal()
        place = Place(account, self._give_back)
        self._lines.setdefault(account, deque()).append(place)
        self._waiting += 1
        self._news.set()
        try:
            with trio.move_on_after(self._wait_s):
                await place.given.wait()
        except BaseException:
            if place.given.is_set():
                place.give_back()
            else:
                self._leave(place)
            raise
        if not place.given.is_set():
            self._leave(place)
            raise self._refusal()
        return place

    async def run(self) -> None:
        """Give places, a few between two passes of the reactor, until cancelled."""
        while True:
            await self._news.wait()
            self._news = trio.Event()
            while self._give(STARTS):
                await trio.lowlevel.checkpoint()

    def _give(self, most: int) -> bool:
        """Give places to those whose turn it is, so many at most; returns whether there may be more."""
        for _ in range(most):
            free = self._at_once - self._held.total
            if not free or not self._lines:
                return False
            account = next((each for each in self._lines if self._held.of(each) < free), None)
            if account is None:
                return False
            line = self._lines.pop(account)
            place = line.popleft()
            if line:
                self._lines[account] = line  # behind the others
            self._waiting -= 1
            self._held.add(account)
            place.given.set()
        return True

    def _leave(self, place: "Place") -> None:
        line = self._lines[place.account]
        line.remove(place)
        if not line:
            del self._lines[place.account]
        self._waiting -= 1

    def _give_back(self, account: str) -> None:
        self._held.remove(account)
        if self._lines:
            self._news.set()

    def _refusal(self) -> Refusal:
        self._refused += 1
        return Refusal("overloaded", "too many requests at once", retry_after_s=RETRY_AFTER_S)

    def statistics(self) -> PlacesStatistics:
        """Return what is going on."""
        return PlacesStatistics(self._held.total, self._waiting, self._refused)


class Place:
    """A place of an account. `given`: it is its turn. To give it back twice is harmless."""

    __slots__ = ("_give_back", "account", "given")

    def __init__(self, account: str, give_back: Callable[[str], None]) -> None:
        self.account = account
        self.given = trio.Event()
        self._give_back: Callable[[str], None] | None = give_back

    def give_back(self) -> None:
        """Let another request have it."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None and self.given.is_set():
            give_back(self.account)


def account_of(entry: Entry | None, host: str) -> str:
    """Return whose share of the places a request counts on."""
    known = None if entry is None else entry.account
    if known is not None:
        return known
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:  # of a socket that has no address
        return "address"
    return f"address {(address.packed if address.version == 4 else address.packed[:NETWORK_BYTES]).hex()}"
