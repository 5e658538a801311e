"""The plan of a load: how many events, of which sizes and types, over how many connections, how fast."""

import json
from dataclasses import dataclass, field
from typing import Any

LANE_SPAN = 10_000_000  # numbers of a connection's own lane
LEAST_SIZE = 128  # bytes of a payload: number, time and one item fit, however long the number
OWN_FIELDS = {"n", "sentAt"}  # of a payload: what the receiver knows an event by
NUMBER = "{{n}}"  # in a payload: the event's number
MOST_SIZE = 1_048_576  # more than a server takes of one event, so that its refusals can be measured


@dataclass
class Plan:
    """A plan. Closed loop: every connection posts again when it was answered. Open: `rate` or `steps`.

    `rate`: events a second at which posts are due; latency and `sentAt` count from when they were.
    `steps`: `[[rate, seconds], ...]`, one after the other; `events` follows of them. What could not be
    begun until its step's end is not posted, and is told as `unsent`.
    `types` spreads events over `bench.0`, `bench.1` ... (or another `stem`) instead of `event_type`,
    evenly or, with an exponent `zipf`, the k-th of them 1/k^zipf times as often as the first. `sizes`:
    bytes of the payload, a number or `[[bytes, weight], ...]`; without it all are the 260 bytes of old.
    `payloads`: own payloads instead, in turns, each the JSON text of an object. `n` and `sentAt` come
    before its fields, and `{{n}}` in it becomes the event's number.
    `lanes` gives event n the customerExternalId `c<n mod lanes>`; with `zipf` and no types, one by that
    law. With `keys` the first `lanes_per_key` customers are posted with the first of them, and so on.
    With `keys_of_connection` each connection posts with so many of the keys in turns: connection k begins
    with key k * `keys_of_connection`, and after the last key comes the first.
    With `own_lanes` every connection has a lane of its own, `c<k>`, and posts its numbers k * LANE_SPAN
    + 0, 1, 2 ... one after another.
    `cacert`: a file of the authorities that an https server's certificate is of; "": the system's.
    `ids` asks for the numbers that were accepted, and for those of which nothing is known; `hdr` for all
    latencies, encoded. Sizes, and what Zipf's law spreads, are drawn by `seed`.
    """

    url: str
    key: str
    cacert: str = ""
    events: int = 0
    connections: int = 64
    batch: int = 1
    rate: float = 0.0
    steps: list[list[float]] = field(default_factory=list)
    types: int = 0
    zipf: float = 0.0
    stem: str = "bench"
    event_type: str = "bench.event"
    sizes: int | list[list[float]] = 0
    payloads: list[str] = field(default_factory=list)
    lanes: int = 0
    keys: list[str] = field(default_factory=list)
    lanes_per_key: int = 0
    keys_of_connection: int = 0
    own_lanes: bool = False
    first: int = 0
    ids: bool = False
    hdr: bool = False
    seed: int = 7
    give_up_s: float = 120.0

    def __post_init__(self) -> None:
        """Raise ValueError with the fault of the plan."""
        if self.steps:
            _require(not self.rate, "either rate or steps")
            _require(not self.events, "how many events there are follows of steps")
            _require(
                all(len(step) == 2 and min(step) > 0 for step in self.steps),
                "a step is a rate and seconds, both above 0",
            )
            self.events = sum(self.step_events(*step) for step in self.steps)
        _require(self.events > 0, "events must be above 0")
        _require(self.connections > 0, "connections must be above 0")
        _require(self.batch > 0, "batch must be above 0")
        _require(self.rate >= 0, "rate must not be below 0")
        _require(self.zipf >= 0, "zipf must not be below 0")
        _require(
            bool(self.types or self.lanes) or not self.zipf,
            "zipf spreads over types or lanes: how many are there?",
        )
        _require(not (self.lanes and self.own_lanes), "either lanes or own_lanes")
        if self.keys_of_connection:
            _require(
                bool(self.keys) and not self.lanes,
                "keys_of_connection is for keys without lanes",
            )
        elif self.keys:
            _require(self.batch == 1, "a batch is posted with one key")
            _require(
                0 < self.lanes <= len(self.keys) * self.lanes_per_key,
                "keys are for lanes: lanes_per_key of them each",
            )
        _require(not (self.payloads and self.sizes), "either payloads or sizes")
        for text in self.payloads:
            _require(not OWN_FIELDS & own_payload(text).keys(), "n and sentAt are the bench's own")
        for size, weight in self.weighted_sizes():
            _require(
                LEAST_SIZE <= size <= MOST_SIZE, f"sizes are {LEAST_SIZE} to {MOST_SIZE} bytes"
            )
            _require(weight > 0, "weights of sizes must be above 0")

    @property
    def open(self) -> bool:
        """Whether each post has its own due time."""
        return bool(self.rate or self.steps)

    @staticmethod
    def step_events(rate: float, seconds: float) -> int:
        """Return how many events a step has."""
        return max(1, round(rate * seconds))

    def weighted_sizes(self) -> list[tuple[int, float]]:
        """Return sizes with their weights, none for events of the default size."""
        if isinstance(self.sizes, list):
            _require(all(len(each) == 2 for each in self.sizes), "sizes are pairs: bytes, weight")
            return [(int(size), float(weight)) for size, weight in self.sizes]
        return [(self.sizes, 1.0)] if self.sizes else []


def own_payload(text: str) -> dict[str, Any]:
    """Return the object of a payload's text. Raises ValueError."""
    read = json.loads(text.replace(NUMBER, "0"))
    if not isinstance(read, dict):
        raise ValueError("a payload is a JSON object")  # noqa: TRY004 - of the text, no argument's type
    return read


def _require(truth: bool, otherwise: str) -> None:
    if not truth:
        raise ValueError(otherwise)
