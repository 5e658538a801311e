"""The placement of parts on machines (computers): which machine's process does the work of each part.

Every node computes the same placement from the same rows. Nothing here awaits or is random.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from engine.nodes.liveness import Liveness, NodeRow, NodeState

# The process that holds a part computes the placement twice a second. It hands the part over after this
# many placements in a row that put the part on another machine. If it did so at once, the part would move
# back and forth while a machine starts or stops.
STEADY_LOOKS = 4


class PartPlaces(Struct, frozen=True):
    """The machines for each part, according to the table of nodes. `holders`: the machine that worked
    for the part last, if there is one. `offers`: the machines that can work for the part and are not
    drained."""

    holders: Mapping[int, str]
    offers: Mapping[int, frozenset[str]]


def places_of(rows: Iterable[NodeRow], parts: int, dead: Collection[NodeRow] = ()) -> PartPlaces:
    """Return, for each part, the machine that holds it, and the machines that can work for it and are
    not drained. `parts`: the number of parts. `dead`: the rows of dead nodes, which cannot work for any
    part.

    A dead node's machine still counts as the holder of the node's part. If the machine restarts the
    process, the part need not move.
    """
    holders: dict[int, str] = {}
    offers: dict[int, set[str]] = {part: set() for part in range(parts)}
    for row in rows:
        if row.part.of != parts:
            continue  # a server with another number of parts: it shares no work with these
        if row.active:
            holders[row.part.number] = row.machine
        if not row.drained and row not in dead:
            offers[row.part.number].add(row.machine)
    return PartPlaces(holders, {part: frozenset(machines) for part, machines in offers.items()})


def placement(places: PartPlaces) -> dict[int, str]:
    """Return the machine that each part belongs on. If no machine can work for a part, the part stays on
    the machine that holds it. If no machine holds this part either, the part is missing from the result.

    If every machine can work for every part, the numbers of parts per machine differ by at most one. A
    machine keeps the parts that it holds, up to its share. If a machine leaves a balanced placement, only
    the parts of this machine move. If a machine joins, parts move only to this machine.
    """
    machines = sorted(frozenset().union(*places.offers.values()))
    if not machines:
        return dict(places.holders)
    held = Counter(holder for holder in places.holders.values() if holder in machines)
    share, extra = divmod(len(places.offers), len(machines))
    # The larger shares go to the machines that hold the most parts, so that fewer parts move.
    first = sorted(machines, key=lambda machine: (-held[machine], machine))
    room = {machine: share + (place < extra) for place, machine in enumerate(first)}
    placed: dict[int, str] = {}
    for machine in machines:
        own = [part for part, holder in places.holders.items() if holder == machine]
        for part in _ranked(machine, own):
            if room[machine] and machine in places.offers[part]:
                placed[part] = machine
                room[machine] -= 1
    for part, offers in sorted(places.offers.items()):
        if part in placed:
            continue
        roomy = [machine for machine in offers if room[machine]]
        if roomy:
            placed[part] = max(roomy, key=lambda machine: weight(part, machine))
            room[placed[part]] -= 1
        elif part in places.holders and (not offers or places.holders[part] in offers):
            placed[part] = places.holders[part]
        elif offers:  # no machine has room, but a drained machine must lose the part
            placed[part] = max(offers, key=lambda machine: weight(part, machine))
    return placed


def _ranked(machine: str, parts: Iterable[int]) -> Sequence[int]:
    return sorted(parts, key=lambda part: weight(part, machine), reverse=True)


def weight(part: int, machine: str) -> bytes:
    """Return the weight of a part on a machine, by rendezvous hashing; the largest weight wins."""
    return blake2b(f"{part}/{machine}".encode(), digest_size=8).digest()


def belongs_on(liveness: Liveness, part: int, parts: int, without: str | None = None) -> str | None:
    """Return the machine that a part belongs on. Return None if no machine can work for the part and no
    machine holds the part.

    `liveness`: the states of the nodes. `parts`: the number of parts. `without`: a machine that is
    treated as absent.
    """
    rows = [row for row in liveness.rows if row.machine != without]
    dead = [row for row in rows if liveness.state(row.id) is NodeState.DEAD]
    return placement(places_of(rows, parts, dead)).get(part)


class MoveWatch:
    """Decides when `machine`, the holder of a part, must hand the part over to another machine."""

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self._looks = 0  # looks in a row at which the part belonged elsewhere

    def leaves(self, belongs_on: str | None) -> bool:
        """Record one more placement. `belongs_on`: the machine that the placement chose for the part, or
        None. Return True if the holder must hand the part over now: STEADY_LOOKS placements in a row have
        put the part on another machine."""
        self._looks = self._looks + 1 if belongs_on not in (None, self._machine) else 0
        return self._looks >= STEADY_LOOKS
