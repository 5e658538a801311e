"""The generator's loop: it posts due events over idle connections until all are answered.

It records how late it sends each post: this delay is a part of the measured latency, but the server does
not cause it.
"""

import math
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from bench.load.bodies import Bodies
from bench.load.connection import Connection
from bench.load.plan import LANE_SPAN, Plan
from bench.load.tally import Part
from bench.trust import trusting

LOOK_S = 0.5


class Generator:
    """The poster of a plan's events, in one thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.accepted_numbers: list[int] = []
        self.doubtful_numbers: list[int] = []
        self.poll = select.epoll()
        self.connections: dict[int, Connection] = {}
        parts = urlsplit(plan.url)
        assert parts.hostname is not None
        secure = parts.scheme == "https"
        self.address = (parts.hostname, parts.port or (443 if secure else 80))
        self.trust = trusting(plan.cacert) if secure else None
        self.tls = ""  # version and cipher of the connections
        self._connecting_s = 0.0  # the sum over all connections
        path = parts.path.rstrip("/") + ("/events/batch" if plan.batch > 1 else "/events")
        host = parts.netloc.rpartition("@")[2]
        self._heads = [
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
            "Content-Type: application/json\r\nContent-Length: ".encode()
            for key in plan.keys or [plan.key]
        ]
        self._bodies = Bodies(plan)
        self._idle: list[Connection] = []
        self._idle_since = 0.0  # since then, at least one connection has been idle
        self._parts = self._planned()
        self._clock = 0.0  # the difference between time.time() and time.perf_counter()

    def _planned(self) -> list[Part]:
        plan = self.plan
        if not plan.steps:
            return [Part(plan.rate, plan.events, math.inf, plan.first)]
        parts: list[Part] = []
        first = plan.first
        for rate, seconds in plan.steps:
            parts.append(Part(rate, plan.step_events(rate, seconds), seconds, first))
            first += parts[-1].events
        return parts

    def run(self) -> dict[str, Any]:
        for number in range(self.plan.connections):
            connection = Connection(
                self, number * LANE_SPAN + self.plan.first, self._keys_of(number)
            )
            connecting = time.perf_counter()
            with suppress(OSError):  # the server does not listen yet: posting reports it
                connection.connect()
            self._connecting_s += time.perf_counter() - connecting
            self._idle.append(connection)
        cpu = time.process_time()
        began, start = time.time(), time.perf_counter()
        self._clock, self._idle_since = began - start, start
        give_up = start + self.plan.give_up_s
        for part in self._parts:
            part.open(time.perf_counter())
            self._post(part, min(give_up, part.start + part.seconds))
            part.close(time.perf_counter(), self.plan.batch)
        while len(self._idle) < self.plan.connections and time.perf_counter() < give_up:
            self._wait(LOOK_S)
        for connection in list(self.connections.values()):
            connection.abandon()
            connection.close()
        self.poll.close()
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        if not self.plan.steps:  # the only part lasts until the last answer
            self._parts[0].cpu_s, self._parts[0].wall_s = cpu, wall
        return self._report(began, wall)

    def _keys_of(self, connection: int) -> Sequence[int]:
        count, keys = self.plan.keys_of_connection, len(self.plan.keys)
        return [(connection * count + turn) % keys for turn in range(count)]

    def rest(self, connection: Connection, now: float) -> None:
        """Note that a connection can post again."""
        if not self._idle:
            self._idle_since = now
        self._idle.append(connection)

    def _post(self, part: Part, until: float) -> None:
        while part.begun < part.events:
            now = time.perf_counter()
            if now >= until:
                return
            if not self._idle:
                self._wait(min(LOOK_S, until - now))
            elif part.rate and (due := part.due(part.begun)) > now:
                self._wait(min(LOOK_S, until - now, due - now))
            else:
                self._begin(part)

    def _begin(self, part: Part) -> None:
        count = min(self.plan.batch, part.events - part.begun)
        first = part.first + part.begun
        intended = part.due(part.begun) if part.rate else time.perf_counter()
        part.begun += count
        connection = self._idle.pop()
        if self.plan.own_lanes:
            first = connection.own
            connection.own += count
        body = self._bodies.body(first, count, intended + self._clock)
        whose = 0
        if self.plan.keys_of_connection:
            whose = connection.take_key()
        elif self.plan.keys:
            whose = self._bodies.lane // self.plan.lanes_per_key
        request = b"%b%d\r\n\r\n%b" % (self._heads[whose], len(body), body)
        if part.rate:
            part.late_s.append(time.perf_counter() - max(intended, self._idle_since))
        part.requests += 1
        part.sent_bytes += len(request)
        connection.post(part, first, count, intended, request)

    def _wait(self, seconds: float) -> None:
        if self.plan.open:
            # select has a timeout in microseconds, epoll only in milliseconds. Therefore this code waits
            # with select for the descriptor of epoll, which is readable when epoll has events.
            select.select((self.poll,), (), (), seconds)
            seconds = 0.0
        for fd, _ in self.poll.poll(seconds):
            if connection := self.connections.get(fd):
                connection.ready()

    def _report(self, began: float, wall: float) -> dict[str, Any]:
        plan, parts = self.plan, self._parts
        report: dict[str, Any] = {
            **_whole(parts).report(hdr=plan.hdr, span_s=wall),
            "began": began,
            "wallS": round(wall, 3),
            "generatorCpuS": round(time.process_time(), 2),
            "tls": self.tls,
            "connectMs": round(self._connecting_s / plan.connections * 1000, 3),
        }
        if plan.steps:
            report["steps"] = [
                {
                    "rate": part.rate,
                    "seconds": part.seconds,
                    "first": part.first,
                    "begun": part.begun,
                    "startedS": round(part.start - parts[0].start, 3),
                    **part.report(hdr=plan.hdr, span_s=part.wall_s),
                }
                for part in parts
            ]
        if plan.ids:
            report["acceptedNumbers"] = self.accepted_numbers
            report["doubtfulNumbers"] = self.doubtful_numbers
        return report


def _whole(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    whole = Part(parts[0].rate, 0, math.inf, parts[0].first)
    for part in parts:
        whole.add(part)
    return whole
