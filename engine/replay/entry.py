"""A chunk of replays on its way in, by the entrance."""

from collections.abc import Sequence

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryOrigin
from engine.ports import DirtyDestination
from engine.replay.ports import Chunk, ReplayStore


class ChunkEntry:
    """An `engine.intake.entrance.Entry`. Afterwards `passed` tells whether it was the chunk's turn."""

    def __init__(self, store: ReplayStore, chunk: Chunk) -> None:
        self._store = store
        self._chunk = chunk
        self.destinations: Sequence[tuple[int, str]] = [(chunk.environment, chunk.destination)]
        self.passed = False

    async def write(
        self, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> list[Delivery]:
        """Write the chunk; see the protocol."""
        written = await self._store.enqueue(self._chunk, base, dirty, again=again)
        if written.ids is None:
            return []
        self.passed = True
        present = set(written.ids)
        entered = []
        for seq, delivery in enumerate(self._chunk.deliveries, base):
            if delivery.id in present:
                delivery.seq = seq
                entered.append(delivery)
        return entered


def replay_of(original: Delivery, identifier: str, job: str) -> Delivery:
    """Return a new delivery of the same event to the same destination, of the same lane."""
    return Delivery(
        identifier,
        original.event,
        original.destination,
        DeliveryClass.REPLAY,
        original.lane,
        0,
        original.priority,
        original.kind,
        DeliveryOrigin.REPLAY,
        original.customer,
        replay_of=original.id,
        replay_job=job,
    )
