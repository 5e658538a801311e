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
