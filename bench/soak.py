"""The soak: load for a long time, with receivers that fail, hang and recover.

Memory, descriptors, threads, tasks and latency must not grow. PostgreSQL must clean up after the
updates, housekeeping must remove old partitions, and in the end all events must be delivered.
"""

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg

from bench.checks import require
from bench.posting import begun, ended
from bench.processes import rss_mb, tree
from bench.service import Figures, Receiver, Service
from bench.trend import Trend, trend
from storage.embedded.server import running_url
from storage.log.partitions import bounds_of

FLAP_S = (8.0, 4.0, 1.0)  # healthy, failing, hanging; shorter in runs below a minute
SAMPLES = 360  # one every 5 s in half an hour
CONNECTIONS = 128  # enough that at 5,000 a second no post waits for another
OLD_DAYS = 40  # beyond any plan's retention: housekeeping must remove the day's partitions
DRAIN_S = 300.0  # an open circuit probes within a minute
VERDICT_S = 600.0  # shorter runs get no verdict: the server is still warming up

# The largest allowed growth in an hour. The server uses about 150 MB of memory, and the allocator alone
# can change this by some MB. One burst of connections can add some descriptors and tasks. A leak of one
# object for each event would add millions of objects.
ALLOWED: dict[str, float] = {
    "rssMb": 8.0,
    "databaseRssMb": 60.0,  # shared pages count after their first use, up to shared_buffers
    "descriptors": 24.0,
    "threads": 4.0,
    "tasks": 12.0,
    "blocks": 60_000.0,  # in use in Python's allocator; memory includes free blocks
}
ALLOWED_P99_SHARE = 0.2  # of the median: the normal difference between minutes
_TABLES = """
    SELECT (regexp_match(relname, '^([a-z_]+?)(_[0-9]{8})?$'))[1] AS name,
        sum(n_dead_tup)::bigint AS dead, sum(n_live_tup)::bigint AS live,
        sum(autovacuum_count)::int AS vacuums, sum(pg_total_relation_size(relid))::bigint AS bytes
    FROM pg_stat_user_tables GROUP BY 1
"""
_OLD = """
    CREATE TABLE {table}_{day} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
    ALTER TABLE {table} ATTACH PARTITION {table}_{day} FOR VALUES FROM ('{low}') TO ('{high}')
"""
_SETTLED = "SELECT status, count(*)::int FROM deliveries GROUP BY 1"


class Watched(Service):
    """A server that reports its numbers of tasks and memory blocks, and runs housekeeping every two
    seconds."""

    def __init__(self) -> None:
        super().__init__(program="bench.watched")
        self.watch = self.folder / "watch.jsonl"
        self.settings |= {"BENCH_WATCH": str(self.watch), "BENCH_HOUSEKEEPING_S": "2"}

    def gauges(self) -> dict[str, float]:
        """Return the last report of the server."""
        with suppress(OSError):
            lines = self.watch.read_text().splitlines()
            if lines:
                return dict(json.loads(lines[-1]))
        return {}

    def rows(self, sql: str) -> list[Any]:
        """Run a query or a script on the database."""
        return asyncio.run(self._rows(sql))

    async def _rows(self, sql: str) -> list[Any]:
        url = running_url(self.folder)
        assert url is not None
        connection = await asyncpg.connect(url, ssl="disable", timeout=30, command_timeout=300)
        try:
            if ";" in sql:
                await connection.execute(sql)
                return []
            return list(await connection.fetch(sql))
        finally:
            await connection.close()


class Sampler(threading.Thread):
    """A thread that samples the server."""

    def __init__(self, service: Watched, every_s: float) -> None:
        super().__init__(name="sampler")
        self.samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
        self.ended = threading.Event()
        self._service = service
        self._every_s = every_s

    def run(self) -> None:
        assert self._service.process is not None
        pid, database = self._service.process.pid, self._service.database_pid()
        while not self.ended.wait(self._every_s):
            at = time.monotonic()
            status = Path(f"/proc/{pid}/status").read_text()
            threads = next(line for line in status.splitlines() if line.startswith("Threads:"))
            seen: dict[str, float] = {
                "rssMb": rss_mb(pid),
                "databaseRssMb": _own_mb(database),
                "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                "threads": int(threads.split()[1]),
            }
            found = self._service.gauges()
            seen |= {name: found[name] for name in ("tasks", "blocks") if name in found}
            for name, value in seen.items():
                self.samples[name].append((at, value))


class Flapping(threading.Thread):
    """A thread that makes a receiver healthy, failing and hanging in turns. At the end the receiver is
    healthy."""

    def __init__(self, receiver: Receiver, whole_s: float) -> None:
        super().__init__(name="flapping")
        self._part = min(1.0, whole_s / 60)
        self.ended = threading.Event()
        self.turns = 0
        self._receiver = receiver

    def run(self) -> None:
        well_s, failing_s, hanging_s = (each * self._part for each in FLAP_S)
        while not self.ended.wait(well_s):
            self._receiver.reset(fail_every=1)
            self.ended.wait(failing_s)
            self._receiver.reset()
            os.kill(self._receiver.process.pid, signal.SIGSTOP)
            self.ended.wait(hanging_s)
            os.kill(self._receiver.process.pid, signal.SIGCONT)
            self.turns += 1


def soak(
    service: Watched,
    receiver: Receiver,
    *,
    minutes: int,
    rate: int,
    flapping_percent: int,
    seconds: int = 60,
) -> Figures:
    """Post `rate` events/s for `minutes`. `flapping_percent` of the events go to a flapping receiver.
    `seconds` is the length of a minute; tests use shorter minutes."""
    with Receiver() as unsteady:
        service.destination(receiver.url + "/hook", ["steady"], concurrency=64)
        for lane in ("NONE", "KEY"):
            service.destination(
                f"{unsteady.url}/{lane}",
                [f"unsteady.{('NONE', 'KEY').index(lane)}"],
                concurrency=32,
                ordering=lane,
                timeoutMs=2_000,
                retrySchedule=[1] * 20,
            )
        sampler = Sampler(service, max(0.25, minutes * seconds / SAMPLES))
        flapping = Flapping(unsteady, minutes * seconds)
        sampler.start()
        flapping.start()
        try:
            figures, minute_by_minute = _minutes(
                service, receiver, minutes, rate, flapping_percent, seconds
            )
        finally:
            for each in (flapping, sampler):
                each.ended.set()
            for each in (flapping, sampler):
                each.join()
        _drained(service, figures["accepted"])
        figures |= {"flaps": flapping.turns}
    return figures | _tables(service) | _trends(sampler.samples, minute_by_minute)


def _minutes(
    service: Watched, receiver: Receiver, minutes: int, rate: int, percent: int, seconds: int
) -> tuple[Figures, dict[str, list[tuple[float, float]]]]:
    """Post the events of all minutes. Return the totals of all events, and for each minute the latencies
    of the receiver that does not flap."""
    unsteady_rate = max(2, rate * percent // 100)
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    accepted = refused = rotated = late = 0
    for number in range(minutes):
        if not _old_days(service):
            _make_old_day(service)
            rotated += number > 0
        plans: list[dict[str, Any]] = [
            {"event_type": "steady", "rate": rate - unsteady_rate, "connections": CONNECTIONS},
            {
                "types": 2,
                "stem": "unsteady",
                "lanes": 50,
                "rate": unsteady_rate,
                "connections": CONNECTIONS // 4,
            },
        ]
        receiver.reset()
        posts = [_post(service, plan, seconds, number) for plan in plans]
        sent = [ended(post) for post in posts]
        at = time.monotonic()
        for each in sent:
            strange = each["answers"].keys() - {"202", "503"}
            require(not strange, f"minute {number}: {each['answers']}")
            accepted += each["accepted"]
            refused += each["answers"].get("503", 0)
        steady = receiver.wait(sent[0]["accepted"])
        require(
            steady["unique"] == sent[0]["accepted"],
            f"minute {number}: {steady['unique']} arrived of {sent[0]['accepted']} accepted,"
            f" answers: {sent[0]['answers']}",
        )
        late += steady["duplicates"]
        for name, value in (("p50Ms", steady["p50Ms"]), ("p99Ms", steady["p99Ms"])):
            series[name].append((at, value))
        series["ackP99Ms"].append((at, sent[0]["ackP99Ms"]))
    require(late == 0, f"{late} duplicates at the healthy receiver")
    totals = {"accepted": accepted, "refused": refused, "partitionsRotated": rotated}
    return totals, series


def _post(
    service: Watched, plan: dict[str, Any], seconds: int, number: int
) -> subprocess.Popen[str]:
    events = int(plan["rate"]) * seconds
    whole = {**plan, "events": events, "first": number * events, "give_up_s": seconds + 60.0}
    return begun(service, **whole)


def _drained(service: Watched, accepted: int) -> None:
    give_up = time.monotonic() + DRAIN_S
    while True:
        states = {int(row[0]): int(row[1]) for row in service.rows(_SETTLED)}
        if not states.keys() - {2, 3} or time.monotonic() > give_up:
            break
        time.sleep(0.25)
    require(states.keys() == {2}, f"not all deliveries are delivered; by status: {states}")
    require(states[2] == accepted, f"{states[2]} delivered of {accepted} accepted")


def _tables(service: Watched) -> Figures:
    found = {row["name"]: row for row in service.rows(_TABLES)}
    log = {name: found[name] for name in ("events", "deliveries", "attempts") if name in found}
    return {
        "logMb": round(sum(row["bytes"] for row in log.values()) / 1e6),
        "deadTuplesOfDeliveries": int(log["deliveries"]["dead"]),
        "deadShareOfDeliveries": round(
            log["deliveries"]["dead"] / max(1, log["deliveries"]["live"]), 3
        ),
        "deadTuplesElsewhere": sum(int(row["dead"]) for row in found.values())
        - int(log["deliveries"]["dead"]),
        "autovacuums": sum(row["vacuums"] for row in found.values()),
    }


def _trends(*measured: dict[str, list[tuple[float, float]]]) -> Figures:
    figures: Figures = {}
    creeping = []
    for name, points in {key: value for each in measured for key, value in each.items()}.items():
        try:
            line = trend(points)
        except ValueError:  # the run is too short
            continue
        figures[name] = _trend_text(line)
        allowed = ALLOWED.get(name, line.level * ALLOWED_P99_SHARE)
        if not line.flat(allowed):
            creeping.append(f"{name} by {line.per_hour:+.1f} an hour, allowed: {allowed:.1f}")
    figures["verdict"] = "flat" if not creeping else "creeps: " + "; ".join(creeping)
    if any(points[-1][0] - points[0][0] < VERDICT_S for points in measured[0].values()):
        figures["verdict"] = "too short for one"
    return figures


def _trend_text(line: Trend) -> str:
    return f"{line.level:.1f}, {line.per_hour:+.1f} an hour ({line.low:+.1f} to {line.high:+.1f})"


def _old_days(service: Watched) -> int:
    return len(service.rows(f"SELECT FROM pg_class WHERE relname LIKE '%\\_{_old():%Y%m%d}'"))


def _make_old_day(service: Watched) -> None:
    """The day is beyond all plans' retention."""
    low, high = bounds_of(_old())
    for table in ("events", "deliveries", "attempts"):
        service.rows(_OLD.format(table=table, day=f"{_old():%Y%m%d}", low=low, high=high))


def _old() -> date:
    return datetime.now(UTC).date() - timedelta(days=OLD_DAYS)


def _own_mb(postmaster: int) -> float:
    """Return the memory of a database's processes in MB. Memory that the processes share counts only
    once."""
    total = 0
    for pid in tree(postmaster):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1e3
