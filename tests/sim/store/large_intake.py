"""The simulated store of large groups. It writes a large group in several parts, in one transaction. A
fault can strike at each part.

When the transaction writes its first part, it locks the right to write. When it writes its last part, it
locks the backlog rows.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import trio
from msgspec.structs import replace

from engine.core.records import Delivery
from engine.ports import Acceptance, Claimed, IntakeGroup
from tests.sim.store.intake import SimulatedIntake, prepared, require_values
from tests.sim.store.tables import Tables
from tests.sim.transaction import Transaction

PART_ROWS = 3  # events and deliveries of a part: few, so that the batches of histories have several


def accept_part(
    tables: Tables, part: IntakeGroup, base: int, into: Transaction, process: int, epoch: int
) -> dict[str, Claimed]:
    """Add a part of a large group to a transaction. `base`: the seq of the part's first delivery. Return
    the events of the part that are not written, in the form of `Ready.lost`."""
    into.require_open()
    require_values(part)
    tables.rights.require_intake(process, epoch)
    tables.rights.hold(into, process)
    ready = prepared(tables, part, base, into)
    into.write(ready.write)
    return ready.lost


def parts_of(group: IntakeGroup) -> Iterator[tuple[int, IntakeGroup]]:
    """Yield the parts of a group, each with the number of deliveries in the parts before it. The base of
    a part is the base of the group (`Acceptance.base`) plus this number. The last part has only the
    backlog rows and the customers. Its number is 0, because backlog rows need the base of the group."""
    deliveries: dict[str, list[Delivery]] = defaultdict(list)
    for each in group.deliveries:
        deliveries[each.event.id].append(each)
    claims = {each.event: each for each in group.claims}
    bare = replace(group, events=[], deliveries=[], claims=[], customers=[], dirty=[], files=[])
    place = 0
    events = list(group.events)
    while events:
        part = replace(bare, events=[], deliveries=[], claims=[])
        while events and len(part.events) + len(part.deliveries) < PART_ROWS:
            event = events.pop(0)
            part.events.append(event)
            part.deliveries += deliveries[event.id]
            part.claims += [claims[event.id]] if event.id in claims else []
        yield place, part
        place += len(part.deliveries)
    if group.customers or group.dirty:
        yield 0, replace(bare, customers=group.customers, dirty=group.dirty)


class SimulatedLargeIntake(SimulatedIntake):
    """The simulated `engine.ports.IntakeStore` for groups that are not urgent."""

    async def _write(self, group: IntakeGroup) -> Acceptance:
        if len(group.events) + len(group.deliveries) <= PART_ROWS:
            return await super()._write(group)
        return await self.connection.by_right(partial(self._write_parts, group))

    async def _write_parts(self, group: IntakeGroup, process: int, epoch: int) -> Acceptance:
        tables, connection = self._tables, self.connection
        lost: dict[str, Claimed] = {}
        async with connection.transaction() as into:
            base = await connection.run("draw", tables.draw)
            for place, part in parts_of(group):
                await trio.lowlevel.checkpoint_if_cancelled()
                work = partial(accept_part, tables, part, base + place, into, process, epoch)
                lost |= await connection.run("accept part", work)
            await connection.run("commit", into.commit)
        return Acceptance(base, lost)
