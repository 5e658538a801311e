"""The machines (computers) of a history. Machines join, are drained or are lost, and each part belongs on
one of the machines.

The placement is the real `engine.nodes.placement`. For each part, every machine has a process, but only
one of these processes works. The others stand by.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from engine.nodes.liveness import NodeRow
from engine.nodes.parts import WorkerPart
from engine.nodes.placement import placement, places_of
from tests.sim.trace import Fault

if TYPE_CHECKING:
    from tests.sim.process import Process
    from tests.sim.world import World

MOST = 4  # machines at a time


class Machines:
    """Owner of the machines' names, and of their drains."""

    def __init__(self, world: "World", number: int) -> None:
        self._world = world
        self._chance = world.chance("machines")
        self._begun = 0
        self._names: list[str] = []
        self._drained: set[str] = set()
        for _ in range(number):
            self._begin()

    def _begin(self) -> str:
        self._begun += 1
        self._names.append(f"machine {self._begun}")
        return self._names[-1]

    def belongs_on(self, number: int, living: Iterable["Process"], parts: int) -> str | None:
        """None: no machine can work for the part."""
        return placement(places_of(self._rows(living, parts), parts)).get(number)

    def place(self, number: int, living: Iterable["Process"], parts: int) -> str:
        return self.belongs_on(number, living, parts) or self._names[0]

    def _rows(self, living: Iterable["Process"], parts: int) -> Iterator[NodeRow]:
        for machine in self._names:
            for number in range(parts):
                yield self._row(machine, WorkerPart(number, parts), active=False)
        for process in living:
            if not process.stalled:
                yield self._row(process.machine, process.part, active=True)

    def _row(self, machine: str, part: WorkerPart, *, active: bool) -> NodeRow:
        return NodeRow(
            id=f"{machine} {part.number}",
            name=machine,
            version="1",
            address=None,
            started_at_ms=0,
            beat=0,
            beat_age_s=0.0,
            locked=True,
            active=active,
            machine=machine,
            part=part,
            drained=machine in self._drained,
        )

    def strike(self, kind: str) -> str | None:
        """Return a lost machine's name."""
        left = [name for name in self._names if name not in self._drained]
        if kind == "join" and len(self._names) < MOST:
            self._world.tell(Fault, kind, self._begin())
        elif kind == "drain" and left:
            self._drained.add(self._told(kind, left))
        elif kind == "undrain" and self._drained:
            self._drained.remove(self._told(kind, sorted(self._drained)))
        elif kind == "lose" and len(self._names) > 1:
            lost = self._told(kind, self._names)
            self._names.remove(lost)
            self._drained.discard(lost)
            return lost
        return None

    def _told(self, kind: str, names: list[str]) -> str:
        name = self._chance.choice(names)
        self._world.tell(Fault, kind, name)
        return name

    def misplaced(self, living: Iterable["Process"]) -> list[str]:
        """Return a sentence for each part that is on a drained machine. If there is no such part, but the
        machines have unequal numbers of parts, return a sentence about that."""
        free = [name for name in self._names if name not in self._drained]
        if not free:
            return []
        working = list(living)
        found = [
            f"part {each.part.number} stays on {each.machine}, which is drained"
            for each in working
            if each.machine in self._drained
        ]
        held = Counter(dict.fromkeys(free, 0))
        held.update(each.machine for each in working)
        if not found and max(held.values()) - min(held.values()) > 1:
            found.append(f"the parts stay uneven: {dict(held)}")
        return found
