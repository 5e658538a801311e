"""A transaction of several statements. Until the transaction is committed, the rows that its statements
write are locked, and other transactions do not see them.

A transaction ends when it is committed. A statement of another process can wait for a row that the
transaction has locked. If this wait is too long, the transaction is aborted, which also ends it.

No function of this module awaits.
"""

from collections.abc import Callable

from engine.ports import StoreAwayError


class LockedError(Exception):
    """A statement needs a row that `transaction`, another transaction, has locked. The statement waits
    until `transaction` has ended, and then runs again from its beginning. If the statement has waited for
    `patience_s`, the database aborts `transaction`, the holder of the lock. None: the statement sets no
    such limit."""

    def __init__(self, transaction: "Transaction", patience_s: float | None = None) -> None:
        super().__init__("a row is locked")
        self.transaction = transaction
        self.patience_s = patience_s


class Transaction:
    """A transaction, with the work of its statements so far. The field `open` is True as long as the
    transaction can be committed."""

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
