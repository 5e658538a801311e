"""Faults of the network to the database: delay, little bandwidth, silence, half-open or reset
connections, and connections that end in the middle of a message.
"""

from tests.chaos.book.disturbance import ROAD, Disturbance
from tests.chaos.proxy import DOWN, UP

LATENCIES_S = (0.005, 0.03, 0.15)
BANDWIDTHS = (20_000, 200_000)  # bytes a second


class Slow(Disturbance):
    """Every message takes longer."""

    touches = frozenset({ROAD})
    for_s = (0.5, 3.0)

    def begin(self) -> None:
        self.world.proxy.tell(latency_s=self.chance.choice(LATENCIES_S))

    def end(self) -> None:
        self.world.proxy.tell(latency_s=0.0)


class Narrow(Disturbance):
    touches = frozenset({ROAD})
    for_s = (0.5, 3.0)

    def begin(self) -> None:
        self.world.proxy.tell(bytes_s=self.chance.choice(BANDWIDTHS))

    def end(self) -> None:
        self.world.proxy.tell(bytes_s=float("inf"))


class BlackHole(Disturbance):
    """For a while no byte passes, and no connection closes. Then bytes pass again."""

    touches = frozenset({ROAD})
    for_s = (0.5, 6.0)

    def begin(self) -> None:
        self.world.proxy.tell(frozen=True)

    def end(self) -> None:
        self.world.proxy.tell(frozen=False)


class HalfOpen(Disturbance):
    """The database's end of each connection is gone, but the server does not learn of it."""

    touches = frozenset({ROAD})

    def begin(self) -> None:
        self.world.proxy.tell(do="halve")


class CutOff(Disturbance):
    """All connections are reset, and no new one is accepted for a while."""

    touches = frozenset({ROAD})
    for_s = (0.0, 3.0)

    def begin(self) -> None:
        self.world.proxy.tell(refusing=True, do="reset")

    def end(self) -> None:
        self.world.proxy.tell(refusing=False)


class CutWithinAStatement(Disturbance):
    """A connection ends when only half of a statement has passed. The database therefore does not run the
    statement.
    """

    touches = frozenset({ROAD})
    for_s = (0.2, 0.6)
    weight = 2
    way = UP

    def begin(self) -> None:
        self.world.proxy.tell(cut=self.way)

    def end(self) -> None:
        self.world.proxy.tell(cut=None)


class CutWithinAnAnswer(CutWithinAStatement):
    """A connection ends when only half of an answer has passed. The statement ran, but its result is
    lost.
    """

    way = DOWN


BOOK: tuple[type[Disturbance], ...] = (
    Slow,
    Narrow,
    BlackHole,
    HalfOpen,
    CutOff,
    CutWithinAStatement,
    CutWithinAnAnswer,
)
