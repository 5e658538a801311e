"""The results of one part of a plan: a step, or the whole plan. Hot paths only count and append."""

import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bench.latency import encoded, histogram, in_seconds, latency_figures


@dataclass
class Part:
    """A part of a plan. With a rate, events are due from `start` on. Without a rate, an event is due
    whenever a connection is idle."""

    rate: float  # events a second; 0: closed loop
    events: int
    seconds: float  # the time for beginning posts; infinite without steps
    first: int
    start: float = 0.0  # by time.perf_counter()
    begun: int = 0
    unsent: int = 0
    accepted: int = 0
    requests: int = 0
    sent_bytes: int = 0
    doubtful: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    latencies_s: "array[float]" = field(default_factory=in_seconds)  # of accepted requests
    answered_s: "array[float]" = field(default_factory=in_seconds)  # the same, since posting
    refused_s: "array[float]" = field(default_factory=in_seconds)
    late_s: "array[float]" = field(default_factory=in_seconds)
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def open(self, now: float) -> None:
        """Begin."""
        self.start = now
        self.cpu_s = -time.process_time()

    def close(self, now: float, batch: int) -> None:
        """End this part of the plan. If the part has a rate, requests of `batch` events can be unsent.
        Each such request adds a latency: the time from the due time of its first event to `now`."""
        self.cpu_s += time.process_time()
        self.wall_s = now - self.start
        if self.rate:
            self.unsent = self.events - self.begun
            for position in range(self.begun, self.events, batch):
                self.latencies_s.append(now - self.due(position))

    def due(self, position: int) -> float:
        """Return the due time of the event at a position."""
        return self.start + position / self.rate

    def add(self, other: "Part") -> None:
        """Add the results of another part."""
        self.events += other.events
        self.begun += other.begun
        self.unsent += other.unsent
        self.accepted += other.accepted
        self.requests += other.requests
        self.sent_bytes += other.sent_bytes
        self.doubtful += other.doubtful
        self.answers += other.answers
        self.latencies_s += other.latencies_s
        self.answered_s += other.answered_s
        self.refused_s += other.refused_s
        self.late_s += other.late_s
        self.cpu_s += other.cpu_s
        self.wall_s += other.wall_s

    def report(self, *, hdr: bool, span_s: float) -> dict[str, Any]:
        """Return the results as JSON-ready values. `acceptedPerSecond` is the number of accepted events
        divided by `span_s`."""
        found = histogram(self.latencies_s)
        figures: dict[str, Any] = {
            "accepted": self.accepted,
            "answers": dict(self.answers),
            "requests": self.requests,
            "sentBytes": self.sent_bytes,
            "doubtful": self.doubtful,
            "acceptedPerSecond": round(self.accepted / span_s, 1),
            "cpuS": round(self.cpu_s, 4),
            "busy": round(self.cpu_s / self.wall_s, 3) if self.wall_s else 0.0,
            # requests a second with a whole core, at the measured CPU of a request
            "limitPerSecond": round(self.requests / self.cpu_s) if self.cpu_s else None,
            **latency_figures(found, "ack"),
            **latency_figures(histogram(self.answered_s), "answer"),
        }
        if hdr:
            figures["ack"] = encoded(found)
        if self.refused_s:
            figures |= latency_figures(histogram(self.refused_s), "refused")
        if self.rate:
            late = histogram(self.late_s)
            figures |= {"unsent": self.unsent, **latency_figures(late, "late")}
            if hdr:
                figures["late"] = encoded(late)
        return figures
