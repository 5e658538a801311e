"""The resolver of names, with its own threads and a short cache. A name has one look-up at a time.

The system's resolver blocks and cannot be cancelled, so a tenant whose name servers hang can hold only
a few of the threads. A numeric address is resolved like a name. Nothing here judges an address.
"""

import errno
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import outcome
import trio

from engine.core.vocabulary import ErrorCategory
from engine.runtime.fair_queue import FairWaiters
from engine.runtime.tally import Tally
from engine.wire.failure import WireError

T = TypeVar("T")
THREADS = 32
THREADS_WORKSPACE = 4  # and at most as many as stay free
# The cache keeps the addresses of a name for this time. The time is long enough that a busy destination
# needs few look-ups, and short enough that changed addresses are noticed soon.
FOUND_S = 15.0
FAILED_S = 2.0
CACHE_NAMES = 4096

Addresses = tuple[tuple[socket.AddressFamily, str], ...]
Resolution = Addresses | WireError
Lookup = Callable[[str], Addresses]


def system_lookup(host: str) -> Addresses:
    """Ask the system's resolver. Raises OSError, or UnicodeError for an impossible name (`a..b`)."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return tuple(dict.fromkeys((family, str(address[0])) for family, *_, address in found))


class Future(Generic[T]):
    """A value that a callback passes to a task."""

    def __init__(self) -> None:
        self.value: T | None = None
        self._came = trio.Event()

    def put(self, value: T) -> None:
        self.value = value
        self._came.set()

    async def get(self) -> T:
        await self._came.wait()
        assert self.value is not None
        return self.value


class Waiter:
    """A caller that waits for an answer. After `cancel`, the caller gets no answer."""

    __slots__ = ("_forget", "callback")

    def __init__(
        self, callback: Callable[[Resolution], None], forget: Callable[["Waiter"], None]
    ) -> None:
        self.callback: Callable[[Resolution], None] | None = callback
        self._forget = forget

    def cancel(self) -> None:
        """Do not call back. Harmless after the call."""
        if self.callback is not None:
            self.callback = None
            self._forget(self)

    def answer(self, answer: Resolution) -> None:
        """Call back, once."""
        callback, self.callback = self.callback, None
        if callback is not None:
            callback(answer)


@dataclass(slots=True, eq=False)
class Question:
    """A name that is being looked up, or waits for a thread."""

    host: str
    waiters: dict[Waiter, None] = field(default_factory=dict)  # in the order in which they asked
    payer: str | None = None  # the workspace that the thread counts for, once it has begun
    queued: set[str] = field(default_factory=set)  # the workspaces in whose queues it waits


class Resolver:
    """Owner of the threads and of the cached answers; used on the trio thread only."""

    def __init__(self, lookup: Lookup = system_lookup) -> None:
        self._lookup = lookup
        self._token = trio.lowlevel.current_trio_token()
        self._cache: dict[str, tuple[float, Resolution]] = {}
        self._questions: dict[str, Question] = {}
        self._queue: FairWaiters[str, Question] = FairWaiters()
        self._active = Tally()  # threads

    def known(self, host: str) -> Resolution | None:
        """Return a recent answer, or None."""
        entry = self._cache.get(host)
        if entry is None or entry[0] <= trio.current_time():
            return None
        return entry[1]

    def ask(self, host: str, workspace: str, callback: Callable[[Resolution], None]) -> Waiter:
        """Look `host` up and call back on the trio thread, later."""
        found = self._questions.get(host)
        question = self._questions[host] = Question(host) if found is None else found
        waiter = Waiter(callback, lambda waiter: self._leave(question, waiter))
        question.waiters[waiter] = None
        if question.payer is None and workspace not in question.queued:
            # The name waits in the queue of each workspace that asks for it. Once one of these workspaces
            # can have a thread, the look-up begins, and its thread counts for that workspace. So no
            # workspace waits because another workspace has used its share of the threads.
            question.queued.add(workspace)
            self._queue.put(workspace, question)
            self._begin_some()
        return waiter

    async def addresses(self, host: str, workspace: str) -> Resolution:
        """Return a recent answer, or look `host` up."""
        known = self.known(host)
        if known is not None:
            return known
        found = Future[Resolution]()
        waiter = self.ask(host, workspace, found.put)
        try:
            return await found.get()
        finally:
            waiter.cancel()

    @property
    def threads(self) -> int:
        return self._active.total

    @property
    def waiting(self) -> int:
        return len(self._questions) - self.threads

    def _leave(self, question: Question, waiter: Waiter) -> None:
        """Remove the waiter. If the name is still queued and has no other waiter, remove the name from
        the queue: otherwise such names would fill the queue while name servers hang.
        """
        question.waiters.pop(waiter, None)
        if question.waiters or question.payer is not None:
            return
        if self._questions.get(question.host) is question:
            del self._questions[question.host]
            self._unqueue(question)

    def _unqueue(self, question: Question) -> None:
        for workspace in question.queued:
            self._queue.leave(workspace, question)
        question.queued.clear()

    def _begin_some(self) -> None:
        # `take` examines all waiting workspaces, so it is called only while a thread is free.
        while self.threads < THREADS and (found := self._queue.take(self._may_begin)) is not None:
            workspace, question = found
            self._begin(question, workspace)

    def _may_begin(self, workspace: str) -> bool:
        free = THREADS - self.threads
        return self._active.of(workspace) < min(THREADS_WORKSPACE, free)

    def _begin(self, question: Question, workspace: str) -> None:
        self._unqueue(question)
        question.payer = workspace
        self._active.add(workspace)
        try:
            trio.lowlevel.start_thread_soon(
                lambda: self._lookup(question.host),
                lambda result: self._hand_over(question, result),
                "resolver",
            )
        except RuntimeError:  # the system refused a thread; it can give one later
            refused = outcome.Error(OSError(errno.EAGAIN, "no thread"))
            self._token.run_sync_soon(self._end, question, refused)

    def _hand_over(self, question: Question, result: outcome.Outcome[Addresses]) -> None:
        """Runs in the look-up's thread."""
        try:
            self._token.run_sync_soon(self._end, question, result)
        except trio.RunFinishedError:
            return  # the process is ending, and no caller waits any more

    def _end(self, question: Question, result: outcome.Outcome[Addresses]) -> None:
        self._active.remove(question.payer or "")
        del self._questions[question.host]
        answer = _answer(result)
        self._remember(question.host, answer)
        self._begin_some()
        waiters = list(question.waiters)
        # The waiters and the question refer to each other. Clearing the question's list breaks this
        # cycle. Otherwise these objects would stay in memory until garbage collection.
        question.waiters.clear()
        for waiter in waiters:
            waiter.answer(answer)

    def _remember(self, host: str, answer: Resolution) -> None:
        self._cache.pop(host, None)
        while len(self._cache) >= CACHE_NAMES:
            del self._cache[next(iter(self._cache))]
        keep_s = FAILED_S if isinstance(answer, WireError) else FOUND_S
        self._cache[host] = (trio.current_time() + keep_s, answer)


def _answer(result: outcome.Outcome[Addresses]) -> Resolution:
    try:
        addresses: Sequence[tuple[socket.AddressFamily, str]] = result.unwrap()
    except UnicodeError:
        return WireError(ErrorCategory.DNS, "the host is not a name that can be resolved")
    except socket.gaierror as error:
        return WireError(ErrorCategory.DNS, f"the name could not be resolved ({error.strerror})")
    except OSError:
        return WireError(ErrorCategory.DNS, "the name could not be resolved")
    if not addresses:
        return WireError(ErrorCategory.DNS, "the name has no addresses")
    return tuple(addresses)
