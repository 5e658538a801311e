"""The plan of a load: the number, sizes and types of events, the connections, and the rate."""

import json
from dataclasses import dataclass, field
from typing import Any

LANE_SPAN = 10_000_000  # the numbers reserved for a connection's own lane
LEAST_SIZE = 128  # bytes of a payload: room for number, time and one item
OWN_FIELDS = {"n", "sentAt"}  # the receiver identifies events by these fields of payloads
NUMBER = "{{n}}"  # in a payload: the event's number
MOST_SIZE = 1_048_576  # more than a server accepts, so that refusals can be measured


@dataclass
class Plan:
    """A plan. With `rate` or `steps` it is an open loop: each post has a due time. Without them it is a
    closed loop: every connection posts again as soon as its last post is answered."""

    url: str
    key: str
    # A file with the authorities to trust if `url` is https. Empty: the system's authorities.
    cacert: str = ""
    events: int = 0
    connections: int = 64
    batch: int = 1
    # Due events a second. Latency and `sentAt` count from the due time.
    rate: float = 0.0
    # `[[rate, seconds], ...]`: steps that follow each other. The steps determine the number of events: a
    # plan with steps must leave out `events`. An event that is not posted before its step ends is not
    # posted at all, and is reported as `unsent`.
    steps: list[list[float]] = field(default_factory=list)
    # The number of event types. If it is 0, all events have the type `event_type`. Otherwise the types
    # are `<stem>.0`, `<stem>.1` and so on. Each type gets the same number of events, unless `zipf` is
    # given.
    types: int = 0
    # The exponent of Zipf's law: the k-th type has 1/k^zipf times the events of the first type. Without
    # `types`, this applies to the lanes instead.
    zipf: float = 0.0
    stem: str = "bench"
    event_type: str = "bench.event"
    # The bytes of a payload, or `[[bytes, weight], ...]` for payloads of several sizes. 0: the default
    # payload of about 250 bytes.
    sizes: int | list[list[float]] = 0
    # The payloads, used in turns. Each payload is the JSON text of an object. The generator inserts `n`
    # and `sentAt` as the first fields of the object. It replaces `{{n}}` in the text by the event's
    # number.
    payloads: list[str] = field(default_factory=list)
    # Event n has the customerExternalId `c<n mod lanes>`.
    lanes: int = 0
    # API keys. The first `lanes_per_key` lanes use the first key, the next `lanes_per_key` lanes use the
    # second key, and so on.
    keys: list[str] = field(default_factory=list)
    lanes_per_key: int = 0
    # If above 0, each connection uses this number of keys in turns. The first key of connection k has the
    # index k * `keys_of_connection` in `keys`, and its other keys follow it. After the end of `keys`, the
    # index continues at 0.
    keys_of_connection: int = 0
    # If true, each connection k has its own lane `c<k>`. The numbers of the lane's events begin at
    # k * LANE_SPAN + `first`.
    own_lanes: bool = False
    first: int = 0  # the number of the first event
    ids: bool = False  # report the accepted numbers, and the numbers with an unknown result
    hdr: bool = False  # report all latencies, encoded
    seed: int = 7  # determines sizes and the choices by Zipf's law
    give_up_s: float = 120.0

    def __post_init__(self) -> None:
        if self.steps:
            _require(not self.rate, "give either rate or steps")
            _require(not self.events, "leave out events: steps determine their number")
            _require(
                all(len(step) == 2 and min(step) > 0 for step in self.steps),
                "a step must be a rate and seconds, both above 0",
            )
            self.events = sum(self.step_events(*step) for step in self.steps)
        _require(self.events > 0, "events must be above 0")
        _require(self.connections > 0, "connections must be above 0")
        _require(self.batch > 0, "batch must be above 0")
        _require(self.rate >= 0, "rate must not be below 0")
        _require(self.zipf >= 0, "zipf must not be below 0")
        _require(
            bool(self.types or self.lanes) or not self.zipf,
            "zipf needs types or lanes",
        )
        _require(not (self.lanes and self.own_lanes), "give either lanes or own_lanes")
        if self.keys_of_connection:
            _require(
                bool(self.keys) and not self.lanes,
                "keys_of_connection needs keys, and no lanes",
            )
        elif self.keys:
            _require(self.batch == 1, "keys need a batch of 1")
            _require(
                0 < self.lanes <= len(self.keys) * self.lanes_per_key,
                "keys need lanes, at most lanes_per_key for each key",
            )
        _require(not (self.payloads and self.sizes), "give either payloads or sizes")
        for text in self.payloads:
            _require(
                not OWN_FIELDS & own_payload(text).keys(),
                "payloads must not have the fields n and sentAt",
            )
        for size, weight in self.weighted_sizes():
            _require(
                LEAST_SIZE <= size <= MOST_SIZE, f"sizes must be {LEAST_SIZE} to {MOST_SIZE} bytes"
            )
            _require(weight > 0, "weights of sizes must be above 0")

    @property
    def open(self) -> bool:
        """True if each post has a due time."""
        return bool(self.rate or self.steps)

    @staticmethod
    def step_events(rate: float, seconds: float) -> int:
        """Return the number of a step's events."""
        return max(1, round(rate * seconds))

    def weighted_sizes(self) -> list[tuple[int, float]]:
        """Return sizes with their weights. Without `sizes`, the list is empty."""
        if isinstance(self.sizes, list):
            _require(
                all(len(each) == 2 for each in self.sizes),
                "sizes must be pairs of bytes and weight",
            )
            return [(int(size), float(weight)) for size, weight in self.sizes]
        return [(self.sizes, 1.0)] if self.sizes else []


def own_payload(text: str) -> dict[str, Any]:
    """Return the object of a payload's text. Raises ValueError."""
    read = json.loads(text.replace(NUMBER, "0"))
    if not isinstance(read, dict):
        raise ValueError("a payload must be a JSON object")  # noqa: TRY004 - of the text, no argument's type
    return read


def _require(truth: bool, otherwise: str) -> None:
    if not truth:
        raise ValueError(otherwise)
