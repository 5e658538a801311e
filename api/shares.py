"""The shares of workspaces: the bound on one workspace's running requests.

If a workspace has reached this bound, its further requests wait in a queue. The requests in the queue
belong to callers: all requests with keys of the workspace belong to one caller, and each customer of the
workspace is a further caller. The callers in the queue take turns.

Without shares, the busiest workspace would use all connections to the database, and the event loop.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from heapq import heappop, heappush

import structlog
import trio

from engine.model.errors import Refusal
from engine.runtime.fair_queue import FairWaiters
from engine.runtime.slots import customers_places
from engine.runtime.tally import Tally
from engine.settings import Settings

# The limit on the waiting requests that a workspace makes with keys. The waiting requests of the
# workspace's customers have a limit of their own, of the same size. Each limit has room for one client,
# which sends about 100 requests at once over an HTTP/2 connection or a pool of HTTP/1.1 connections.
QUEUED = 128
WAIT_S = 5.0  # as long as a query waits for a connection
RETRY_AFTER_S = 1
# A workspace has a fixed number of places, and each running request uses one place. After the request, no
# other request can use the place for a time: the place rests. The duration of the rest is the request's
# duration multiplied by the number of the workspace's other places. A workspace that sends without pause
# therefore has one running request on average, however many connections it opens. The duration of a
# request counts as COUNTED_S seconds at most, because a longer request mostly waits for the database and
# does not load the event loop.
COUNTED_S = 0.05
QUEUED_CUSTOMER = 16  # running and waiting requests of a customer; browsers open fewer
# After a request, no other request can use its place for a time (see COUNTED_S). This time is longer if
# the workspace has more places, but it is at most MOST_REST_S. Without this limit, a place among hundreds
# could be unused for longer than a client waits.
MOST_REST_S = 1.0

log = structlog.get_logger("angarium.api")


class Share(Enum):
    """A kind of requests. For each kind, a bound limits the running requests of one workspace."""

    READS = "GET requests, and others that read from the log"
    WRITES = "other requests"
    OUTWARD = (
        "requests that wait for a receiver, the file store, a script's worker or other requests, and use "
        "no connection"
    )


@dataclass(frozen=True, slots=True)
class ShareStatistics:
    """The present numbers of workspaces and requests, and the number of refusals since the start."""

    workspaces: int  # with a request that runs or waits
    at_work: int
    waiting: int
    refused: int


KEYS = ""  # all keys of a workspace are one caller; a customer's name is its account


class _Waiter:
    __slots__ = ("given", "rested_at")

    def __init__(self) -> None:
        self.given = trio.Event()
        self.rested_at: float | None = None  # the end of the rest of its place


class _WorkspaceQueue:
    __slots__ = (
        "_most",
        "_together",
        "at_work",
        "refusal_logged",
        "rested_at",
        "sessions",
        "users",
        "waiting",
    )

    def __init__(self, at_once: int) -> None:
        self._most, self._together = customers_places(at_once)
        self.rested_at = [0.0] * at_once  # a heap: for each free place, when its rest ends
        self.at_work = Tally()  # by caller
        self.users = Tally()  # by caller: running and waiting
        self.sessions = 0  # running requests of customers
        self.waiting: FairWaiters[str, _Waiter] = FairWaiters()  # by caller
        self.refusal_logged = False  # a refusal was logged (once while the workspace has requests)

    def may_work(self, caller: str) -> bool:
        if caller == KEYS:
            return True
        return self.at_work.of(caller) < self._most and self.sessions < self._together

    def take(self, caller: str) -> float:
        self.at_work.add(caller)
        self.sessions += caller != KEYS
        return heappop(self.rested_at)

    def give_back(self, caller: str, rested_at: float) -> None:
        """Give a place back, for the next request in the queue."""
        self.at_work.remove(caller)
        self.sessions -= caller != KEYS
        heappush(self.rested_at, rested_at)
        while self.rested_at and (found := self.waiting.take(self.may_work)) is not None:
            waiting, waiter = found
            waiter.rested_at = self.take(waiting)
            waiter.given.set()


class WorkspaceShare:
    """The owner of the queues of one share. Used on the trio thread only."""

    def __init__(
        self,
        kind: str,
        at_once: int,
        queued: int = QUEUED,
        *,
        rests: bool = True,
    ) -> None:
        """`kind` is the share's name in the log. `at_once` is the limit on a workspace's running
        requests. `rests`: after each request, the place of the request stays unused for a time (see
        `COUNTED_S`)."""
        self._kind = kind
        self._rests = rests
        self._at_once = at_once
        self._most = at_once + queued
        self._queues: dict[str, _WorkspaceQueue] = {}
        self._refused = 0

    @asynccontextmanager
    async def place(self, workspace: str, caller: str = KEYS) -> AsyncIterator[None]:
        """Wait until the workspace can run one more request, and count the request as running while the
        `async with` block runs. The requests of one caller get their places in the order in which they
        came. Raises Refusal 503, before the block runs, if too many requests wait, or if this request has
        waited for `WAIT_S`. `caller` is KEYS for a request with a key, and the customer's account for a
        request of an embed session."""
        queue = self._queues.get(workspace)
        if queue is None:
            queue = self._queues[workspace] = _WorkspaceQueue(self._at_once)
        if not self._has_room(queue, caller):
            raise self._refusal(queue, workspace)
        queue.users.add(caller)
        try:
            with trio.move_on_after(WAIT_S) as patience:
                await self._take(queue, caller)
            if patience.cancelled_caught:
                raise self._refusal(queue, workspace)
            began = trio.current_time()
            try:
                yield
            finally:
                ended = trio.current_time()
                rest = min(min(ended - began, COUNTED_S) * (self._at_once - 1), MOST_REST_S)
                queue.give_back(caller, ended + rest if self._rests else ended)
        finally:
            queue.users.remove(caller)
            if not queue.users.total:
                del self._queues[workspace]

    def _has_room(self, queue: _WorkspaceQueue, caller: str) -> bool:
        """The requests with keys and the requests of customers are counted separately. Customers
        therefore cannot fill the queue of the keys."""
        keys = queue.users.of(KEYS)
        if caller == KEYS:
            return keys < self._most
        return queue.users.total - keys < self._most and queue.users.of(caller) < QUEUED_CUSTOMER

    @staticmethod
    async def _take(queue: _WorkspaceQueue, caller: str) -> None:
        if queue.rested_at and caller not in queue.waiting and queue.may_work(caller):
            at = queue.take(caller)
            await trio.lowlevel.cancel_shielded_checkpoint()
        else:
            waiter = _Waiter()
            queue.waiting.put(caller, waiter)
            try:
                await waiter.given.wait()
            except trio.Cancelled:
                if waiter.rested_at is None:
                    queue.waiting.leave(caller, waiter)
                else:
                    queue.give_back(caller, waiter.rested_at)
                raise
            assert waiter.rested_at is not None
            at = waiter.rested_at
        if at > trio.current_time():
            try:
                await trio.sleep_until(at)
            except trio.Cancelled:
                queue.give_back(caller, at)
                raise

    def statistics(self) -> ShareStatistics:
        queues = self._queues.values()
        at_work = sum(queue.at_work.total for queue in queues)
        return ShareStatistics(
            workspaces=len(queues),
            at_work=at_work,
            waiting=sum(queue.users.total for queue in queues) - at_work,
            refused=self._refused,
        )

    def _refusal(self, queue: _WorkspaceQueue, workspace: str) -> Refusal:
        self._refused += 1
        if not queue.refusal_logged:
            queue.refusal_logged = True
            log.warning("api.share_used_up", share=self._kind, workspace=workspace)
        message = f"too many requests of the workspace at once ({self._at_once} can run): try again"
        return Refusal("overloaded", message, retry_after_s=RETRY_AFTER_S)


@dataclass(frozen=True, slots=True)
class ControlShares:
    """The shares of the control plane."""

    reads: WorkspaceShare
    writes: WorkspaceShare
    outward: WorkspaceShare

    def of(self, method: str, share: Share | None) -> WorkspaceShare:
        kind = share or (Share.READS if method == "GET" else Share.WRITES)
        if kind is Share.READS:
            return self.reads
        return self.writes if kind is Share.WRITES else self.outward


def shares_of(settings: Settings) -> ControlShares:
    """Return the shares of a process."""
    return ControlShares(
        reads=WorkspaceShare("reads", settings.control_reads_workspace),
        writes=WorkspaceShare("writes", settings.control_writes_workspace),
        # A request of the kind OUTWARD (see `Share`) mostly waits, and hardly uses the event loop. When
        # the request has ended, its place is therefore free at once (`rests=False`).
        outward=WorkspaceShare("outward", settings.control_outward_workspace, rests=False),
    )
