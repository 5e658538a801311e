"""The states of a backlog's reader, and their transitions. A reader has at most one read under way."""

from enum import IntEnum


class ReadState(IntEnum):
    """The state of a backlog's reader."""

    IDLE = 0  # a read can be begun
    READING = 1
    VOID = 2  # a read is under way whose answer will be dropped
    RESTING = 3  # a read failed a moment ago
    STARVED = 4  # an answer found no room: nothing is read until room is free


class ReadSignal(IntEnum):
    """The events that change the reading of a backlog."""

    ASK = 0
    ANSWER = 1
    FAIL = 2
    FORGET = 3  # waiting deliveries leave memory, to be read again
    NO_ROOM = 4
    ROOM = 5
    RESTED = 6


_R, _S = ReadState, ReadSignal
TRANSITIONS: dict[tuple[ReadState, ReadSignal], ReadState | None] = {
    (_R.IDLE, _S.ASK): _R.READING,
    (_R.IDLE, _S.ANSWER): None,  # None: cannot happen
    (_R.IDLE, _S.FAIL): None,
    (_R.IDLE, _S.FORGET): _R.IDLE,
    (_R.IDLE, _S.NO_ROOM): _R.STARVED,
    (_R.IDLE, _S.ROOM): None,
    (_R.IDLE, _S.RESTED): None,
    (_R.READING, _S.ASK): None,
    (_R.READING, _S.ANSWER): _R.IDLE,
    (_R.READING, _S.FAIL): _R.RESTING,
    (_R.READING, _S.FORGET): _R.VOID,
    (_R.READING, _S.NO_ROOM): None,
    (_R.READING, _S.ROOM): None,
    (_R.READING, _S.RESTED): None,
    (_R.VOID, _S.ASK): None,
    (_R.VOID, _S.ANSWER): _R.IDLE,
    (_R.VOID, _S.FAIL): _R.RESTING,
    (_R.VOID, _S.FORGET): _R.VOID,
    (_R.VOID, _S.NO_ROOM): None,
    (_R.VOID, _S.ROOM): None,
    (_R.VOID, _S.RESTED): None,
    (_R.RESTING, _S.ASK): None,
    (_R.RESTING, _S.ANSWER): None,
    (_R.RESTING, _S.FAIL): None,
    (_R.RESTING, _S.FORGET): _R.RESTING,
    (_R.RESTING, _S.NO_ROOM): None,
    (_R.RESTING, _S.ROOM): None,
    (_R.RESTING, _S.RESTED): _R.IDLE,
    (_R.STARVED, _S.ASK): _R.READING,  # by ids, or of an archived destination
    (_R.STARVED, _S.ANSWER): None,
    (_R.STARVED, _S.FAIL): None,
    (_R.STARVED, _S.FORGET): _R.STARVED,
    (_R.STARVED, _S.NO_ROOM): None,
    (_R.STARVED, _S.ROOM): _R.IDLE,
    (_R.STARVED, _S.RESTED): None,
}
