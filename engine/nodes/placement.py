"""The placement of parts on machines: which machine's process does the work of each part.

Every node computes the same placement from the same rows. Nothing here awaits, and nothing is drawn by
lot: rendezvous hashing decides where counts are equal.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from engine.nodes.liveness import Liveness, NodeRow

# Looks in a row at which a part belongs on another machine, before it is handed over: a machine that is
# just starting or stopping must not move it to and fro.
STEADY_LOOKS = 4


class PartPlaces(Struct, frozen=True):
    """The parts, as the rows of nodes show them. `holders`: the machine that works for each part, if
    any. `offers`: the machines that can work for each part, and are not drained."""

    holders: Mapping[int, str]
    offers: Mapping[int, frozenset[str]]


def places_of(rows: Iterable[NodeRow], parts: int) -> PartPlaces:
    """Return the places of `parts` parts. `rows` are of nodes that are not dead."""
    holders: dict[int, str] = {}
    offers: dict[int, set[str]] = {part: set() for part in range(parts)}
    for row in rows:
        if row.part.of != parts:
            continue  # a server of another number of parts: it shares no work with these
        if row.active:
            holders[row.part.number] = row.machine
        if not row.drained:
            offers[row.part.number].add(row.machine)
    return PartPlaces(holders, {part: frozenset(machines) for part, machines in offers.items()})


def placement(places: PartPlaces) -> dict[int, str]:
    """Return the machine that each part belongs on. A part that no machine can work for is left out.

    The numbers of parts on machines differ by one at most. If the placement was balanced, only the
    parts of a machine that leaves and the share of a machine that joins move: a machine keeps the parts
    that it holds, up to its share.
    """
    machines = sorted(frozenset().union(*places.offers.values()))
    if not machines:
        return dict(places.holders)
    held = Counter(holder for holder in places.holders.values() if holder in machines)
    share, extra = divmod(len(places.offers), len(machines))
    # The machine with the most parts keeps one more: otherwise parts would move without making it more
    # even.
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
        elif offers:  # none has room, but a drained machine would never be rid of it
            placed[part] = max(offers, key=lambda machine: weight(part, machine))
    return placed


def _ranked(machine: str, parts: Iterable[int]) -> Sequence[int]:
    return sorted(parts, key=lambda part: weight(part, machine), reverse=True)


def weight(part: int, machine: str) -> bytes:
    """Return the weight of a part on a machine, by rendezvous hashing; the largest weight wins."""
    return blake2b(f"{part}/{machine}".encode(), digest_size=8).digest()


def belongs_on(liveness: Liveness, part: int, parts: int) -> str | None:
    """Return the machine that a part belongs on, as a node sees all nodes; None if no machine can work
    for it."""
    return placement(places_of(liveness.live_rows(), parts)).get(part)


class MoveWatch:
    """The decision of a part's holder to hand the part over. `machine` is the holder's."""

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self._looks = 0  # in a row at which the part belonged elsewhere

    def leaves(self, belongs_on: str | None) -> bool:
        """Take a look; return whether the part is to be handed over now."""
        self._looks = self._looks + 1 if belongs_on not in (None, self._machine) else 0
        return self._looks >= STEADY_LOOKS
