"""Fakes with real behavior: stores that keep their groups and can fail, and destinations that record
calls."""

from collections.abc import Callable, Collection, Iterable, Sequence

import trio

from engine.core.records import Delivery, Settlement
from engine.ports import Acceptance, Claimed, DirtyDestination, IntakeGroup, SettleGroup, StoreError
from tests.core.making import a_destination


class FakeIntakeStore:
    """Accepts groups. Each call takes the first element of `script`: an error to raise, or None for
    success."""

    def __init__(self) -> None:
        self.groups: list[IntakeGroup] = []
        self.keys: dict[tuple[int, str], Claimed] = {}
        self.written: dict[str, int] = {}
        self.script: list[Exception | None] = []
        self.forgotten: list[tuple[int, str]] = []
        self.poison: Callable[[IntakeGroup], StoreError | None] = lambda _: None
        self.gate: trio.Event | None = None
        self.overlaps = self.running = 0
        self.vanishing = False  # the holders of keys are gone when a loser looks for them
        self._group = 0

    async def accept(self, group: IntakeGroup) -> Acceptance:
        self.running += 1
        self.overlaps = max(self.overlaps, self.running)
        try:
            if self.gate is not None:
                await self.gate.wait()
            await trio.lowlevel.checkpoint()
            error = self.script.pop(0) if self.script else self.poison(group)
            if error is not None and not getattr(error, "commits", False):
                raise error
            acceptance = self._write(group)
            if error is not None:
                raise error
            return acceptance
        finally:
            self.running -= 1

    def _write(self, group: IntakeGroup) -> Acceptance:
        if group.again and group.events and group.events[0].id in self.written:
            return Acceptance(self.written[group.events[0].id], {})
        self._group += 1
        base = self._group << 20
        self.groups.append(group)
        lost: dict[str, Claimed] = {}
        for claim in group.claims:
            held = self.keys.setdefault(
                (claim.environment, claim.key), Claimed(claim.event, claim.deliveries, claim.digest)
            )
            if held.event != claim.event:
                lost[claim.event] = held
        self.written.update((event.id, base) for event in group.events if event.id not in lost)
        if self.vanishing:
            return Acceptance(base, {}, frozenset(lost))
        return Acceptance(base, lost)

    async def check(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.script and (error := self.script.pop(0)) is not None:
            raise error

    async def draw(self) -> int:
        assert self.running == 0, "a seq drawn beside an intake statement"
        await trio.lowlevel.checkpoint()
        error = self.script.pop(0) if self.script else None
        if error is not None:
            raise error
        self._group += 1
        return self._group << 20

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        assert self.running == 0, "a deletion beside an intake statement"
        await trio.lowlevel.checkpoint()
        error = self.script.pop(0) if self.script else None
        if error is not None:
            raise error
        self.forgotten += destinations


class FakeDestinations:
    """Records the deliveries that arrive."""

    def __init__(self) -> None:
        self.dirty: set[str] = set()
        self.deliveries: list[Delivery] = []
        self.doubtful: list[Delivery] = []
        self.doubts: list[tuple[list[tuple[int, str]], int]] = []
        self.forgettable: list[tuple[int, str]] = []
        self.spared: list[DirtyDestination] = []
        self.held = self.ended = 0

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        self.deliveries += deliveries
        self.dirty.update(each.destination for each in deliveries)

    def reread(self, deliveries: Sequence[Delivery]) -> None:
        self.doubtful += deliveries

    def doubt(self, destinations: Collection[tuple[int, str]], low_seq: int) -> None:
        self.doubts.append((list(destinations), low_seq))

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        self.spared += rows

    def progress(self) -> tuple[int, int]:
        return self.held, self.ended

    def take_forgettable(self, without: Collection[int]) -> list[tuple[int, str]]:
        taken = [each for each in self.forgettable if each[0] not in without]
        self.forgettable = [each for each in self.forgettable if each[0] in without]
        return taken


class FakeSettleStore:
    """Settles groups. Each call takes the first element of `script`: an error to raise, or None for
    success."""

    def __init__(self) -> None:
        self.groups: list[SettleGroup] = []
        self.script: list[StoreError | None] = []
        self.poison: Callable[[SettleGroup], StoreError | None] = lambda _: None

    async def settle(self, group: SettleGroup) -> None:
        await trio.lowlevel.checkpoint()
        error = self.script.pop(0) if self.script else self.poison(group)
        if error is not None:
            raise error
        self.groups.append(group)


class Owner:
    """Records durable outcomes and refusals."""

    def __init__(self, workspace: str = "w") -> None:
        self.config = a_destination(workspace=workspace)
        self.ordering = self.config.ordering
        self.durable: list[Settlement] = []
        self.refusals: list[Settlement] = []

    def committed(self, settlements: list[Settlement]) -> None:
        self.durable += settlements

    def refused(self, settlement: Settlement, error: Exception) -> None:
        self.refusals.append(settlement)
