"""The life of an actor in words: its phases, and what it leaves behind. Data only."""

from enum import IntEnum

from msgspec import Struct


class Phase(IntEnum):
    """Where an actor is between activation and passivation."""

    STARTING = 0  # the store is being read for its machine
    RUNNING = 1
    RESTARTING = 2  # its machine is gone, but not all that it had under way
    RETIRED = 3


class Departure(Struct, frozen=True):
    """What an actor leaves behind that was idle long enough. `clean`: nothing unsettled is left;
    `sleeping`: its row says when it is to be woken."""

    clean: bool
    sleeping: bool
    low_seq: int
    waiting: int


class Dormant(Struct, gc=False):
    """A destination without an actor whose backlog row says that something is unsettled."""

    environment: int
    low_seq: int
    waiting: int  # as far as is known
    sleeping: bool = False  # a retry is due some day, and its row says when
