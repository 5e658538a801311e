"""The first page of every filtered list for a rare value: twenty rows of the log have it.

Twenty rows of each kind are spread over the whole log, so that no walk from the newest row meets them.
"""

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import trio

from bench.checks import require
from bench.filling import Filled, fill
from bench.reads import Client, destinations
from bench.service import Figures, Receiver, Service
from storage.database.bridge import open_bridge
from storage.database.connection import Connection
from storage.database.profiles import SEARCH, UPKEEP
from storage.embedded.server import attached
from storage.log.partitions import lowest_id

BAR_MS = 50.0  # p95
HELD_FROM = 100_000  # deliveries from which the bar is held
ROWS = 20  # as many as fit on a page
WARM = 3
_LIMIT_MS = 1000 * (SEARCH.statement_timeout_s or math.inf)
JOB = "01900000-0000-7000-8000-000000000001"

# Of some deliveries at an instant, the one that becomes rare in a way: its number, and what is changed.
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
# Of what `bench.filling` makes common, the values that are to be rare.
_UNCOMMON = """
UPDATE deliveries SET kind = 1, priority = 1 + priority % 2, error_category = nullif(error_category, 5)
WHERE kind = 2 OR priority = 3 OR error_category = 5"""
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
    """Fill the log, spread the rare rows, then measure each filter alone and with a range of time."""
    filled = destinations(service, receiver)
    fill(service.folder, filled, deliveries, days, log_alone=True)
    with attached(service.folder) as url:
        trio.run(_spread, url, filled, days)
    client = Client(service)
    now = time.time()
    since, until = (
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now - part * days * 86_400))
        for part in (0.75, 0.1)
    )
    figures: Figures = {"deliveries": deliveries}
    worst = 0.0
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
            pages = [
                page
                for _, page in answers
                # A small log is searched within the limit unless the machine pauses.
                if deliveries >= HELD_FROM or page.get("searchedTo") is None
            ]
            complete(asked, pages, ROWS if asked is path else 0)
            took = sorted(spent for spent, _ in answers)
            p95 = took[math.ceil(len(took) * 0.95) - 1]
            worst = max(worst, p95)
            figures[name] = f"p50 {statistics.median(took):.1f}, p95 {p95:.1f} ms"
    client.close()
    figures["worstP95Ms"] = round(worst, 1)
    if deliveries >= HELD_FROM:
        require(worst <= BAR_MS, f"p95 is {worst:.1f} ms: {figures}")
    return figures


def complete(asked: str, pages: Sequence[Mapping[str, Any]], rows: int) -> None:
    """Raise `Broken` if a search stopped at its time limit, or else a page has fewer than `rows`."""
    for page in pages:
        found, stopped = len(page["items"]), page.get("searchedTo")
        require(
            stopped is None,
            f"{asked} stopped at {stopped} with {found} rows: a search took longer than"
            f" {_LIMIT_MS:.0f} ms. Nothing is missing above that. Run it again on a machine that does"
            " nothing else.",
        )
        require(found >= rows, f"{asked} has {found} of {rows}")


async def _spread(url: str, filled: Filled, days: int) -> None:
    """Change twenty rows of each kind, at twenty instants."""
    span_ms = days * 86_400_000
    start_ms = int(time.time() * 1000) - span_ms
    async with open_bridge(url) as bridge:
        connection = bridge.connection(UPKEEP)
        await connection.ensure()
        await connection.execute(_UNCOMMON)
        for number in range(ROWS):
            at_ms = start_ms + number * span_ms // (ROWS + 1)
            await _make_rare(connection, filled.environment, lowest_id(at_ms))
        await connection.execute("VACUUM ANALYZE deliveries, events")


async def _make_rare(connection: Connection, environment: int, low: str) -> None:
    rows = await connection.fetch(_PICK, environment, low, len(_WAYS))
    for way, row in zip(_WAYS, rows, strict=True):
        change = f"UPDATE deliveries SET {way} WHERE environment = $1 AND id = $2::uuid"
        await connection.fetch(change, environment, row["id"])
    await connection.fetch(_EVENT, environment, rows[0]["event"])
