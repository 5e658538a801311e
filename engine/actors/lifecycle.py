"""The lifecycle of a destination's actor: its states, and what it leaves behind when it retires.

`TRANSITIONS` has the next state for each state and signal. The diagram in docs/states.md is made from
this table.
"""

from enum import Enum, IntEnum, auto

from msgspec import Struct

READ_AGAIN_S = 1.0  # pause after a failed read for a new state machine


class ActorState(IntEnum):
    """The states of an actor between activation and passivation."""

    FRESH = 0  # the store has no deliveries for it: only its snapshot is read
    STARTING = 1  # the store is being read for its state machine
    RUNNING = 2
    BACKING_OFF = 3
    # the actor has dropped its state machine, but earlier attempts or settlements can still be under way
    RESTARTING = 4
    RETIRED = 5

    @property
    def shown(self) -> str:
        """The word for the state in reports."""
        return _SHOWN.get(self, self).name

    @property
    def is_restarting(self) -> bool:
        """True if the next state machine begins with a new read of the store."""
        return self is _A.BACKING_OFF or self is _A.RESTARTING


class ActorSignal(IntEnum):
    """The events in the life of an actor."""

    READ = 0
    BEGIN = 1
    # the actor drops its state machine: the destination's ordering changed, or deliveries may not have
    # reached the actor
    RESTART = 2
    CRASH = 3
    BACKOFF_OVER = 4
    RETIRE = 5


class Leave(Enum):
    """The next step of an actor without messages."""

    RETIRE = auto()
    FLUSH = auto()  # write backlog row and snapshot: the process is about to end


_A, _S = ActorState, ActorSignal
_SHOWN = {_A.FRESH: _A.STARTING, _A.BACKING_OFF: _A.RESTARTING}
TRANSITIONS: dict[tuple[ActorState, ActorSignal], ActorState | None] = {
    (_A.FRESH, _S.READ): None,  # None: cannot happen
    (_A.FRESH, _S.BEGIN): _A.RUNNING,
    (_A.FRESH, _S.RESTART): _A.RESTARTING,
    (_A.FRESH, _S.CRASH): _A.BACKING_OFF,
    (_A.FRESH, _S.BACKOFF_OVER): None,
    (_A.FRESH, _S.RETIRE): None,
    (_A.STARTING, _S.READ): _A.STARTING,  # a second read: the first failed, or the ordering changed
    (_A.STARTING, _S.BEGIN): _A.RUNNING,
    (_A.STARTING, _S.RESTART): _A.RESTARTING,
    (_A.STARTING, _S.CRASH): _A.BACKING_OFF,
    (_A.STARTING, _S.BACKOFF_OVER): None,
    (_A.STARTING, _S.RETIRE): None,
    (_A.RUNNING, _S.READ): None,
    (_A.RUNNING, _S.BEGIN): None,
    (_A.RUNNING, _S.RESTART): _A.RESTARTING,
    (_A.RUNNING, _S.CRASH): _A.BACKING_OFF,
    (_A.RUNNING, _S.BACKOFF_OVER): None,
    (_A.RUNNING, _S.RETIRE): _A.RETIRED,
    (_A.BACKING_OFF, _S.READ): None,
    (_A.BACKING_OFF, _S.BEGIN): None,
    (_A.BACKING_OFF, _S.RESTART): _A.BACKING_OFF,
    (_A.BACKING_OFF, _S.CRASH): _A.BACKING_OFF,  # the store refused a settlement
    (_A.BACKING_OFF, _S.BACKOFF_OVER): _A.RESTARTING,
    (_A.BACKING_OFF, _S.RETIRE): None,
    (_A.RESTARTING, _S.READ): _A.STARTING,  # the last attempt and settlement have ended
    (_A.RESTARTING, _S.BEGIN): None,
    (_A.RESTARTING, _S.RESTART): _A.RESTARTING,
    (_A.RESTARTING, _S.CRASH): _A.BACKING_OFF,
    (_A.RESTARTING, _S.BACKOFF_OVER): None,
    (_A.RESTARTING, _S.RETIRE): None,
    (_A.RETIRED, _S.READ): None,
    (_A.RETIRED, _S.BEGIN): None,
    (_A.RETIRED, _S.RESTART): None,
    (_A.RETIRED, _S.CRASH): _A.BACKING_OFF,  # the directory failed to remove it
    (_A.RETIRED, _S.BACKOFF_OVER): None,
    (_A.RETIRED, _S.RETIRE): None,
}


def next_state(state: ActorState, signal: ActorSignal) -> ActorState:
    """Return the state after `signal`. Raises AssertionError for a pair that cannot happen."""
    after = TRANSITIONS[state, signal]
    if after is None:
        raise AssertionError(f"a {state.name} actor cannot meet {signal.name}")
    return after


class Departure(Struct, frozen=True):
    """The data that an actor leaves to the directory when it leaves memory. `clean`: no delivery is
    unsettled. `sleeping`: the waker activates the destination again at the time in the backlog row."""

    clean: bool
    sleeping: bool
    low_seq: int
    waiting: int

    def dormant(self, environment: int) -> "Dormant":
        return Dormant(environment, self.low_seq, self.waiting, self.sleeping)


class Dormant(Struct, gc=False):
    """A destination with unsettled deliveries and without an actor."""

    environment: int
    low_seq: int
    waiting: int  # as far as the number is known
    sleeping: bool = False
