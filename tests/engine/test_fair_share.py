"""The fair share: however much some workspaces take, capacity remains for the next one."""

import pytest

from engine.runtime.fair_share import may_have_more


@pytest.mark.parametrize("portion", [1, 2])
@pytest.mark.parametrize("greedy", [1, 2, 5, 20])
def test_whatever_many_workspaces_take_a_share_is_left(portion: int, greedy: int) -> None:
    limit, owned = 1_000, [0] * greedy
    while True:
        before = list(owned)
        for each in range(greedy):
            if may_have_more(owned[each], limit - sum(owned), portion):
                owned[each] += 1
        if owned == before:
            break
    free = limit - sum(owned)
    assert free >= limit // (greedy * portion + 1) - greedy
    assert may_have_more(0, free, portion)
    assert max(owned) - min(owned) <= portion + 1
