"""The intake's store for large groups of events. It divides a large group into parts, and writes each
part with a statement of its own. All these statements are in one transaction.

If one statement wrote a thousand events, the driver would occupy trio's loop for about 8 ms to encode the
arguments. Between the statements of a transaction, other tasks can run.
"""

from collections.abc import Iterator

from engine.model.file_records import FileRecord
from engine.ports import Acceptance, Claimed, IntakeGroup
from storage.intake.store import DRAW, PostgresIntake

PART_ROWS = 128  # events and deliveries of a part: about 0.5 ms of the loop


class _NotOursError(Exception):
    """The part of the group was not written. This process has lost the right to write, or a newer epoch
    has replaced the epoch of the statement."""


class PostgresLargeIntake(PostgresIntake):
    """Implements `engine.ports.IntakeStore` for groups that are not urgent."""

    async def _write(self, group: IntakeGroup, epoch: int) -> Acceptance | None:
        if len(group.events) + len(group.deliveries) <= PART_ROWS:
            return await super()._write(group, epoch)
        try:
            async with self._connection.transaction():
                return await self._write_parts(group, epoch)
        except _NotOursError:  # the caller renews the right, after this transaction's rollback
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
    """Yield the parts of a group, each with a number. The part's base is the group's base (the group's
    first seq) plus this number.

    A part with events has all rows of these events. Its number is the number of deliveries in the parts
    before it, so its base is its first seq. If the group has backlog rows or customers, one more part has
    these. This part comes last, because its rows stay locked until the commit, and other statements can
    wait for them. Its number is 0, because the `low_seq` of its backlog rows is the group's base.
    """
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
