"""The doors of the fuzzer. The check of each door passes for the door's corpus and seeds, and for
mutations of them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.door import CORPUS, NAMES, Door, door

# The number of inputs for each of these doors. All other doors get 120 inputs. The checks of all doors
# together take some seconds. In contrast, `python -m tests.fuzz` tries millions of inputs.
EXAMPLES = {
    "configuration": 60,
    "filter": 60,
    "frames": 40,
    "master_key": 40,
    "request": 40,
    "template": 60,
}
LONGEST = 1_000  # in bytes


def inputs(target: Door) -> st.SearchStrategy[bytes]:
    seeds = [*target.seeds, *(path.read_bytes() for path in target.corpus())]
    change = st.tuples(
        st.integers(0, LONGEST),
        st.integers(0, 8),
        st.sampled_from(target.words) | st.binary(max_size=3),
    )
    return st.builds(
        mutated,
        st.sampled_from(seeds),
        st.lists(change, max_size=5),
        st.sampled_from(seeds) | st.just(b""),
        st.integers(0, LONGEST),
    )


def mutated(seed: bytes, changes: list[tuple[int, int, bytes]], other: bytes, at: int) -> bytes:
    data = bytearray(seed)
    for place, length, word in changes:
        place %= len(data) + 1
        data[place : place + length] = word
    if other:
        data[at % (len(data) + 1) :] = other[at % len(other) :]
    return bytes(data[:LONGEST])


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_of_a_door_is_held(name: str) -> None:
    target = door(name)
    for data in (*target.seeds, *(path.read_bytes() for path in target.corpus())):
        target.check(data)


@pytest.mark.parametrize("name", NAMES)
def test_a_door_holds_against_what_is_made_of_it(name: str) -> None:
    target = door(name)

    @settings(
        max_examples=EXAMPLES.get(name, 120),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(target))
    def held(data: bytes) -> None:
        target.check(data)

    held()


def test_every_corpus_is_a_doors_and_small() -> None:
    assert {path.name for path in CORPUS.iterdir()} <= set(NAMES)
    assert all(path.stat().st_size <= 8_192 for path in CORPUS.glob("*/*"))
