"""The bodies of requests. They are joined from prepared pieces, because few of their bytes differ."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from bench.load.plan import LANE_SPAN, NUMBER, Plan, own_payload

# The default payload of all measurements, without its beginning. The generator puts the event's number
# and a time before this text. The whole payload has about 250 bytes.
_CLASSIC = (
    b',"order":{"id":"ord_81723","total":12999,"currency":"EUR"},'
    b'"customer":{"id":"cus_4431","name":"Ada Lovelace"},'
    b'"items":[{"sku":"A-100","qty":2},{"sku":"B-200","qty":1}],'
    b'"note":"leave it with the neighbour please"}'
)
# A payload of a given size has a list of items, like an order, and then a note. The note fills the
# payload up to the given size.
_ITEM = b'{"sku":"A-100","qty":2},'
_FRAME = b',"items":[%b],"note":"%b"}'
_FRAME_BYTES = len(_FRAME % (b"", b""))
_DRAWN = 1_024  # single draws cost twice as much


class Bodies:
    """The maker of a plan's bodies."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        names = (
            [f"{plan.stem}.{number}" for number in range(plan.types)]
            if plan.types
            else [plan.event_type]
        )
        self._starts = [f'{{"eventType":"{name}","payload":{{"n":'.encode() for name in names]
        draws = self._draws()
        self._type_of = draws if plan.types else _first
        self._lane_of = draws if plan.lanes and not plan.types else self._in_turns
        sizes = plan.weighted_sizes()
        self._size = (
            drawn([size for size, _ in sizes], [weight for _, weight in sizes], plan.seed)
            if sizes
            else None
        )
        self._fillings: dict[int, bytes] = {}
        # The text of each own payload after its opening brace.
        self._own = [b"," * bool(own_payload(text)) + _inner(text) for text in plan.payloads]
        self.lane = 0

    def _draws(self) -> Callable[[int], int]:
        """Return a function that takes an event's number and chooses the event's type. It returns the
        number of this type. If the plan has no types, the function chooses the event's lane instead."""
        plan = self._plan
        count = plan.types or plan.lanes or 1
        if not plan.zipf:
            return lambda number: number % count
        draws = drawn(range(count), zipf(count, plan.zipf), plan.seed + 1)
        return lambda _number: next(draws)

    def _in_turns(self, number: int) -> int:
        return number % self._plan.lanes

    def body(self, first: int, count: int, sent_at: float) -> bytes:
        """Return the body of a request with events `first` to `first + count - 1`. If the plan has lanes,
        `self.lane` is set to the lane of the last event."""
        sent = b"%.6f" % sent_at
        if self._plan.batch == 1:
            return self._event(first, sent)
        events = [self._event(number, sent) for number in range(first, first + count)]
        return b'{"events":[%b]}' % b",".join(events)

    def _event(self, number: int, sent: bytes) -> bytes:
        plan = self._plan
        digits = b"%d" % number
        if self._own:
            rest = self._own[number % len(self._own)].replace(NUMBER.encode(), digits)
        elif self._size is None:
            rest = _CLASSIC
        else:
            # less `{"n":`, `,"sentAt":` and their values
            rest = self._filling(next(self._size) - 15 - len(digits) - len(sent))
        lane = b""
        if plan.own_lanes:
            lane = b',"customerExternalId":"c%d"' % (number // LANE_SPAN)
        elif plan.lanes:
            self.lane = self._lane_of(number)
            lane = b',"customerExternalId":"c%d"' % self.lane
        return b'%b%b,"sentAt":%b%b%b}' % (
            self._starts[self._type_of(number)],
            digits,
            sent,
            rest,
            lane,
        )

    def _filling(self, size: int) -> bytes:
        found = self._fillings.get(size)
        if found is None:
            items = max(1, (size - _FRAME_BYTES) // len(_ITEM))
            listed = (_ITEM * items)[:-1]
            found = _FRAME % (listed, b"x" * (size - _FRAME_BYTES - len(listed)))
            self._fillings[size] = found  # few entries: one for each size and number of digits
        return found


def _inner(text: str) -> bytes:
    return text.strip()[1:].lstrip().encode()


def _first(_number: int) -> int:
    return 0


def zipf(count: int, exponent: float) -> list[float]:
    """Return `count` weights by Zipf's law."""
    return [1.0 / rank**exponent for rank in range(1, count + 1)]


def drawn(values: Sequence[int], weights: Sequence[float], seed: int) -> Iterator[int]:
    """Draw values by their weights, without end."""
    chance = random.Random(seed)
    heaped = list(itertools.accumulate(weights))
    while True:
        yield from chance.choices(values, cum_weights=heaped, k=_DRAWN)
