"""The states of a backlog's reader: the table has a decision for each pair of state and signal, and the
reader follows it.
"""

from itertools import product

import pytest

from engine.core.read_state import TRANSITIONS, ReadSignal, ReadState
from engine.core.reader import Reader
from tests.core.making import a_machine


def a_reader() -> Reader:
    return a_machine()._backlog.reader


def test_every_pair_of_state_and_signal_is_decided() -> None:
    assert set(TRANSITIONS) == set(product(ReadState, ReadSignal))


@pytest.mark.parametrize(("state", "signal"), list(TRANSITIONS), ids=lambda each: each.name)
def test_a_reader_goes_where_the_table_says(state: ReadState, signal: ReadSignal) -> None:
    reader, after = a_reader(), TRANSITIONS[state, signal]
    reader.state = state
    if after is None:
        with pytest.raises(AssertionError, match=f"{state.name} reading cannot meet {signal.name}"):
            reader._meet(signal)
    else:
        reader._meet(signal)
        assert reader.state is after


@pytest.mark.parametrize("state", ReadState)
def test_a_read_is_begun_from_every_state_in_the_end(state: ReadState) -> None:
    reached, grown = {state}, True
    while grown:
        after = {
            end for (begin, _), end in TRANSITIONS.items() if begin in reached and end is not None
        }
        grown = not after <= reached
        reached |= after
    assert ReadState.READING in reached
