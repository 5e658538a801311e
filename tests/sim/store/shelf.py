"""One destination's deliveries, in the orders of the real indexes."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from heapq import merge

from engine.core.vocabulary import DeliveryClass, DeliveryTrouble
from tests.sim.store.stored import StoredDelivery


class Shelf:
    """Rows by id, and by seq within each class."""

    def __init__(self) -> None:
        self.rows: dict[str, StoredDelivery] = {}
        self._ids: list[str] = []
        self._seqs: dict[DeliveryClass, list[int]] = {each: [] for each in DeliveryClass}
        self._by_seq: dict[int, StoredDelivery] = {}

    def add(self, row: StoredDelivery) -> None:
        self.rows[row.id] = row
        insort(self._ids, row.id)
        self._place(row)

    def move(self, row: StoredDelivery, seq: int) -> None:
        seqs = self._seqs[row.queue]
        del seqs[bisect_left(seqs, row.seq)]
        del self._by_seq[row.seq]
        row.seq = seq
        self._place(row)

    def _place(self, row: StoredDelivery) -> None:
        assert row.seq not in self._by_seq, f"two deliveries with seq {row.seq}"
        insort(self._seqs[row.queue], row.seq)
        self._by_seq[row.seq] = row

    def queue(self, classes: Sequence[DeliveryClass], after: int) -> Iterator[StoredDelivery]:
        """Return all rows of these delivery classes with a seq above `after`, in order of seq."""
        queues = [self._above(each, after) for each in classes]
        return map(self._by_seq.__getitem__, queues[0] if len(queues) == 1 else merge(*queues))

    def _above(self, queue: DeliveryClass, after: int) -> list[int]:
        seqs = self._seqs[queue]
        return seqs[bisect_right(seqs, after) :]

    def last(self, queue: DeliveryClass) -> int | None:
        seqs = self._seqs[queue]
        return seqs[-1] if seqs else None

    def between(self, after: str, below: str) -> Iterator[StoredDelivery]:
        """Return rows with ids above `after` and below `below`, in order of id."""
        first, last = bisect_right(self._ids, after), bisect_left(self._ids, below)
        return map(self.rows.__getitem__, self._ids[first:last])

    def troubled(self, trouble: DeliveryTrouble) -> list[StoredDelivery]:
        """Return the rows of a partial index, in order of id."""
        return [row for row in map(self.rows.__getitem__, self._ids) if row.trouble is trouble]
