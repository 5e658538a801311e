"""The reports of a durable group of outcomes: to counters, to live windows, and to the announcer."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from engine.core.records import Settlement
from engine.ports import SettleGroup, SnapshotWrite
from engine.recording.feed import Feed
from engine.recording.measures import Measured, measured
from engine.recording.throughput import Traffic, counts_of


class Counting(Protocol):
    """The counter of durable outcomes by environment; see `engine.recording.throughput`."""

    def settled(self, counts: Mapping[int, Traffic]) -> None:
        """Count a group."""


class Announcing(Protocol):
    """The announcer of Angarium's own events; see `engine.recording.announcer`."""

    def dead(self, settlements: Sequence[Settlement]) -> None:
        """Announce dead letters."""

    def snapshots(self, writes: Sequence[SnapshotWrite]) -> None:
        """Announce the changes that the snapshots show."""


class CommitReports:
    """The listeners that are told of each commit: counters, the feed, and the announcer. A listener that
    is None is not told."""

    def __init__(
        self,
        totals: Counting | None,
        feed: Feed | None,
        announcer: Announcing | None,
        measures: Measured | None,
    ) -> None:
        self._totals = totals
        self._feed = feed
        self._announcer = announcer
        self._measures = measures

    def of(self, group: SettleGroup) -> list[Callable[[], None]]:
        """Return the calls to make when a group is durable."""
        settlements, announcer = group.settlements, self._announcer
        reports: list[Callable[[], None]] = []
        if self._totals is not None:
            reports.append(partial(self._totals.settled, counts_of(settlements)))
        if self._measures is not None:
            reports.append(partial(self._measures.add, measured(settlements)))
        if self._feed is not None:
            reports.append(partial(self._feed.settled, settlements))
        if announcer is None:
            return reports
        if group.snapshots:
            reports.append(partial(announcer.snapshots, group.snapshots))
        if dead := [each for each in settlements if each.dead_lettered]:
            reports.append(partial(announcer.dead, dead))
        return reports
