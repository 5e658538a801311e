"""The floors of this machine: the CPU time of the least work that any event delivery service must do.

There are three floors: the CPU time of a request and its answer (without signature or storage), of one
row when 256 rows are inserted in one commit, and of a system call. The speed of a machine changes from
minute to minute. Therefore the floors are measured before and after each measurement of the service,
and the service's figures are multiples of the floors.

`python -m bench.calibration` reads its plan as JSON from stdin, and prints CPU microseconds as JSON. With
`URL [REQUESTS]` it measures only the first floor.
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

GROUP = 256  # rows of one insert
PAYLOAD = b"x" * 300  # of one row, like an event of the load
# The number of requests determines the rest of a calibration: the calibration inserts one group of rows
# for each 600 requests, and makes ten system calls for each request. With 60,000 requests, it inserts 100
# groups in 0.1 s, and makes 600,000 system calls in 0.1 s.
REQUESTS_A_GROUP = 600
CALLS_A_REQUEST = 10
WARM_GROUPS = 4  # not counted: they extend the table's files and fill caches
# Each floor is measured several times during a measurement of Angarium. If a floor's highest value,
# divided by its lowest value, is more than `DRIFT`, the measurement was disturbed. On a shared machine, a
# floor changes by 10 % within an hour.
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
    """One persistent connection that posts again after each answer."""

    def __init__(self, sock: socket.socket, request: bytes, left: list[int]) -> None:
        self.sock = sock
        self.parser = httptools.HttpResponseParser(self)
        self._request = request
        self._left = left  # shared: requests to send, and missing answers

    def post(self) -> None:
        """Send the next request if one is left."""
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
    """Return the CPU microseconds of one inserted row: the sum for this process and for PostgreSQL's
    backend process."""
    return asyncio.run(_insert(database_url, groups))


async def _insert(url: str, groups: int) -> float:
    import asyncpg  # the import takes longer than the first floor, which does not need it

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
    """The IDs increase, like those of events."""
    ids = [UUID(int=(number << 80) | row) for row in range(GROUP)]
    return ids, [number] * GROUP, [PAYLOAD] * GROUP


def syscall_micros(calls: int) -> float:
    """Return the cost of a system call that returns immediately."""
    call = os.getppid
    before = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - before) / calls * 1e6


def floors(service: "Service") -> Floor:
    """Measure the floors (see the module) while the server `service` is idle.

    The requests go to a receiver of their own, so the run's receiver does not count them.
    """
    import bench.service  # not at the top: the measuring process must not import it
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
    """Return the mean of a measurement's floors."""
    if not measured:
        raise ValueError("a measurement has no floors")
    return Floor(
        *(
            round(statistics.fmean(getattr(each, name) for each in measured), 3)
            for name in Floor.__struct_fields__
        )
    )


def drift(measured: Sequence[Floor]) -> float:
    """Return how much this machine's speed changed during a measurement, as a factor. Each floor (the CPU
    time of a small standard task) was measured several times. The floor's highest value is divided by its
    lowest value. The result is the highest of these quotients."""
    return max(
        (
            max(values) / min(values)
            for name in Floor.__struct_fields__
            if (values := [getattr(each, name) for each in measured])
        ),
        default=1.0,
    )


def drifted(measured: Sequence[Floor]) -> bool:
    """Return True if the measurement was disturbed."""
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
