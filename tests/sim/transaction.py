"""A transaction of several statements: what they did is seen by nobody before its commit, and locked.

It is the database's: it ends with its commit, or when whoever waits for it has its backend ended. Nothing
here awaits.
"""

from collections.abc import Callable

from engine.ports import StoreAwayError


class LockedError(Exception):
    """A statement has to wait until a transaction has ended, and is then done from its beginning on.
    After `patience_s` whoever waits has the transaction's backend ended."""

    def __init__(self, transaction: "Transaction", patience_s: float | None = None) -> None:
        super().__init__("a row is locked")
        self.transaction = transaction
        self.patience_s = patience_s


class Transaction:
    """What the parts of one group have done so far. `open`: it may still be committed."""

    def __init__(self) -> None:
        self.open = True
        self.events: set[tuple[int, str]] = set()  # rows that it has written, by their keys
        self.deliveries: set[tuple[int, str]] = set()
        self.locked: set[tuple[int, str]] = set()  # backlog rows
        self._writes: list[Callable[[], None]] = []
        self._waiting: list[Callable[[], None]] = []

    def write(self, work: Callable[[], None]) -> None:
        """Have something written by the commit."""
        self._writes.append(work)

    def commit(self) -> None:
        """Do what was to be written, all of it. Raises StoreAwayError where it has ended."""
        self.require_open()
        for work in self._writes:
            work()
        self.end()

    def require_open(self) -> None:
        """Raise StoreAwayError where it has ended: so has its backend."""
        if not self.open:
            raise StoreAwayError("57P01 terminating connection due to administrator command")

    def end(self) -> None:
        """Write nothing any more, and let go of whoever waits."""
        if not self.open:
            return
        self.open = False
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each()

    def after(self, call: Callable[[], None]) -> None:
        """Call something once it has ended."""
        self._waiting.append(call)
