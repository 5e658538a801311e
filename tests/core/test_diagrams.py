"""docs/states.md says what the code does."""

from tests.core.diagrams import PATH, document


def test_the_drawn_states_are_those_of_the_code() -> None:
    assert PATH.read_text() == document(), "run: python -m tests.core.diagrams"
