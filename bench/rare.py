"""The time to read the first page of a list, filtered by a value that only twenty rows have.

These rows are spread over the whole log, so a scan from the newest row would have to read most of the log
to fill the page.
"""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import trio

from bench.checks import require
from bench.filling import Filled, fill_log, tidy
from bench.reads import Client, destinations
from bench.service import Figures, Receiver, Service
from storage.database.bridge import open_bridge
from storage.database.connection import Connection
from storage.database.profiles import UPKEEP
from storage.embedded.server import attached
from storage.log.partitions import lowest_id

BAR_MS = 50.0  # p95
ROWS = 20  # as many as fit on a page
WARM = 3
STOPPED_MS = 1_000.0
JOB = "01900000-0000-7000-8000-000000000001"

# At each of twenty instants, each change is made to one delivery.
_WAYS = (
    "event_type = 'rare', customer = 'rare', response_status = 207",
    "status = 0, response_status = NULL, delivered_at_ms = NULL, updated_at_ms = NULL",
    "status = 5, response_status = NULL, delivered_at_ms = NULL",
    f"origin = 2, replay_job = '{JOB}'",
    "origin = 3",
    "kind = 2",
    "priority = 3",
    "status = 3, trouble = 3, dlq_status = 1, error_category = 5, response_status = NULL,"
    " dead_lettered_at_ms = updated_at_ms, delivered_at_ms = NULL",
    "trouble = 4, dlq_status = 2",
)
_PICK = """
SELECT id::text, event::text FROM deliveries
WHERE environment = $1 AND id >= $2::uuid AND trouble IS NULL ORDER BY id LIMIT $3"""
_EVENT = """
UPDATE events SET type = 'rare', customer = 'rare', correlation_id = 'rare', request_id = 'rare',
    idempotency_key = 'rare', deliveries = 0
WHERE environment = $1 AND id = $2::uuid"""
# The server summarises the last range of a day after the day.
_SUMMARISE = """
SELECT sum(brin_summarize_new_values(inhrelid)) FROM pg_inherits
WHERE inhparent IN ('deliveries_found'::regclass, 'events_found'::regclass)"""
_DELIVERIES = (
    "eventType=rare", "customerExternalId=rare", "responseStatus=207", "status=PENDING", "status=DRY_RUN",
    "status=DRY_RUN&status=PENDING", f"replayJobId={JOB}", "isReplay=true", "originKind=REPLAY",
    "originKind=INSPECTION", "kind=FILE", "priority=CRITICAL", "errorCategory=BLOCKED_ADDRESS",
    "dlqStatus=RETRIED_FROM_DLQ",
)  # fmt: skip
_EVENTS = (
    "eventType=rare", "customerExternalId=rare", "correlationId=rare", "requestId=rare",
    "idempotencyKey=rare", "undelivered=true",
)  # fmt: skip
_DEAD = ("errorCategory=BLOCKED_ADDRESS",)


def rare(
    service: Service, receiver: Receiver, *, deliveries: int, days: int, requests: int
) -> Figures:
    """Fill the log with the rare rows; measure each filter without and with a time range."""
    filled = destinations(service, receiver)
    began = time.monotonic()
    with attached(service.folder) as url:
        trio.run(_spread, url, filled, deliveries, days)
    filling_s = round(time.monotonic() - began, 1)
    client = Client(service)
    now = time.time()
    since, until = (
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - part * days * 86_400))
        for part in (0.75, 0.1)
    )
    figures: Figures = {"deliveries": deliveries, "fillingSeconds": filling_s}
    worst, stopped = 0.0, 0
    for path in (
        *(f"/deliveries?{each}" for each in _DELIVERIES),
        *(f"/events?{each}" for each in _EVENTS),
        *(f"/dlq?{each}" for each in _DEAD),
    ):
        for name, asked in (
            (path, path),
            (f"{path} in a range", f"{path}&from={since}&to={until}"),
        ):
            for _ in range(WARM):
                client.get(asked)
            answers = [client.get(asked) for _ in range(requests)]
            took = times(asked, answers, ROWS if asked is path else 0)
            p95 = took[math.ceil(len(took) * 0.95) - 1]
            worst = max(worst, p95)
            figures[name] = f"p50 {statistics.median(took):.1f}, p95 {p95:.1f} ms"
            stopped += sum(each >= STOPPED_MS for each in took)
    client.close()
    figures["stoppedPages"] = stopped
    figures["worstP95Ms"] = round(worst, 1)
    return figures


def times(asked: str, answers: Sequence[tuple[float, Mapping[str, Any]]], rows: int) -> list[float]:
    """Return the milliseconds of the answers, sorted. Raises `Broken` if an answer is complete and has
    fewer than `rows` rows.

    An answer is incomplete if the server's search reached its time limit. A client must then ask again.
    For this reason, `STOPPED_MS` is added to the time of an incomplete answer.
    """
    took = []
    for spent, page in answers:
        found, ended = len(page["items"]), page.get("searchedTo") is None
        require(not ended or found >= rows, f"{asked} has {found} of {rows}")
        took.append(spent if ended else spent + STOPPED_MS)
    return sorted(took)


async def _spread(url: str, filled: Filled, deliveries: int, days: int) -> None:
    span_ms = days * 86_400_000
    start_ms = int(time.time() * 1000) - span_ms
    async with open_bridge(url) as bridge:
        await fill_log(bridge, filled, deliveries, days, varied=False)
        connection = bridge.connection(UPKEEP)
        for number in range(ROWS):
            at_ms = start_ms + number * span_ms // (ROWS + 1)
            await _make_rare(connection, filled.environment, lowest_id(at_ms))
        await tidy(connection)
        await connection.fetch(_SUMMARISE)


async def _make_rare(connection: Connection, environment: int, low: str) -> None:
    rows = await connection.fetch(_PICK, environment, low, len(_WAYS))
    for way, row in zip(_WAYS, rows, strict=True):
        change = f"UPDATE deliveries SET {way} WHERE environment = $1 AND id = $2::uuid"
        await connection.fetch(change, environment, row["id"])
    await connection.fetch(_EVENT, environment, rows[0]["event"])
