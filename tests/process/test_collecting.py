"""The garbage collector: it holds the loop for milliseconds at a time, whatever the number of new
objects."""

import gc

from api.composition.process_limits import TIMES_YOUNG, YOUNG, collect_in_small_lots

MANY = 300_000  # as many objects as some thousand destinations that have just become busy
SPARE = 1_000  # objects of this test and its runner


def test_what_is_made_and_kept_is_looked_at_in_small_lots_and_not_as_a_whole() -> None:
    looked: list[tuple[int, int]] = []

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generation = info["generation"]
            objects = sum(len(gc.get_objects(each)) for each in range(generation + 1))
            looked.append((generation, objects))

    before = gc.get_threshold()
    collect_in_small_lots()
    gc.callbacks.append(look)
    try:
        made: list[list[int]] = [[] for _ in range(MANY)]
    finally:
        gc.callbacks.remove(look)
        gc.set_threshold(*before)
    assert len(made) == MANY
    assert {generation for generation, _ in looked} == {0, 1}
    assert max(objects for _, objects in looked) <= YOUNG * (TIMES_YOUNG + 2) + SPARE
