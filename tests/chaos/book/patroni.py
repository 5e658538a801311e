"""Faults of a database that Patroni manages: a switch-over of its leader, or the loss of the leader's
machine."""

import time

from tests.chaos.book.disturbance import DATABASE, ROAD, Disturbance
from tests.chaos.patroni import LOOK_S, READY_S, Pair
from tests.chaos.world import World


class PatroniTrouble(Disturbance):
    """A fault of the leader while each commit waits for the standby."""

    touches = frozenset({DATABASE, ROAD})

    @classmethod
    def possible(cls, world: World) -> bool:
        return isinstance(world.primary, Pair)

    @property
    def pair(self) -> Pair:
        assert isinstance(self.world.primary, Pair)
        return self.world.primary

    def end(self) -> None:
        self.pair.wait_safe()
        self.world.server.wait_ready(READY_S)


class SwitchedOver(PatroniTrouble):
    """The standby becomes the leader, as when an operator runs `patronictl switchover`."""

    def begin(self) -> None:
        leader = self.pair.wait_safe()
        other = next(each for each in self.pair.members if each is not leader)
        wanted = {"leader": leader.name, "candidate": other.name}
        status, told = leader.ask("/switchover", wanted)
        self.world.timeline.note("switch-over", to=other.name, told=told)
        if status != 200:
            raise RuntimeError(f"Patroni refuses the switch-over: {told}")


class LeaderLost(PatroniTrouble):
    """Signal 9 to the leader's PostgreSQL and its Patroni. The standby takes over by itself."""

    kills = 1

    def begin(self) -> None:
        self.lost = self.pair.wait_safe()
        self.lost.kill()

    def end(self) -> None:
        give_up = time.monotonic() + READY_S
        while self.pair.leader() is None:
            if time.monotonic() > give_up:
                raise RuntimeError("the standby does not take over from the lost leader")
            time.sleep(LOOK_S)
        self.lost.start()  # from now on it is a standby
        super().end()


BOOK: tuple[type[Disturbance], ...] = (SwitchedOver, SwitchedOver, LeaderLost, SwitchedOver)
