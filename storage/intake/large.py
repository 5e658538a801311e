"""The store of large groups: written in parts within one transaction, all of them or none.

As one statement a thousand events would hold the loop for some 8 ms while its arguments are made.
Between two parts other tasks run. The transaction costs two more round trips.
"""

from collections.abc import Iterator

from engine.model.file_records import FileRecord
from engine.ports import Acceptance, Claimed, IntakeGroup
from storage.intake.store import DRAW, PostgresIntake

PART_ROWS = 128  # events and deliveries of a part: about half a millisecond of the loop


class _NotOursError(Exception):
    """The statement of a part found no right to write."""


class PostgresLargeIntake(PostgresIntake):
    """`engine.ports.IntakeStore` for groups that are not urgent, beside the store for all others."""

    async def _write(self, group: IntakeGroup, epoch: int) -> Acceptance | None:
        if len(group.events) + len(group.deliveries) <= PART_ROWS:
            return await super()._write(group, epoch)
        try:
            async with self._connection.transaction():
                return await self._write_parts(group, epoch)
        except _NotOursError:  # the right is renewed outside: the transaction was rolled back
            return None

    async def _write_parts(self, group: IntakeGroup, epoch: int) -> Acceptance:
        lost: dict[str, Claimed] = {}
        base = int(await self._connection.fetch_value(DRAW))
        for place, part in parts_of(group):
            acceptance = await self._run(part, epoch, base + place)
            if acceptance is None:
                raise _NotOursError
            lost |= acceptance.lost
        return Acceptance(base, lost)


def parts_of(group: IntakeGroup) -> Iterator[tuple[int, IntakeGroup]]:
    """Slice a group: events with all of their rows, and the number of deliveries before them. Rows of
    destinations and customers, which other statements may wait for, come last and alone: they are
    locked until the commit."""
    deliveries = group.deliveries  # in the order of their events
    claims = {claim.event: claim for claim in group.claims}
    files: dict[str, list[FileRecord]] = {}
    for file in group.files:
        files.setdefault(file.event, []).append(file)
    first = place = 0
    part = _part(group)
    for event in group.events:
        part.events.append(event)
        while place < len(deliveries) and deliveries[place].event.id == event.id:
            part.deliveries.append(deliveries[place])
            place += 1
        if event.id in claims:
            part.claims.append(claims[event.id])
        part.files += files.get(event.id, ())
        if len(part.events) + place - first >= PART_ROWS:
            yield first, part
            first, part = place, _part(group)
    if place < len(deliveries):
        raise ValueError("a group's deliveries are not in the order of its events")
    if part.events:
        yield first, part
    if group.customers or group.dirty:
        last = _part(group)
        last.customers, last.dirty = group.customers, group.dirty
        yield 0, last  # a backlog row's `low_seq` is the group's base


def _part(group: IntakeGroup) -> IntakeGroup:
    return IntakeGroup([], [], [], [], [], now_ms=group.now_ms, files=[])
