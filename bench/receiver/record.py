"""The record of arrivals since the last reset.

An arrival takes 28 bytes in arrays. A set for each path has the numbers of the arrived events.
"""

import math
import random
import re
import time
from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from bench.checks import disorder
from bench.latency import encoded, histogram, in_seconds, latency_figures
from bench.receiver.behaviour import WELL, Answer, Behaviour

# Usually `sentAt` directly follows `n`: one search finds both.
_BOTH = re.compile(rb'"n"\s*:\s*(\d+)(?:,"sentAt":([0-9.]+))?')
_SENT = re.compile(rb'"sentAt"\s*:\s*([0-9.]+)')
NO_LATENCY = -1e9  # of an arrival without `sentAt`
CPU_EVERY = 64  # arrivals between two reads of the CPU clock, which is a system call


class Place:
    """A path, and its arrivals."""

    def __init__(self, name: str, number: int, behaviour: Behaviour) -> None:
        self.name = name
        self.number = number
        self.behaviour = None if behaviour.plain else behaviour
        self.arrivals = 0
        self.seen: set[int] = set()
        self.taken: list[float] = []  # the times at which occupied places become free

    def in_turn(self, answer: Answer, places: int, now: float) -> Answer:
        """Return an answer, delayed while all places are occupied."""
        while self.taken and self.taken[0] <= now:
            heappop(self.taken)
        begins = now if len(self.taken) < places else heappop(self.taken)
        heappush(self.taken, begins + answer.after_s)
        return Answer(answer.status, begins - now + answer.after_s)


class Record:
    """The arrivals, failures and their cost."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self._behaviour = behaviour or Behaviour()
        self._chance = random.Random(self._behaviour.seed)
        self._since = time.monotonic()
        self._places: dict[str, Place] = {}
        self._names: list[str] = []
        self._where = array("I")
        self._numbers = array("q")
        self._at = in_seconds()
        self._latencies_s = in_seconds()
        self._held_s = in_seconds()
        self._cpu_first = self._cpu_last = 0.0
        self._cpu_until = 0.0  # the last read of the CPU clock
        self._cpu_requests = 0
        self._began = 0.0
        self._unique = 0  # distinct numbers at all places
        self.requests = 0
        self.failed = 0

    def place(self, path: str) -> Place:
        """Return the record of a path."""
        found = self._places.get(path)
        if found is None:
            behaviour = self._behaviour.of(path)
            if path.startswith("/never"):
                behaviour = Behaviour(dead=True)
            found = self._places[path] = Place(path, len(self._names), behaviour)
            self._names.append(path)
        return found

    def ask(self, place: Place) -> Answer:
        """Record a request, and return its answer."""
        if self.requests % CPU_EVERY == 0:
            self._look()
        self.requests += 1
        if place.behaviour is None:
            return WELL
        behaviour, now = place.behaviour, time.monotonic()
        answer = behaviour.answer(now - self._since, self.requests, self._chance)
        if behaviour.places and 0 < answer.after_s < math.inf and not answer.hung:
            answer = place.in_turn(answer, behaviour.places, now)
        if 0 < answer.after_s < math.inf:
            self._held_s.append(answer.after_s)
        if answer.status >= 400:
            self.failed += 1
        return answer

    def _look(self) -> None:
        now, cpu = time.time(), time.process_time()
        if not self.requests:
            self._began, self._cpu_first = now, cpu
        self._cpu_until, self._cpu_last, self._cpu_requests = now, cpu, self.requests

    def arrive(self, place: Place, body: bytes) -> None:
        """Note a delivery that is answered with success."""
        now = time.time()
        found = _BOTH.search(body)
        number, sent = (-1, None) if found is None else (int(found[1]), found[2])
        if sent is None and (other := _SENT.search(body)):
            sent = other[1]
        place.arrivals += 1
        if number not in place.seen:
            place.seen.add(number)
            self._unique += 1
        self._where.append(place.number)
        self._numbers.append(number)
        self._at.append(now)
        self._latencies_s.append(NO_LATENCY if sent is None else now - float(sent))

    def log(self) -> Iterator[tuple[str, int, float]]:
        """Yield path, number and time of every arrival, in order."""
        for where, number, at in zip(self._where, self._numbers, self._at, strict=True):
            yield self._names[where], number, at

    def counts(self) -> dict[str, Any]:
        """Return the counts of arrivals. The cost does not depend on the number of paths."""
        arrived = len(self._at)
        return {
            "requests": self.requests,
            "received": arrived,
            "unique": self._unique,
            "duplicates": arrived - self._unique,
            "failed": self.failed,
            "first": self._at[0] if arrived else 0.0,
            "last": self._at[-1] if arrived else 0.0,
        }

    def stats(self, first: int | None = None, end: int | None = None) -> dict[str, Any]:
        """Return counts, the receiver's CPU for a request, and latencies from `sentAt` to arrival.

        If `first` and `end` are given, only the latencies of the events from `first` up to `end`
        (exclusive) count. `held` in the result: the distribution of the times for which the receiver
        delayed answers. Answers that were sent at once are not in this distribution.
        """
        low = -1 if first is None else first
        high = 2**63 if end is None else end
        found = histogram(
            latency
            for number, latency in zip(self._numbers, self._latencies_s, strict=True)
            if latency != NO_LATENCY and low <= number < high
        )
        wall, cpu = self._cpu_until - self._began, self._cpu_last - self._cpu_first
        by_path = self.by_path().values()
        return {
            **self.counts(),
            "paths": len(by_path),
            "leastOfAPath": min(by_path, default=0),
            "mostOfAPath": max(by_path, default=0),
            **latency_figures(found),
            "latency": encoded(found),
            "held": encoded(histogram(self._held_s)),
            "cpuMicrosPerRequest": round(cpu / self._cpu_requests * 1e6, 2)
            if self._cpu_requests
            else None,
            "busy": round(cpu / wall, 3) if wall > 0 else 0.0,
            # requests a second with a whole core, at the measured CPU of a request
            "limitPerSecond": round(self._cpu_requests / cpu) if cpu > 0 else None,
        }

    def by_path(self) -> dict[str, int]:
        """Return the number of arrivals by path."""
        return {place.name: place.arrivals for place in self._places.values() if place.arrivals}

    def disorder(self, *, lanes: int = 0, span: int = 0) -> int:
        """Count the events that arrived too late: a newer event of the same path and lane arrived before
        the event's first arrival.

        With `lanes`, the lane of event n is n mod `lanes`. With `span`, the lane is n // `span`. Without
        `lanes` and `span`, all events of a path are in one lane.
        """
        if lanes:
            return disorder(self.log(), lambda number: number % lanes)
        if span:
            return disorder(self.log(), lambda number: number // span)
        return disorder(self.log(), lambda _number: 0)
