"""Replays of delivered events and retries of dead deliveries, while new events arrive.

A further destination receives the service's own events, such as its reports of dead deliveries.
"""

import http.client
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.recording.trouble import SINGLY
from tests.patience import HANGS_S
from tests.process import verdict
from tests.process.house import Client, House, until
from tests.process.posting import Poster, posting
from tests.process.receiver import OK, Answer, Arrival, Receiver

DYING_SHARE = 0.3  # below the share that opens a circuit, which takes ten failures in a row
SCHEDULE = [1] * 8
ORDERS: dict[str, dict[str, Any]] = {
    "strict": {"ordering": "STRICT"},
    "key": {"ordering": "KEY"},
    "free": {},
}


TOLD = """SELECT id::text, idempotency_key FROM events
    WHERE origin = 3 AND type = 'angarium.delivery.dead_lettered'
        AND convert_from(payload, 'UTF8')::jsonb ->> 'destinationId' = $1"""
SUMMED = """SELECT coalesce(sum((convert_from(payload, 'UTF8')::jsonb ->> 'count')::int), 0)
    FROM events
    WHERE origin = 3 AND type = 'angarium.destination.dead_letters'
        AND convert_from(payload, 'UTF8')::jsonb ->> 'destinationId' = $1"""
DEATHS = """SELECT count(*) FROM attempt_log a JOIN deliveries d
        ON d.environment = a.environment AND d.id = a.delivery
    WHERE NOT a.success AND d.destination = $1::text::uuid"""


def _dying(n: str, before: int) -> Answer:
    dies = not before and random.Random(f"dying{n}").random() < DYING_SHARE
    return Answer(500) if dies else OK


class Scene:
    """Destinations with hundreds of delivered events. At one of them, some deliveries have died."""

    def __init__(self, house: House, receiver: Receiver, name: str) -> None:
        self.house = house
        self.receiver = receiver
        self.kind = f"{name}.one"
        self.paths = {order: f"/{name}-{order}" for order in ORDERS}
        self.dying_path, self.own_path = f"/{name}-dying", f"/{name}-own"
        url = receiver.url
        common: dict[str, Any] = {"concurrency": 16, "retrySchedule": SCHEDULE}
        self.targets = {
            order: house.made(url + path, self.kind, **common, **ORDERS[order])
            for order, path in self.paths.items()
        }
        receiver.behave(self.dying_path, _dying)
        self.dying = house.made(url + self.dying_path, self.kind, concurrency=16, retrySchedule=[])
        self.own = house.made(url + self.own_path, "angarium.*", **common)
        self.seeders = [
            Poster(house, f"{name}-seed{k}", batch=20, most=60, kind=self.kind) for k in range(4)
        ]
        with posting(*self.seeders):
            until(lambda: not any(each.is_alive() for each in self.seeders), "seeds are posted")
        house.until_settled()
        self.posters = [Poster(house, f"{name}{k}", kind=self.kind) for k in range(2)]
        self.replayer = Replayer(house, list(self.targets.values()))
        self.retrier = Retrier(house, self.dying)

    @contextmanager
    def under_way(self, crashes: int = 0) -> Iterator[None]:
        """Run the threads that post, replay and retry. The block begins after the first retries.

        After the block, the threads continue until every replay job has been created. Then wait until all
        jobs and deliveries have ended.
        """
        with posting(*self.posters), busy(self.replayer, self.retrier):
            until(lambda: self.retrier.retried > 10, "retries are under way")
            yield
            until(lambda: not self.replayer.left, "all replays are asked for")
        self.house.until_settled()
        self.retrier.until_none_is_left()
        until(lambda: all(job["status"] == "COMPLETED" for job in self._jobs()), "all jobs ended")
        if not crashes:
            until(self._all_told, "every death is told of")
        self.house.until_settled()

    def _all_told(self) -> bool:
        singly = len(self.house.rows(TOLD, self.dying))
        summed = int(self.house.value(SUMMED, self.dying))
        return singly + summed >= int(self.house.value(DEATHS, self.dying))

    def _jobs(self) -> list[Any]:
        found = self.house.api("GET", "/replay-jobs?limit=100")["items"]
        return [job for job in found if job["destinationId"] in self.targets.values()]

    def judge(self, crashes: int) -> None:
        """Check that each replay and each retry sent its delivery again once, and in order. Each crash
        can have caused one more arrival of a delivery."""
        house, receiver = self.house, self.receiver
        there = verdict.nothing_lost_or_invented(house, [*self.seeders, *self.posters], self.kind)
        for order, destination in self.targets.items():
            arrivals = receiver.arrivals(self.paths[order])
            verdict.all_arrived(there, arrivals)
            verdict.repeated_only_by_crashes(house, destination, arrivals, crashes)
            verdict.attempts_by_schedule(house, destination, SCHEDULE)
            if order != "free":
                in_order_of_entry(house, destination, arrivals, lanes=order == "key")
        replayed_once(house, self._jobs())
        arrivals = receiver.arrivals(self.dying_path)
        verdict.all_arrived(there, arrivals)
        verdict.repeated_only_by_crashes(house, self.dying, arrivals, crashes)
        retried_once(house, self.dying)
        said_once(house, self.dying, receiver.arrivals(self.own_path), crashed=crashes > 0)
        verdict.sums_equal_rows(house)
        house.api("DELETE", f"/destinations/{self.own}", {})  # later own events must not go there


# --- threads


class Busy(threading.Thread):
    """A thread that repeats requests until it is ended, even while no server runs."""

    def __init__(self, house: House) -> None:
        super().__init__()
        self.house = house
        self.ended = threading.Event()
        self.wrong: list[object] = []

    def ask(self, path: str, body: object, *answers: int) -> Any:
        """Post once. Return the answer's body, or None if the request was refused, failed or had no
        answer."""
        client = Client(self.house)
        try:
            told = client.ask("POST", path, body, close=True)
        except (OSError, http.client.HTTPException):
            return None
        if told.status not in (*answers, 500, 503):
            self.wrong.append(told)
        return told.body if told.status in answers else None


class Replayer(Busy):
    """Replays the seeds of one destination after another."""

    def __init__(self, house: House, destinations: list[str]) -> None:
        super().__init__(house)
        self.left = destinations * 2
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
        self.to = now

    def run(self) -> None:
        while self.left and not self.ended.wait(0.05):
            body = {"destinationId": self.left[0], "to": self.to, "from": "2020-01-01T00:00:00Z"}
            if self.ask("/replay-jobs", body, 201) is not None:
                self.left.pop(0)
                self.ended.wait(0.3)


class Retrier(Busy):
    """Retries all dead deliveries of one destination."""

    def __init__(self, house: House, destination: str) -> None:
        super().__init__(house)
        self.body = {"destinationId": destination}
        self.retried = 0

    def run(self) -> None:
        while not self.ended.wait(0.01):
            told = self.ask("/dlq/retry", self.body, 200)
            self.retried += 0 if told is None else told["retried"]

    def until_none_is_left(self) -> None:
        destination = self.body["destinationId"]
        dead = (
            "SELECT count(*) FROM deliveries WHERE dlq_status = 1 AND destination = $1::text::uuid"
        )
        while self.house.value(dead, destination):
            self.ask("/dlq/retry", self.body, 200)
            self.house.until_settled(destination)


@contextmanager
def busy(*threads: Busy) -> Iterator[None]:
    """Run the threads during the block, and wait for their last answers."""
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.ended.set()
        for thread in threads:
            thread.join(HANGS_S)
            assert not thread.is_alive(), "it never got an answer"
            assert not thread.wrong, thread.wrong[:3]


# --- verdicts


def replayed_once(house: House, jobs: list[Any]) -> None:
    """Check that each job has replayed each selected delivery once, and reports the right number."""
    for job in jobs:
        rows = house.rows(
            """SELECT r.replay_of::text, r.status FROM deliveries r
            WHERE r.replay_job = $1::text::uuid""",
            job["id"],
        )
        selected = house.rows(
            """SELECT d.id::text FROM deliveries d JOIN events e
                ON e.environment = d.environment AND e.id = d.event
            WHERE d.destination = $1::text::uuid AND d.origin = 1 AND d.updated_at_ms <= $2
              AND d.id < $3::text::uuid AND e.idempotency_key LIKE 'seed%'""",
            job["destinationId"], millis(job["id"]), job["id"],
        )  # fmt: skip
        times = Counter(row[0] for row in rows)
        assert set(times.values()) <= {1}, "replayed twice by one job"
        assert {row[0] for row in selected} <= times.keys(), "a seed was not replayed"
        statuses = Counter(row[1] for row in rows)
        assert job["enqueued"] == len(rows) == job["total"] - job["skipped"]
        assert (job["delivered"], job["failed"]) == (statuses[2], statuses[3])


def millis(identifier: str) -> int:
    return int(identifier[:8] + identifier[9:13], 16)


def retried_once(house: House, destination: str) -> None:
    """Check that dead deliveries were retried as often as the audit log says, and succeeded."""
    rows = house.rows(
        """SELECT d.status, d.dlq_status, d.attempt_count,
            (SELECT array_agg(number ORDER BY number) FROM attempt_log a
             WHERE a.environment = d.environment AND a.delivery = d.id)
        FROM deliveries d WHERE d.destination = $1::text::uuid""",
        destination,
    )
    retries = 0
    for status, dlq_status, attempts, numbers in rows:
        assert status == 2
        assert numbers == list(range(1, attempts + 1))
        assert dlq_status == (None if attempts == 1 else 2)
        retries += attempts - 1  # only retries cause further attempts
    audited = house.value(
        """SELECT coalesce(sum((convert_from(changes, 'UTF8')::jsonb #>> '{retried,to}')::int), 0)
        FROM audit_log WHERE action = 'dlq.retry'
            AND convert_from(changes, 'UTF8')::jsonb #>> '{filter,to,destinationId}' = $1""",
        destination,
    )
    assert audited == retries


def in_order_of_entry(
    house: House, destination: str, arrivals: list[Arrival], *, lanes: bool
) -> None:
    """Check that the first successful requests of a destination's deliveries, including replays, came in
    the order of the deliveries' seqs. If `lanes` is true, check the order only within each lane."""
    rows = house.rows(
        "SELECT id::text, seq FROM deliveries WHERE destination = $1::text::uuid", destination
    )
    seqs = dict(rows)
    seen: set[str] = set()
    highest: dict[str | None, int] = defaultdict(lambda: -1)
    for arrival in arrivals:
        if arrival.status >= 300 or arrival.delivery in seen:
            continue
        seen.add(arrival.delivery)
        lane = arrival.lane if lanes else None
        assert seqs[arrival.delivery] > highest[lane], f"{arrival.n} came too late in lane {lane}"
        highest[lane] = seqs[arrival.delivery]
    assert seen == seqs.keys()


def said_once(house: House, destination: str, arrivals: list[Arrival], *, crashed: bool) -> None:
    """Check that each dead delivery was reported once. Some reports are events about one dead delivery.
    Other reports are events that only state how many deliveries died in a minute.

    After a crash, the dead deliveries of the last minute can be unreported, because the event with their
    number did not exist yet.
    """
    singly = house.rows(TOLD, destination)
    assert len({key for _, key in singly}) == len(singly)
    deaths = int(house.value(DEATHS, destination))
    told = len(singly) + int(house.value(SUMMED, destination))
    assert (min(deaths, SINGLY) if crashed else deaths) <= told <= deaths
    assert {row[0] for row in singly} <= {each.event for each in arrivals}
