"""The bisection of a group: every item is run or refused once, in order, and only bad items fail."""

from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.bisection import Bisection

items = st.lists(st.booleans(), max_size=70)  # True for each item that is refused


def rest(bisection: Bisection[int]) -> list[int]:
    return [each for part in bisection for each in part]


def run(bad: list[bool]) -> tuple[list[int], list[int], int]:
    """Bisect a group. `bad` holds True for each item that the store refuses. Return the written items,
    the failed items, and the number of groups that were tried."""
    bisection = Bisection(range(len(bad)))
    written: list[int] = []
    failed: list[int] = []
    tries = 0
    for part in bisection:
        tries += 1
        if not any(bad[each] for each in part):
            written += part
        elif not bisection.divide(part):
            failed += part
    return written, failed, tries


@given(items)
def test_only_the_items_at_fault_fail(bad: list[bool]) -> None:
    written, failed, _ = run(bad)
    assert failed == [each for each, refused in enumerate(bad) if refused]
    assert written == [each for each, refused in enumerate(bad) if not refused]


@given(st.integers(1, 5000), st.data())
def test_one_item_at_fault_is_found_in_a_logarithm_of_tries(
    number: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, number - 1))
    _, failed, tries = run([each == place for each in range(number)])
    assert failed == [place]
    assert tries <= 1 + 2 * (number - 1).bit_length()


@given(items, st.integers(0, 140))
def test_whenever_it_stops_each_item_is_in_one_place(bad: list[bool], steps: int) -> None:
    bisection = Bisection(range(len(bad)))
    seen: list[int] = []
    for part in bisection:
        if not steps:
            bisection.put_back(part)
            break
        steps -= 1
        if not any(bad[each] for each in part) or not bisection.divide(part):
            seen += part
    assert seen + rest(bisection) == list(range(len(bad)))


@given(items, st.sets(st.integers(0, 70)))
def test_items_that_nobody_wants_are_dropped_and_no_others(bad: list[bool], gone: set[int]) -> None:
    bisection = Bisection(range(len(bad)))
    whole = next(iter(bisection))
    before = whole if bisection.divide(whole) else []
    bisection.keep(lambda each: each not in gone)
    assert rest(bisection) == [each for each in before if each not in gone]


def test_an_empty_group_is_run_once() -> None:
    assert list(Bisection[int]([])) == [[]]
