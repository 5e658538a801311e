"""The table of an actor's states is complete."""

from itertools import product

import pytest

from engine.actors.lifecycle import TRANSITIONS, ActorSignal, ActorState, next_state


def test_every_pair_of_actor_state_and_signal_is_decided() -> None:
    assert set(TRANSITIONS) == set(product(ActorState, ActorSignal))


@pytest.mark.parametrize(("state", "signal"), list(TRANSITIONS), ids=lambda each: each.name)
def test_an_actor_goes_where_its_table_says(state: ActorState, signal: ActorSignal) -> None:
    after = TRANSITIONS[state, signal]
    if after is None:
        with pytest.raises(AssertionError, match=f"a {state.name} actor cannot meet {signal.name}"):
            next_state(state, signal)
    else:
        assert next_state(state, signal) is after


def test_a_crash_is_possible_in_every_actor_state() -> None:
    assert {TRANSITIONS[state, ActorSignal.CRASH] for state in ActorState} == {
        ActorState.BACKING_OFF
    }


def test_reports_know_three_words_for_an_actor_in_memory() -> None:
    shown = {state.shown for state in ActorState if state is not ActorState.RETIRED}
    assert shown == {"STARTING", "RUNNING", "RESTARTING"}
