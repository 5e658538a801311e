"""A transaction of several statements: the rows that they write are locked, and invisible before its
commit.

It ends with its commit, or when a statement that waits for its locks aborts it. Nothing here awaits.
"""

from collections.abc import Callable

from engine.ports import StoreAwayError


class LockedError(Exception):
    """Raised by a statement that meets a lock of a transaction. The statement waits until the transaction
    has ended, then runs again from its beginning. If it waits longer than `patience_s`, it aborts the
    transaction."""

    def __init__(self, transaction: "Transaction", patience_s: float | None = None) -> None:
        super().__init__("a row is locked")
        self.transaction = transaction
        self.patience_s = patience_s


class Transaction:
    """A transaction, with the work of its statements so far. `open`: the transaction can still be
    committed."""

    def __init__(self) -> None:
        self.open = True
        self.events: set[tuple[int, str]] = set()  # rows that it has written, by their keys
        self.deliveries: set[tuple[int, str]] = set()
        self.locked: set[tuple[int, str]] = set()  # backlog rows
        self._writes: list[Callable[[], None]] = []
        self._waiting: list[Callable[[], None]] = []

    def write(self, work: Callable[[], None]) -> None:
        self._writes.append(work)

    def commit(self) -> None:
        """Raises StoreAwayError if the transaction has ended."""
        self.require_open()
        for work in self._writes:
            work()
        self.end()

    def require_open(self) -> None:
        """Raise StoreAwayError if the transaction has ended, as if its connection had been closed."""
        if not self.open:
            raise StoreAwayError("57P01 terminating connection due to administrator command")

    def end(self) -> None:
        if not self.open:
            return
        self.open = False
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each()

    def after(self, call: Callable[[], None]) -> None:
        self._waiting.append(call)
