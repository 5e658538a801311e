"""One node's part in the distribution of leases: the state machine of each place that it holds.

It reads the lease rows and returns commands. There is no leader: each command is one guarded update,
and a guard that no longer holds changes nothing. Nothing here awaits.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from engine.nodes.placement import placement
from engine.nodes.records import Kind, Lease


class Tenure(StrEnum):
    """The state of a place that this node holds. A place that it does not hold has no state."""

    WORKING = "WORKING"
    DRAINING = "DRAINING"  # starts nothing new; ends by `drained`
    RELEASING = "RELEASING"  # nothing of it runs here; the lease row is still ours


class Begin(Struct, frozen=True):
    """Work of a home slot or shard, which this node holds by `lease`. The store says what must be
    done."""

    lease: Lease


class Resume(Struct, frozen=True):
    """Work again for a place that was to be drained, by the same lease."""

    lease: Lease


class Drain(Struct, frozen=True):
    """Start nothing new for a place, end what runs, then call `drained`."""

    lease: Lease


class Cease(Struct, frozen=True):
    """Stop at once: another node has the place. Whatever still runs can write nothing."""

    lease: Lease


class Take(Struct, frozen=True):
    """Write this node as the holder of `lease`, whose holder is dead or nobody."""

    lease: Lease


class HandOver(Struct, frozen=True):
    """Write the node `to` as the holder of `lease`, for which this node does nothing any more."""

    lease: Lease
    to: str


Command = Begin | Resume | Drain | Cease | Take | HandOver


class _Held(Struct):
    """A place that this node holds."""

    lease: Lease
    state: Tenure = Tenure.WORKING


class Leases:
    """The places that a node holds, by what it has seen. Owner: the node's membership."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._held: dict[tuple[Kind, int], _Held] = {}
        self._weights: dict[str, float] = {}
        self._wanted: dict[Kind, tuple[str | None, ...]] = {
            kind: placement(kind, {}) for kind in Kind
        }

    def decide(self, leases: Iterable[Lease], weights: Mapping[str, float]) -> list[Command]:
        """Return the commands that follow from a look at lease rows.

        `weights` has all live nodes, this one among them; a node that is to give all away has weight 0.
        Commands for the store (Take, HandOver) return again with each look until the rows have changed.
        """
        if self._weights != weights:
            self._weights = dict(weights)
            self._wanted = {kind: placement(kind, weights) for kind in Kind}
        commands: list[Command] = []
        for lease in leases:
            if lease.holder == self._me:
                commands += self._mine(lease)
            else:
                commands += self._of_another(lease)
        return commands

    def drained(self, kind: Kind, place: int) -> list[Command]:
        """Note that nothing of a place runs here any more. Meaningless unless the place is draining."""
        held = self._held.get((kind, place))
        if held is None or held.state is not Tenure.DRAINING:
            return []
        held.state = Tenure.RELEASING
        return self._released(held)

    def renewed(self, kind: Kind, epoch: int) -> None:
        """Note that this node itself has raised the epoch of all its leases of a kind."""
        for held in self._held.values():
            if held.lease.kind is kind:
                held.lease = Lease(kind, held.lease.place, self._me, epoch)

    def state(self, kind: Kind, place: int) -> Tenure | None:
        """Return the state of a place; None where another node has it, as far as is known."""
        held = self._held.get((kind, place))
        return None if held is None else held.state

    def _mine(self, lease: Lease) -> list[Command]:
        key = (lease.kind, lease.place)
        held = self._held.get(key)
        if held is not None and held.lease.epoch > lease.epoch:
            return []  # a look from before our own renewal
        commands: list[Command] = []
        if held is not None and held.lease.epoch < lease.epoch:
            commands.append(Cease(held.lease))  # lost and given back between two looks
            held = None
        if held is None:
            held = self._held[key] = _Held(lease)
            commands.append(Begin(lease))
        return commands + self._moved(held)

    def _moved(self, held: _Held) -> list[Command]:
        """Return what follows from the place's wanted node, for a place that is ours."""
        to = self._wanted[held.lease.kind][held.lease.place]
        stays = to is None or to == self._me
        if held.state is Tenure.WORKING:
            if stays:
                return []
            held.state = Tenure.DRAINING
            return [Drain(held.lease)]
        if stays:
            held.state = Tenure.WORKING
            return [Resume(held.lease)]
        return self._released(held) if held.state is Tenure.RELEASING else []

    def _released(self, held: _Held) -> list[Command]:
        to = self._wanted[held.lease.kind][held.lease.place]
        if to is None or to == self._me:
            return []  # the next look resumes it
        return [HandOver(held.lease, to)]

    def _of_another(self, lease: Lease) -> list[Command]:
        commands: list[Command] = []
        held = self._held.get((lease.kind, lease.place))
        if held is not None and held.lease.epoch >= lease.epoch:
            return []  # a look from before we took it
        if held is not None:
            del self._held[lease.kind, lease.place]
            commands.append(Cease(held.lease))
        alive = lease.holder in self._weights
        if not alive and self._wanted[lease.kind][lease.place] == self._me:
            commands.append(Take(lease))
        return commands
