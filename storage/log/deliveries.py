"""The store of the delivery log's deliveries. It reads them for callers, and writes the event, the
delivery and the attempt of a destination's test."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from engine.core.records import Attempt, Delivery
from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble
from engine.log.delivery_log import (
    UNSENT,
    AttemptPage,
    DeliveryDetail,
    DeliveryEntry,
    DeliveryFilter,
    DeliveryPage,
    SentVersion,
)
from engine.model.file_records import TROUBLE
from storage.database.bridge import Pool
from storage.database.connection import Argument, Connection
from storage.log.entries import (
    ATTEMPT_COLUMNS,
    ENTRY_COLUMNS,
    attempt_entry,
    delivery_entry,
    event_detail,
)
from storage.log.events import EVENT
from storage.log.responses import header_lines, text_bytes
from storage.log.searching import SCATTERED, search
from storage.log.selection import Selection, select, select_among
from storage.log.walk import EXAMINED, HIGHEST, LOWEST, Further, Step, found, id_bounds, walk

ATTEMPTS = 100  # shown in a detail; a schedule makes at most 21, but requeues add any number
ATTEMPT_BYTES = 512 * 1024  # of receivers' answers in a detail: 32 complete bodies
SENT_AMONG = 1_000  # older attempts among which the last sent request is searched

_ENTRY = f"""
SELECT {ENTRY_COLUMNS}
FROM deliveries d WHERE d.environment = $1::integer AND d.id = $2::uuid"""  # noqa: S608 - constants
# Reads attempts: at most $4 rows with at most $5 bytes of responses and messages, but always the first
# row. `found` is the number of all matching attempts; the count stops at $4 + 1. `octet_length` does not
# load a large value, so values that are not returned are not loaded.
_ATTEMPTS = f"""
SELECT * FROM (
    SELECT a.*, count(*) OVER () AS found, row_number() OVER newest AS place,
           sum(coalesce(octet_length(response_body), 0) + coalesce(octet_length(response_headers), 0)
               + coalesce(octet_length(error_message), 0) + coalesce(octet_length(logs), 0))
               OVER newest AS bytes
    FROM (
        SELECT {ATTEMPT_COLUMNS} FROM attempt_log
        WHERE environment = $1::integer AND delivery = $2::uuid
          AND ($3::integer IS NULL OR number < $3::integer)
        ORDER BY number DESC LIMIT $4::integer + 1
    ) a WINDOW newest AS (ORDER BY a.number DESC)
) e WHERE place <= $4::integer AND (place = 1 OR bytes <= $5::bigint)
ORDER BY number DESC"""  # noqa: S608 - constants
# The condition is that of `AttemptEntry.was_sent`.
_SENT_BEFORE = f"""
SELECT {ATTEMPT_COLUMNS} FROM (
    SELECT {ATTEMPT_COLUMNS} FROM attempt_log
    WHERE environment = $1::integer AND delivery = $2::uuid AND number < $3::integer
    ORDER BY number DESC LIMIT {SENT_AMONG}
) a
WHERE CASE WHEN success THEN response_status IS NOT NULL
    ELSE (error_category = ANY($4::smallint[])) IS NOT TRUE
        AND substring(error_message FROM 1 FOR length($5::bytea)) IS DISTINCT FROM $5::bytea END
ORDER BY number DESC LIMIT 1"""  # noqa: S608 - constants
_SENT = """
SELECT version, url, headers, algorithm, template, config, method, authorizes
FROM destination_versions
WHERE environment = $1::integer AND destination = $2::uuid AND version = $3::integer"""
# A user can test a destination: Angarium sends a test event to it at once. This statement inserts the
# test's delivery in its final state. No actor reads this delivery, and no counter counts it.
_INSPECTION = """
WITH tested AS (
    INSERT INTO events (environment, id, origin, type, occurred_at_ms, deliveries, customer, payload)
    VALUES ($1::integer, $2::uuid, $3::smallint, $4::text, $5::bigint, 1, $6::text, $7::bytea)
), delivery AS (
    INSERT INTO deliveries (environment, id, event, event_type, destination, seq, class, kind, origin,
        priority, status, attempt_count, response_status, trouble, error_category, delivered_at_ms,
        updated_at_ms, customer, last_error, skipped)
    VALUES ($1, $8::uuid, $2, $4, $9::uuid, 0, $10::smallint, $11::smallint, $12::smallint,
        $13::smallint, $14::smallint, 1, $15::smallint, $16::smallint, $17::smallint, $18::bigint,
        $19::bigint, $20::text, $21::bytea, $31::boolean)
)
INSERT INTO attempts (environment, delivery, number, started_at_ms, duration_ms, success,
    response_status, error_category, destination_version, transform_version, response_truncated,
    error_message, response_headers, response_body, logs)
VALUES ($1, $8, $22::integer, $23::bigint, $24::integer, $25::boolean, $15, $17, $26::integer,
    $27::integer, $28::boolean, $21, $29::bytea, $30::bytea, $32::bytea)"""


class PostgresDeliveries:
    """Implements `engine.log.delivery_log.DeliveryLog` on the pool."""

    def __init__(self, pool: Pool, searchers: Pool | None = None) -> None:
        """`searchers` is a pool of the profile SEARCH. If a walk has examined as many rows as it can, and
        its page is not full, a search on this pool continues the page. If `searchers` is None, the page
        stays short."""
        self._pool = pool
        self._searchers = searchers

    async def deliveries(
        self, environment: int, which: DeliveryFilter, below: str | None, limit: int
    ) -> DeliveryPage:
        selection = select(which)
        if selection is None:
            return DeliveryPage([], None)
        low, high = id_bounds(which.from_ms, which.to_ms, below)
        if which.ids is not None:
            ids = sorted({each.lower() for each in which.ids if low <= each.lower() < high})
            return await self._among(environment, which, ids[::-1], limit)

        async def take(low: str, high: str, look_at: int, wanted: int) -> Step:
            return await self._step(selection, environment, low, high, look_at, wanted)

        go = partial(
            walk,
            take,
            streams=selection.streams,
            filtered=selection.filtered,
            by_days=which.events is None,
        )
        seek = self._further(selection, environment)

        async def further(
            low: str, high: str, start: str, left: int
        ) -> tuple[list[Any], str | None]:
            if left == limit and seek is not None:
                return await seek(low, high, start, left)
            return await go(low, high, left, most=EXAMINED - SCATTERED, further=seek)

        if seek is None or which.examine is not None or not selection.scattered:
            rows, rest = await go(low, high, limit, most=which.examine, further=seek)
        else:
            rows, rest = await go(low, high, limit, most=SCATTERED, further=further)
        return DeliveryPage([delivery_entry(row) for row in rows], rest)

    def _further(self, selection: Selection, environment: int) -> Further | None:
        """Return the search that continues a page if the walk has examined as many rows as it can. Return
        None if there is no pool `searchers`. Also return None if the selection has no filter: then each
        examined row is a result. Such a page is short only if `DeliveryFilter.examine` is smaller than
        the page."""
        searchers = self._searchers
        if searchers is None or not selection.filtered:
            return None

        async def take(low: str, high: str, wanted: int) -> Sequence[Any]:
            values = (environment, low, high, wanted, *selection.searched)
            return await searchers.fetch(selection.search, *values)

        return partial(search, take)

    async def _step(self, selection: Selection, *arguments: Argument) -> Step:
        return found(await self._pool.fetch(selection.sql, *arguments, *selection.arguments))

    async def _among(
        self, environment: int, which: DeliveryFilter, ids: Sequence[str], limit: int
    ) -> DeliveryPage:
        looked_at = list(ids[:EXAMINED])
        selection = select_among(which, looked_at)
        step = await self._step(selection, environment, LOWEST, HIGHEST, EXAMINED + 1, limit + 1)
        entries = [delivery_entry(row) for row in step.rows]
        if len(entries) > limit:
            return DeliveryPage(entries[:limit], entries[limit - 1].id)
        return DeliveryPage(entries, looked_at[-1] if len(ids) > len(looked_at) else None)

    async def entry(self, environment: int, delivery: str) -> DeliveryEntry | None:
        row = await self._pool.fetch_row(_ENTRY, environment, delivery)
        return None if row is None else delivery_entry(row)

    async def delivery(self, environment: int, delivery: str) -> DeliveryDetail | None:
        # One snapshot, so that the delivery's row and its attempts agree.
        async with self._pool.transaction("REPEATABLE READ READ ONLY") as connection:
            row = await connection.fetch_row(_ENTRY, environment, delivery)
            if row is None:
                return None
            entry = delivery_entry(row)
            rows = await connection.fetch(
                _ATTEMPTS, environment, delivery, None, ATTEMPTS, ATTEMPT_BYTES
            )
            newest = _page_of(rows)
            attempts = tuple(reversed(newest.items))
            before = None
            if newest.more and not any(each.was_sent for each in attempts):
                before = await connection.fetch_row(
                    _SENT_BEFORE,
                    environment,
                    delivery,
                    attempts[0].number,
                    UNSENT,
                    TROUBLE.encode(),
                )
            event = await connection.fetch_row(EVENT, environment, entry.event)
            detail = DeliveryDetail(
                entry=entry,
                attempts=attempts,
                older=newest.more,
                sent_before=None if before is None else attempt_entry(before),
                event=None if event is None else event_detail(event),
                sent=None,
            )
            last = detail.last_sent
            if last is None:
                return detail
            version = last.destination_version
            sent = await self._sent(connection, environment, entry.destination, version)
        return msgspec.structs.replace(detail, sent=sent)

    async def attempts(
        self, environment: int, delivery: str, below: int | None, limit: int, max_bytes: int
    ) -> AttemptPage:
        rows = await self._pool.fetch(_ATTEMPTS, environment, delivery, below, limit, max_bytes)
        return _page_of(rows)

    @staticmethod
    async def _sent(
        connection: Connection, environment: int, destination: str, version: int
    ) -> SentVersion | None:
        row = await connection.fetch_row(_SENT, environment, destination, version)
        return None if row is None else msgspec.convert(dict(row), SentVersion)

    async def record_inspection(self, delivery: Delivery, attempt: Attempt) -> None:
        event, outcome = delivery.event, attempt.outcome
        started_ms = int(outcome.started_at * 1000)
        ended_ms = started_ms + outcome.duration_ms
        message = text_bytes(outcome.message)
        await self._pool.fetch(
            _INSPECTION,
            event.environment,
            event.id,
            event.origin,
            event.type,
            event.occurred_at_ms,
            event.customer,
            event.payload,
            delivery.id,
            delivery.destination,
            delivery.queue,
            delivery.kind,
            delivery.origin,
            delivery.priority,
            DeliveryStatus.DELIVERED if outcome.success else DeliveryStatus.FAILED,
            outcome.status,
            None if outcome.success else DeliveryTrouble.FAILED,
            outcome.category,
            ended_ms if outcome.success else None,
            ended_ms,
            delivery.customer,
            message,
            attempt.number,
            started_ms,
            outcome.duration_ms,
            outcome.success,
            attempt.destination_version,
            outcome.transform_version,
            outcome.truncated,
            header_lines(outcome.headers),
            outcome.body,
            outcome.skipped,
            outcome.logs,
        )


def _page_of(rows: Sequence[Any]) -> AttemptPage:
    return AttemptPage(
        [attempt_entry(row) for row in rows], more=bool(rows) and rows[0]["found"] > len(rows)
    )
