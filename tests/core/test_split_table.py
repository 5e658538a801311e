"""A split table is a dict in many parts. Python copies a part when the part grows. The parts grow at
different times, so that no copy takes long.
"""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import split_table
from engine.core.split_table import PARTS, WHOLE, SplitTable

# The most bytes that Python may copy while the test adds SLICE ids to the table. Python copies each part
# that grows. If all parts grew at the same time, Python would copy the whole table at once.
COPIED_BYTES = 8 * 1024 * 1024
SLICE = 1_000
MANY = 1_000_000
LARGEST_PART = MANY // 30  # ids that one step copies: a millisecond


def test_the_parts_of_a_large_table_do_not_grow_in_one_slice() -> None:
    table: SplitTable[None] = SplitTable()
    sizes: dict[int, int] = {}
    most = 0
    for start in range(0, MANY, SLICE):
        for number in range(start, start + SLICE):
            table.put(f"{number:032x}", None)
        copied = 0
        for place, part in enumerate(table.parts()):
            size = sys.getsizeof(part)
            if size != sizes.get(place):
                copied += size
                sizes[place] = size
        most = max(most, copied)
    assert most <= COPIED_BYTES
    assert len(table.parts()) == PARTS
    assert max(map(len, table.parts())) <= LARGEST_PART


def test_a_small_table_is_one_dict() -> None:
    table: SplitTable[int] = SplitTable()
    for number in range(WHOLE):
        table.put(str(number), number)
    assert table.parts() == ({str(number): number for number in range(WHOLE)},)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.none() | st.integers()), max_size=40))
def test_a_table_has_what_a_dict_has(changes: list[tuple[str, int | None]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_table, "WHOLE", 4)
        table: SplitTable[int] = SplitTable()
        model: dict[str, int] = {}
        for identifier, value in changes:
            if value is None:
                assert table.pop(identifier) == model.pop(identifier, None)
            else:
                table.put(identifier, value)
                model[identifier] = value
            assert table.get(identifier) == model.get(identifier)
            assert len(table) == len(model)
            assert set(table) == set(model)
            assert [each for each in "abcdefgh" if each in table] == sorted(model)
            assert {each: table[each] for each in table} == model
            assert {each: part[each] for part in table.parts() for each in part} == model
            assert dict(table.found("abcdefgh")) == model
