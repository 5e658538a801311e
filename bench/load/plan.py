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
    """A plan. Without a rate it is a closed loop: every connection posts again after its answer. With
    `rate` or `steps` it is an open loop."""

    url: str
    key: str
    # A file with the authorities of an https server's certificate; empty: the system's.
    cacert: str = ""
    events: int = 0
    connections: int = 64
    batch: int = 1
    # Due events a second. Latency and `sentAt` count from the due time.
    rate: float = 0.0
    # `[[rate, seconds], ...]`, one step after another; they determine `events`. Events that cannot begin
    # before the end of their step are not posted, and are reported as `unsent`.
    steps: list[list[float]] = field(default_factory=list)
    # Distribute events over this number of types (`bench.0`, `bench.1`, ... or another `stem`) instead of
    # `event_type`: evenly, or with `zipf`.
    types: int = 0
    # An exponent: the k-th type, or without types the k-th lane, comes 1/k^zipf times as often as the
    # first.
    zipf: float = 0.0
    stem: str = "bench"
    event_type: str = "bench.event"
    # The bytes of the payload: a number, or `[[bytes, weight], ...]`; 0: 260 bytes.
    sizes: int | list[list[float]] = 0
    # The payloads, used in turns: each is the JSON text of an object. `n` and `sentAt` become its first
    # fields, and `{{n}}` in the text is replaced by the event's number.
    payloads: list[str] = field(default_factory=list)
    # Event n has the customerExternalId `c<n mod lanes>`.
    lanes: int = 0
    # API keys: the events of the first `lanes_per_key` customers use the first key, those of the next
    # the second key, and so on.
    keys: list[str] = field(default_factory=list)
    lanes_per_key: int = 0
    # If above 0, each connection uses this number of keys in turns. Connection k begins with key number
    # k * `keys_of_connection`. After the last key comes the first.
    keys_of_connection: int = 0
    # Connection k has its own lane `c<k>`. Its events have the numbers k * LANE_SPAN, k * LANE_SPAN + 1
    # and so on.
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
        """Return sizes with their weights; empty for events of the default size."""
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
