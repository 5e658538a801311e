"""The fair queue. The items of a key keep their order, and keys take turns. The cost of a turn does not
depend on the number of items."""

from collections import Counter
from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.runtime.fair_queue import FairQueue, FairWaiters

KEYS = st.integers(0, 4)


class Comparison(RuleBasedStateMachine):
    """Compares the fair queue with a slow model."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: FairWaiters[int, int] = FairWaiters()
        self.lines: dict[int, list[int]] = {}
        self.since: dict[int, int] = {}  # by key: its last turn or its arrival, in ticks of `clock`
        self.clock = count()
        self.names = count()
        self.passed: Counter[tuple[int, int]] = Counter()  # turns of one key while another waits

    @rule(key=KEYS)
    def put(self, key: int) -> None:
        item = next(self.names)
        self.queue.put(key, item)
        self._line(key).append(item)

    @rule(key=KEYS, many=st.integers(0, 4))
    def put_all(self, key: int, many: int) -> None:
        items = [next(self.names) for _ in range(many)]
        self.queue.put_all(key, items)
        if items:
            self._line(key).extend(items)

    @rule(key=KEYS)
    def put_back(self, key: int) -> None:
        item = next(self.names)
        self.queue.put_back(key, item)
        self._line(key).insert(0, item)

    @rule(key=KEYS, place=st.integers(0, 5))
    def add_again(self, key: int, place: int) -> None:
        """An item that already waits keeps its place."""
        if place < len(self.lines.get(key, ())):
            assert not self.queue.add(key, self.lines[key][place])

    @rule(key=KEYS, place=st.integers(0, 5))
    def leave(self, key: int, place: int) -> None:
        line = self.lines.get(key, [])
        if place < len(line):
            assert self.queue.leave(key, line.pop(place))
            self._tidy(key)
        else:
            assert not self.queue.leave(key, -1)

    @rule(barred=st.frozensets(KEYS))
    def take(self, barred: frozenset[int]) -> None:
        asked: list[int] = []

        def may(key: int) -> bool:
            asked.append(key)
            return key not in barred

        order = self._order()
        allowed = [key for key in order if key not in barred]
        found = self.queue.take(may)
        if not allowed:
            assert found is None
            return
        key = allowed[0]
        assert found == (key, self._taken(key))
        assert asked == order[: order.index(key) + 1], "no key behind it is looked at"
        for other in allowed[1:]:
            self.passed[other, key] += 1
            assert self.passed[other, key] <= 1, "a key has two turns while another waits for one"

    @rule(key=KEYS)
    def take_of(self, key: int) -> None:
        if key in self.lines:
            assert self.queue.first(key) == self.lines[key][0]
            assert self.queue.take_of(key) == self._taken(key)
            self.passed.clear()  # such a caller chooses the key itself

    @rule(most=st.integers(0, 4))
    def turn(self, most: int) -> None:
        order = self._order()
        taken = self.queue.turn(most)
        if not order or not most:
            assert taken == []
            return
        due = min(most, len(self.lines[order[0]]))
        assert taken == [self._taken(order[0]) for _ in range(due)]
        self.passed.clear()  # a turn of several items resets the fair order

    @rule(everything=st.booleans())
    def clear(self, everything: bool) -> None:
        if everything:
            taken = [item for key in self._order() for item in self.lines[key]]
            assert self.queue.take_all() == taken
        else:
            self.queue.clear()
        for key in list(self.lines):
            self.lines[key].clear()
            self._tidy(key)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert list(self.queue) == self._order()
        assert len(self.queue) == sum(map(len, self.lines.values()))
        assert self.queue.keys == len(self.lines), "a key that has nothing takes no room"
        for key in range(5):
            assert self.queue.waiting(key) == len(self.lines.get(key, ()))
            assert (key in self.queue) == (key in self.lines)

    def _line(self, key: int) -> list[int]:
        if key not in self.lines:
            self.since[key] = next(self.clock)
        return self.lines.setdefault(key, [])

    def _taken(self, key: int) -> int:
        item = self.lines[key].pop(0)
        self.since[key] = next(self.clock)
        for pair in [pair for pair in self.passed if pair[0] == key]:
            del self.passed[pair]
        self._tidy(key)
        return item

    def _tidy(self, key: int) -> None:
        if not self.lines[key]:
            del self.lines[key]
            for pair in [pair for pair in self.passed if pair[0] == key]:
                del self.passed[pair]

    def _order(self) -> list[int]:
        return sorted(self.lines, key=self.since.__getitem__)


test_a_fair_queue_is_its_slow_model = Comparison.TestCase
test_a_fair_queue_is_its_slow_model.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_keys_of_a_fair_queue_are_served_in_turn() -> None:
    queue: FairWaiters[str, int] = FairWaiters()
    for number in range(4):
        queue.add("greedy", number)
    queue.add("other", 9)
    queue.add("greedy", 0)
    queue.leave("greedy", 1)
    queue.leave("nobody", 1)
    assert len(queue) == 4
    served = [queue.take() for _ in range(5)]
    assert served == [("greedy", 0), ("other", 9), ("greedy", 2), ("greedy", 3), None]
    assert not queue


def test_a_key_that_may_not_take_is_passed_over_and_keeps_its_turn() -> None:
    queue: FairWaiters[str, int] = FairWaiters()
    queue.add("a", 1)
    queue.add("b", 2)
    assert queue.take(lambda workspace: workspace == "b") == ("b", 2)
    assert queue.take(lambda _: False) is None
    assert queue.take() == ("a", 1)


def test_ten_thousand_items_of_one_key_delay_another_key_by_one() -> None:
    queue: FairQueue[str, int] = FairQueue()
    queue.put_all("crowd", range(10_000))
    queue.put("single", 1)
    queue.take()
    assert queue.take() == ("single", 1)


def test_a_fair_queue_is_drained_however_many_keys_and_items_it_has() -> None:
    """The queue has 200,000 items. This test would take minutes if the cost of a turn grew with the
    number of keys, or if the cost of removing an item grew with the number of items before the item."""
    queue: FairWaiters[int, int] = FairWaiters()
    for item in range(100_000):
        queue.put(item % 50_000, item)
        queue.put(-1, -1 - item)
    for item in reversed(range(0, 100_000, 2)):
        assert queue.leave(-1, -1 - item)
    taken = Counter[int]()
    while (found := queue.take()) is not None:
        taken[found[0]] += 1
    assert taken == Counter({-1: 50_000}) + Counter(dict.fromkeys(range(50000), 2))
    assert not queue
