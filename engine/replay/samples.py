"""Samples of a job: the first originals that it would replay, of a few destinations."""

import math
from collections.abc import Callable, Sequence

from msgspec import structs

from engine.core.records import Delivery
from engine.model.identity import Identity
from engine.replay.admission import replay_of
from engine.replay.job import Leg, ReplayJob
from engine.replay.ports import Reading

SAMPLES = 3
SAMPLE_BYTES = 64 * 1024  # of payloads in one read: the first is read whole anyway
STRETCHES = 20  # that are read of one destination until there is a sample: some 0.1 s


class ReplaySamples:
    """Reads samples; it changes nothing."""

    def __init__(self, reading: Callable[[ReplayJob], Reading], identity: Identity) -> None:
        self._reading = reading
        self._identity = identity

    async def of(self, job: ReplayJob, legs: Sequence[Leg]) -> list[Delivery]:
        """Return deliveries as a job that has enqueued nothing would make them, at most `SAMPLES`."""
        found: list[Delivery] = []
        some = legs[:SAMPLES]
        for number, leg in enumerate(some):
            wanted = math.ceil((SAMPLES - len(found)) / (len(some) - number))
            found += await self._of_leg(job, leg, wanted)
        return [replay_of(each, self._identity.other(), job) for each in found]

    async def _of_leg(self, job: ReplayJob, leg: Leg, wanted: int) -> list[Delivery]:
        for _ in range(STRETCHES):
            stretch = await self._reading(job).read(job, leg, wanted, SAMPLE_BYTES)
            if stretch.originals or stretch.end:
                return stretch.originals
            leg = structs.replace(leg, cursor=stretch.through)
        return []
