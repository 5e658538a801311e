"""Histories written by hand, for tests of the oracle, with a method for each kind of fact.

The facts agree with each other unless a test says otherwise: the rows are those of a service without
bugs.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from tests.sim.trace import (
    Answered,
    AnyFact,
    Arrived,
    Asked,
    AttemptRow,
    Booted,
    Configured,
    DeliveryRow,
    EventRow,
    Fault,
    History,
    Item,
    JobRow,
    Killed,
    MinuteRow,
    Posted,
    Ready,
    Relayed,
    Replied,
    Rows,
    Ruled,
    Told,
)

NOW = 1_700_000_000.0


class Telling:
    """A history that is being written. Instants are seconds since its beginning."""

    def __init__(self) -> None:
        self.facts: list[AnyFact] = []
        self.events: dict[str, EventRow] = {}
        self.deliveries: dict[str, DeliveryRow] = {}
        self.attempts: list[AttemptRow] = []
        self.jobs: list[JobRow] = []
        self.leaves_after_s = 30.0  # how long an actor without work stays in memory
        self.backlog: list[str] = []
        # counted besides the rows
        self.counted: list[tuple[str, float, str]] = []
        self.clocks: dict[int, float] = {}
        self._request = self._send = self._seq = self._version = 0

    # --- processes

    def boot(
        self, at: float, process: int = 1, clock_s: float = 0.0, part: int = 0, parts: int = 1
    ) -> None:
        self.clocks[process] = clock_s
        booted = Booted(NOW + at, process, clock_s, part, parts)
        self.tell(booted, Ready(NOW + at + 0.1, process))

    def kill(self, at: float, process: int = 1) -> None:
        self.tell(Killed(NOW + at, process))

    def fault(self, at: float, kind: str) -> None:
        self.tell(Fault(NOW + at, kind))

    def tell(self, *facts: AnyFact) -> None:
        self.facts += facts

    # --- configuration

    def destination(self, at: float, name: str = "d1", **changes: Any) -> None:
        self._version += 1
        known: dict[str, Any] = {
            "status": "ACTIVE", "ordering": "NONE", "schedule_s": (1, 5), "concurrency": 2,
        }  # fmt: skip
        version = self._version
        self.tell(Configured(NOW + at, name, 1, version, **(known | changes)))

    def rule(self, at: float, name: str = "r1", destination: str = "d1", **changes: Any) -> None:
        known: dict[str, Any] = {"types": ("*",)}
        self.tell(Ruled(NOW + at, name, 1, destination, **(known | changes)))

    # --- events

    def post(
        self,
        at: float,
        *marks: str,
        answer: str = "accepted",
        process: int = 1,
        relayed: int | None = None,
        **fields: Any,
    ) -> list[str]:
        """Post one event for each mark. A mark is a text that only this event's payload contains.
        `relayed`: the process to which the request is relayed, or None. If the answer is `accepted`, each
        event is stored, too: the history gets its row. The mark is also the event's id."""
        self._request += 1
        items = tuple(Item(mark, "order.created", **fields) for mark in marks)
        ids = marks if answer == "accepted" else ()
        self.tell(Posted(NOW + at, self._request, process, 1, items))
        if relayed is not None:
            self.tell(Relayed(NOW + at + 0.005, self._request, relayed))
        self.tell(Answered(NOW + at + 0.01, self._request, answer, ids))
        if answer == "accepted":
            for item in items:
                self.event(item.mark, key=item.key)
        return list(marks)

    def event(self, mark: str, **changes: Any) -> None:
        row = EventRow(mark, 1, "order.created", mark, None)
        self.events[mark] = structs.replace(row, **changes)

    def delivery(self, event: str, destination: str = "d1", **changes: Any) -> str:
        self._seq += 1
        identifier = f"{event}-{destination}"
        known: dict[str, Any] = {
            "id": identifier, "environment": 1, "event": event, "destination": destination,
            "status": "PENDING", "origin": "NORMAL", "lane": None, "seq": self._seq,
            "attempts": 0, "schedule_start": 0, "dlq_status": None, "next_attempt_at": None,
            "replay_of": None, "replay_job": None,
        }  # fmt: skip
        row = DeliveryRow(**(known | changes))
        self.deliveries[row.id] = row
        return row.id

    def change(self, delivery: str, **changes: Any) -> None:
        self.deliveries[delivery] = structs.replace(self.deliveries[delivery], **changes)

    # --- attempts

    def send(
        self,
        at: float,
        delivery: str,
        status: int | None = 200,
        *,
        process: int = 1,
        lasts_s: float = 0.1,
        judged: bool = True,
        recorded: bool = True,
        number: int | None = None,
        retry_after_s: float | None = None,
        **changes: Any,
    ) -> None:
        row = self.deliveries[delivery]
        number = row.attempts + 1 if number is None else number
        self._send += 1
        mark = self.events[row.event].mark if row.event in self.events else row.event
        arrived = Arrived(
            NOW + at, self._send, process, row.destination, delivery, row.event, mark,
            "body", number, True,
        )  # fmt: skip
        end = NOW + at + lasts_s
        self.tell(structs.replace(arrived, **changes))
        self.tell(Replied(end, self._send, status, judged, retry_after_s))
        if recorded:
            success = status is not None and status < 300
            clock_s = self.clocks[process]
            began, took_ms = NOW + at + clock_s, int(lasts_s * 1000)
            self.attempts.append(AttemptRow(delivery, number, began, took_ms, success, status))
            now = end + clock_s
            if success:
                self.change(delivery, status="DELIVERED", delivered_at=now, next_attempt_at=None)
            else:
                self.change(delivery, status="RETRYING", next_attempt_at=now)
            self.change(delivery, attempts=number)

    def die(self, delivery: str, at: float, **changes: Any) -> None:
        known = {"status": "FAILED", "dlq_status": "IN_DLQ", "next_attempt_at": None}
        self.change(delivery, **(known | {"dead_lettered_at": NOW + at} | changes))

    # --- callers

    def ask(self, at: float, kind: str, answer: str = "done", **fields: Any) -> None:
        self._request += 1
        told: Sequence[str] = fields.pop("ids", ())
        self.tell(Asked(NOW + at, self._request, 1, kind, 1, **fields))
        self.tell(Told(NOW + at + 0.01, self._request, answer, tuple(told)))

    # --- the end

    def history(self) -> History:
        facts = sorted(self.facts, key=lambda fact: fact.at)
        rows = Rows(
            tuple(self.events.values()), tuple(self.deliveries.values()), tuple(self.attempts),
            self._minutes(), tuple(self.jobs), tuple(self.backlog),
        )  # fmt: skip
        return History(0, tuple(facts), rows, leaves_after_s=self.leaves_after_s)

    def _minutes(self) -> tuple[MinuteRow, ...]:
        counts: dict[tuple[str, int], MinuteRow] = {}

        def count(destination: str, at: float, *names: str) -> None:
            minute = int(at * 1000 + 0.5) // 60_000
            row = counts.get((destination, minute), MinuteRow(destination, minute, 0, 0, 0, 0, 0))
            more = {name: getattr(row, name) + 1 for name in names}
            counts[destination, minute] = structs.replace(row, **more)

        for attempt in self.attempts:
            names = ["attempts"]
            names += [] if attempt.success else ["failed"]
            names += ["retried"] if attempt.number > 1 else []
            ended = attempt.started_at + attempt.duration_ms / 1000
            count(self.deliveries[attempt.delivery].destination, ended, *names)
        for row in self.deliveries.values():
            if row.delivered_at is not None:
                count(row.destination, row.delivered_at, "delivered")
            if row.dead_lettered_at is not None:
                count(row.destination, row.dead_lettered_at, "dead_lettered")
        for destination, at, name in self.counted:
            count(destination, NOW + at, name)
        return tuple(counts.values())


def a_telling(**changes: Any) -> Telling:
    """Return the beginning of a history: one process, one destination, one rule for everything."""
    telling = Telling()
    telling.boot(0)
    telling.destination(1, **changes)
    telling.rule(1)
    return telling
