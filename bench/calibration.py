"""The floors that this machine sets, in a process of its own: `python -m bench.calibration`, its plan as
JSON on stdin; or `python -m bench.calibration URL [REQUESTS]` for the first of them alone.

The floors are the least work of any such service. One is a request and its answer (bare epoll and
httptools, nothing signed or stored). One is a row committed with its group (one prepared statement over
`unnest`). One is a system call. Prints CPU microseconds as JSON. A measurement is stated as a multiple
of the floors around it, since machines differ, and one machine differs from minute to minute.
"""

import asyncio
import json
import os
import select
import socket
import statistics
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import UUID

import httptools
import msgspec

from bench.processes import own_cpu_s
from bench.results import Floor

if TYPE_CHECKING:
    from bench.service import Service

CONNECTIONS = 16
_BODY = b'{"type":"bench.event","data":{"k":"' + b"x" * 360 + b'"}}'

GROUP = 256  # rows of one insert: what a group under load has
PAYLOAD = b"x" * 300  # of one row: the event that is posted
# Others' share of `bench.service.FLOOR_REQUESTS`, so that one number makes all of it short: of its 60,000
# requests these make 100 groups and 600,000 calls, a tenth of a second each.
REQUESTS_A_GROUP = 600
CALLS_A_REQUEST = 10
WARM_GROUPS = 4  # not counted: the first ones extend the table's files and fill caches
# The floors of one measurement may differ by so much, as the largest over the least of each. Within an
# hour of a shared machine they differ by 10 %; what is beyond has disturbed what lies between.
DRIFT = 1.15

_SCHEMA = """
DROP SCHEMA IF EXISTS bench_floor CASCADE;
CREATE SCHEMA bench_floor;
CREATE TABLE bench_floor.rows (id uuid PRIMARY KEY, at_ms bigint NOT NULL, payload bytea NOT NULL)"""
_INSERT = """
INSERT INTO bench_floor.rows (id, at_ms, payload)
SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bytea[])"""
_DROP = "DROP SCHEMA bench_floor CASCADE"


class Poster:
    """One kept connection that posts again after each answer."""

    def __init__(self, sock: socket.socket, request: bytes, left: list[int]) -> None:
        self.sock = sock
        self.parser = httptools.HttpResponseParser(self)
        self._request = request
        self._left = left  # shared: requests to send, answers to come

    def post(self) -> None:
        """Send the next request, if there is one."""
        if self._left[0] > 0:
            self._left[0] -= 1
            self.sock.send(self._request)

    def on_message_complete(self) -> None:
        self._left[1] -= 1
        self.post()


def measure(url: str, requests: int) -> dict[str, float]:
    """Post `requests` times; return the cost."""
    parts = urlsplit(url)
    request = (
        f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(_BODY)}\r\n\r\n"
    ).encode() + _BODY
    left = [requests, requests]
    poll = select.epoll()
    posters: dict[int, Poster] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(CONNECTIONS):
        sock = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 80))
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        posters[sock.fileno()] = Poster(sock, request, left)
        poll.register(sock.fileno(), select.EPOLLIN)
        posters[sock.fileno()].post()
    while left[1] > 0:
        for fd, _ in poll.poll():
            posters[fd].parser.feed_data(posters[fd].sock.recv(65536))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    for poster in posters.values():
        poster.sock.close()
    return {"cpuMicros": round(cpu / requests * 1e6, 3), "perSecond": round(requests / wall)}


def insert_micros(database_url: str, groups: int) -> float:
    """Insert groups of rows into a temporary table; return the cost of a row for its client and its
    backend."""
    return asyncio.run(_insert(database_url, groups))


async def _insert(url: str, groups: int) -> float:
    import asyncpg  # takes longer than the first floor alone, which needs none

    connection = await asyncpg.connect(url, ssl=False)
    try:
        await connection.execute(_SCHEMA)
        statement = await connection.prepare(_INSERT)
        backend = connection.get_server_pid()
        made = [_group(number) for number in range(WARM_GROUPS + groups)]
        for group in made[:WARM_GROUPS]:
            await statement.fetch(*group)
        before = time.process_time() + own_cpu_s(backend)
        for group in made[WARM_GROUPS:]:
            await statement.fetch(*group)
        spent = time.process_time() + own_cpu_s(backend) - before
        await connection.execute(_DROP)
    finally:
        await connection.close()
    return spent / (groups * GROUP) * 1e6


def _group(number: int) -> tuple[list[UUID], list[int], list[bytes]]:
    """Return the columns of one group: rising ids, as events have."""
    ids = [UUID(int=(number << 80) | row) for row in range(GROUP)]
    return ids, [number] * GROUP, [PAYLOAD] * GROUP


def syscall_micros(calls: int) -> float:
    """Return the cost of a call that the kernel answers at once."""
    call = os.getppid
    before = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - before) / calls * 1e6


def floors(service: "Service") -> Floor:
    """Measure the floors beside a service, which should be idle meanwhile.

    The requests go to a separate receiver, so that the run's counts and its receiver's behaviour stay
    unchanged. Takes about two seconds.
    """
    import bench.service  # here, so that the measuring process does not import it
    from storage.embedded.server import running_url

    database_url = running_url(service.folder)
    if database_url is None:
        raise RuntimeError(f"no database runs in {service.folder}")
    with bench.service.Receiver() as receiver:
        plan = {
            "url": f"{receiver.url}/floor",
            "databaseUrl": database_url,
            "requests": service.floor_requests,
        }
        found: dict[str, float] = bench.service.Module.run("bench.calibration", plan=plan)
    return msgspec.convert(found, Floor)


def around(measured: Sequence[Floor]) -> Floor:
    """Return the divisor of a measurement: the mean of the floors around it."""
    if not measured:
        raise ValueError("a measurement has no floors")
    return Floor(
        *(
            round(statistics.fmean(getattr(each, name) for each in measured), 3)
            for name in Floor.__struct_fields__
        )
    )


def drift(measured: Sequence[Floor]) -> float:
    """Return the largest drift of a floor: its largest value over its least."""
    return max(
        (
            max(values) / min(values)
            for name in Floor.__struct_fields__
            if (values := [getattr(each, name) for each in measured])
        ),
        default=1.0,
    )


def drifted(measured: Sequence[Floor]) -> bool:
    """Whether the floors differ by more than a measurement can tolerate."""
    return drift(measured) > DRIFT


def _planned(plan: dict[str, Any]) -> dict[str, float]:
    requests = int(plan["requests"])
    return {
        "sendMicros": measure(plan["url"], requests)["cpuMicros"],
        "insertMicros": round(
            insert_micros(plan["databaseUrl"], max(1, requests // REQUESTS_A_GROUP)), 3
        ),
        "syscallMicros": round(syscall_micros(requests * CALLS_A_REQUEST), 4),
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        count = int(sys.argv[2]) if len(sys.argv) > 2 else 60_000
        print(json.dumps(measure(sys.argv[1], count)), flush=True)
    else:
        print(json.dumps(_planned(json.load(sys.stdin))), flush=True)
