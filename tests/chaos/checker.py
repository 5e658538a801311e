"""Checks the service's promises against the log of the sender and the log of the receivers.

The caller gives the times of kills and freezes, because a delivery is allowed to come twice only then.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

RECORDED_S = 4.0  # before a crash: if the database works, every earlier answer is recorded by then
LATE_S = (
    4  # of an attempt's 5 s: if a receiver reads a request this late, its sender may have given up
)
WRONG_S = 60  # a larger age comes from a wrong clock of the sender, see ClockJumped
SETTLED_S = 12.0  # after a fault of the database, until all waiting work is written
SHOWN = 5
# The time that receivers need, after a kill, to read everything that the killed process sent. Later
# requests come from the process that took over. No takeover is faster than this, because a standby first
# checks four times at intervals of 0.1 s.
LEFT_S = 0.25


@dataclass(frozen=True, slots=True)
class Interval:
    """Times of the monotonic clock that all processes share."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request at a receiver.

    - `answered`: the time at which the receiver had written a complete 200, or None.
    - `doubtful`: the receiver was killed while it wrote a 200.
    - `sent`: the earliest time at which the request can have been sent. A frozen receiver reads a request
      long after it was sent.
    - `late`: the receiver read the request so late that the sender may have given up the attempt by then.
    """

    path: str
    n: str
    event: str
    delivery: str
    sha: str
    at: float
    answered: float | None
    doubtful: bool
    sent: float
    late: bool


@dataclass
class Sent:
    """The sender's knowledge of one event."""

    poster: str
    began: float
    accepted: float | None = None  # the beginning of the request that got the first 202
    ended: float | None = None
    id: str | None = None
    doubtful: bool = False  # a try without an answer can have been accepted
    place: int = 0  # among the poster's events, in the order of a batch


@dataclass
class Verdict:
    """The result of the checks. Each violation is a sentence."""

    violations: list[str] = field(default_factory=list)
    accepted: int = 0
    refused: int = 0
    doubtful: int = 0
    doubtful_delivered: int = 0
    torn: int = 0
    arrivals: int = 0
    failed: int = 0  # attempts that got no success as an answer
    duplicates: int = 0
    late: int = 0
    oldest_s: float = (
        0.0  # after crashes with a working database: a duplicate's longest time before its crash
    )

    def wrong(self, what: str, which: Iterable[object]) -> None:
        found = list(which)
        if found:
            self.violations.append(f"{len(found)} {what}: {found[:SHOWN]}")


def judged(
    sent: Path,
    received: Path,
    paths: Iterable[str],
    crashes: list[Interval],
    database: list[Interval],
) -> Verdict:
    """Judge a round.

    `crashes`: the times at which attempts in flight can have been cut off. `database`: the times at which
    the database, or the network to it, had a fault.
    """
    verdict = Verdict()
    events, batches = _sent(sent, verdict)
    arrivals = _received(received)
    by_path: dict[str, list[Arrival]] = {f"/{path}": [] for path in paths}
    for arrival in arrivals:
        by_path[arrival.path].append(arrival)
    accepted = {n for n, event in events.items() if event.id is not None}
    doubtful = {n for n, event in events.items() if event.id is None and event.doubtful}
    verdict.accepted, verdict.doubtful = len(accepted), len(doubtful)
    verdict.refused = len(events) - len(accepted) - len(doubtful)
    verdict.arrivals = len(arrivals)
    verdict.late = sum(arrival.late for arrival in arrivals)
    verdict.failed = sum(arrival.answered is None for arrival in arrivals)
    _identities(verdict, events, arrivals)
    seen: dict[str, set[str]] = {}
    for path, come in by_path.items():
        firsts = _firsts(come)
        seen[path] = set(firsts)
        verdict.wrong(f"lost at {path}", sorted(accepted - firsts.keys()))
        there = {arrival.n for arrival in come}
        verdict.wrong(f"invented at {path}", sorted(there - events.keys()))
        verdict.wrong(
            f"refused with 503, and at {path} all the same",
            sorted((there & events.keys()) - accepted - doubtful),
        )
        if path != "/free":
            _in_order(verdict, path, events, firsts, lanes=path == "/key")
        _duplicates(verdict, path, come, crashes, database)
    delivered = set.union(*seen.values())
    verdict.doubtful_delivered = len(doubtful & delivered)
    for path, there in seen.items():
        verdict.wrong(
            f"unanswered, delivered elsewhere and not at {path}",
            sorted((doubtful & delivered) - there),
        )
    for batch in batches:
        count = len(delivered.intersection(batch))
        verdict.torn += 1
        if count not in (0, len(batch)):
            verdict.violations.append(f"{count} of a batch of {len(batch)}: {batch[0]}")
    return verdict


def resumed(received: Path, kills: Iterable[float]) -> list[float]:
    """Return, for each kill of the delivering process, the seconds until another process delivers."""
    came = sorted(arrival.at for arrival in _received(received))
    found = []
    for kill in kills:
        place = bisect_left(came, kill + LEFT_S)
        if place < len(came):
            found.append(came[place] - kill)
    return found


def latest(sent: Path, received: Path) -> float:
    events, _ = _sent(sent, Verdict())
    came: dict[tuple[str, str], float] = {}
    for arrival in _received(received):
        came.setdefault((arrival.path, arrival.n), arrival.at)
    accepted = {n: began for n, event in events.items() if (began := event.accepted) is not None}
    return max((at - accepted[n] for (_, n), at in came.items() if n in accepted), default=0.0)


def pauses(received: Path) -> list[float]:
    """Return the pauses between consecutive arrivals that are longer than LEFT_S, in seconds."""
    came = sorted(arrival.at for arrival in _received(received))
    return [after - before for before, after in pairwise(came) if after - before > LEFT_S]


# --- the logs


def _lines(file: Path) -> Iterable[dict[str, Any]]:
    with file.open() as lines:
        for line in lines:
            yield json.loads(line)


def _sent(file: Path, verdict: Verdict) -> tuple[dict[str, Sent], list[list[str]]]:
    events: dict[str, Sent] = {}
    batches: dict[str, list[str]] = {}
    for line in _lines(file):
        numbers, status = line["n"], line["status"]
        if status not in (202, 500, 503, None):
            verdict.violations.append(f"answered with {status} {line.get('told')}: {numbers[0]}")
        for index, n in enumerate(numbers):
            event = events.setdefault(n, Sent(line["poster"], line["began"], place=index))
            if status == 202:
                identifier = line["ids"][index]
                if event.id not in (None, identifier):
                    verdict.violations.append(f"{n} has two ids")
                if event.id is None:
                    event.id = identifier
                    event.accepted, event.ended = line["began"], line["ended"]
            elif status in (500, None):
                event.doubtful = True
        if len(numbers) > 1:
            if status == 202:
                batches.pop(numbers[0], None)
            elif status in (500, None):
                batches[numbers[0]] = numbers
    return events, list(batches.values())


def _received(file: Path) -> list[Arrival]:
    notes: dict[tuple[int, int], dict[str, Any]] = defaultdict(dict)
    arrivals = []
    for line in _lines(file):
        key = (line["run"], line["k"])
        if "path" in line:
            arrivals.append((key, line))
        else:
            notes[key] |= line
    return [_arrival(line, notes[key]) for key, line in arrivals]


def _arrival(line: dict[str, Any], notes: dict[str, Any]) -> Arrival:
    answered: float | None = notes.get("answered")
    doubtful = "answering" in notes and answered is None and "unanswered" not in notes
    age = line.get("age", 0)  # whole seconds, from the time in the request's head
    late = LATE_S <= age < WRONG_S
    sent = line["at"] - age - 1 if 0 < age < LATE_S else line["at"]
    path, n, event, delivery, sha = (
        line[name] for name in ("path", "n", "event", "delivery", "sha")
    )
    return Arrival(path, n, event, delivery, sha, line["at"], answered, doubtful, sent, late)


# --- the promises


def _identities(verdict: Verdict, events: dict[str, Sent], arrivals: list[Arrival]) -> None:
    """Check that every arrival of an event has the id that the event's sender got, and that all arrivals
    of the event have the same bytes.
    """
    known: dict[str, tuple[str, str]] = {}
    other, changed = set(), set()
    for arrival in arrivals:
        event = events.get(arrival.n)
        if event is not None and event.id not in (None, arrival.event):
            other.add(arrival.n)
        if known.setdefault(arrival.n, (arrival.event, arrival.sha)) != (
            arrival.event,
            arrival.sha,
        ):
            changed.add(arrival.n)
    verdict.wrong("came under another id than was told", sorted(other))
    verdict.wrong("came with several ids or bodies", sorted(changed))


def _firsts(come: list[Arrival]) -> dict[str, int]:
    """Return each event's first success: its index in the list `come` of arrivals.

    A success is a complete answer. If an event got no complete answer, an answer that a kill may have cut
    off counts as a success. The events are in the order of their first successes.
    """
    well = {arrival.n for arrival in come if arrival.answered is not None}
    firsts: dict[str, int] = {}
    for place, arrival in enumerate(come):
        if arrival.answered is not None or (arrival.doubtful and arrival.n not in well):
            firsts.setdefault(arrival.n, place)
    return firsts


def _in_order(
    verdict: Verdict, path: str, events: dict[str, Sent], firsts: dict[str, int], *, lanes: bool
) -> None:
    """Check the order of arrival. If event B was posted after the 202 for event A, B must arrive after A.
    If `lanes` is true, this holds only for two events of one lane, otherwise for any two events.
    """
    latest: dict[str, tuple[float, int, str]] = defaultdict(lambda: (0.0, 0, ""))
    wrong = []
    for n in firsts:
        event = events.get(n)
        if event is None or event.ended is None:
            continue  # it is unknown when it was accepted
        lane = event.poster if lanes else ""
        began, place, before = latest[lane]
        same = began == event.began and events[before].poster == event.poster
        if event.ended < began or (same and event.place < place):
            wrong.append(f"{before} before {n}")
        latest[lane] = max(latest[lane], (event.began, event.place, n))
    verdict.wrong(f"out of order at {path}", wrong)


def _duplicates(
    verdict: Verdict,
    path: str,
    come: list[Arrival],
    crashes: list[Interval],
    database: list[Interval],
) -> None:
    """Check repeated deliveries. After the success of a delivery, the receiver gets the delivery again
    only if a crash may have prevented the service from recording the success.
    """
    answered: dict[str, tuple[float, float]] = {}
    wrong = []
    for arrival in come:
        sent, before = answered.get(arrival.delivery, (0.0, None))
        if before is not None:
            verdict.duplicates += 1
            why = [crash for crash in crashes if _between(sent, arrival.at, crash)]
            if not any(_may_wait(before, crash, database) for crash in why):
                age = min((crash.began - before for crash in why), default=inf)
                verdict.oldest_s = max(verdict.oldest_s, age)
                if age > RECORDED_S:
                    wrong.append(f"{arrival.n} {age:.2f} s before a crash")
        if arrival.answered is not None and not arrival.late:
            answered.setdefault(arrival.delivery, (arrival.sent, arrival.answered))
    verdict.wrong(f"again at {path} without a crash", wrong)


def _between(sent: float, again: float, crash: Interval) -> bool:
    return crash.began <= again and crash.ended >= sent


def _may_wait(answered: float, crash: Interval, database: list[Interval]) -> bool:
    return any(
        trouble.began < crash.ended and trouble.ended + SETTLED_S > answered for trouble in database
    )
