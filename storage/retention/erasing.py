"""The erasure of what an event and its deliveries say: rows and counters stay, contents go."""

from collections.abc import Sequence
from typing import Any

from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble
from engine.model.configuration import AuditEntry
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.audit.entries import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

# $2 events, $3 the instant. The deliveries that an event had from the first are a range of the primary
# key, from $4 to $5; the others are few.
_ITS = """
    SELECT w.event, d.id, d.status, d.trouble
    FROM unnest($2::uuid[], $4::uuid[], $5::uuid[]) w (event, first, last)
    CROSS JOIN LATERAL (
        SELECT id, status, trouble FROM deliveries
        WHERE environment = $1::integer AND id >= w.first AND id <= w.last AND event = w.event
        UNION ALL
        SELECT id, status, trouble FROM deliveries
        WHERE environment = $1 AND event = w.event AND origin <> 1
          AND NOT (id >= w.first AND id <= w.last)
    ) d"""
_PENDING, _RETRYING = int(DeliveryStatus.PENDING), int(DeliveryStatus.RETRYING)
_DEAD = int(DeliveryTrouble.DEAD)
# Nothing that could still be sent may be left: it would be sent without its content.
_CHANGE = f"""
    UPDATE events e SET payload = 'null', metadata = NULL, attachments = NULL, erased_at_ms = $3::bigint
    FROM (SELECT $1::integer AS environment, unnest($2::uuid[]) AS id) w
    WHERE e.environment = w.environment AND e.id = w.id AND e.erased_at_ms IS NULL AND NOT EXISTS (
        SELECT FROM its WHERE its.event = e.id
          AND (status IN ({_PENDING}, {_RETRYING}) OR trouble = {_DEAD})
    )
    RETURNING e.id"""  # noqa: S608 - constants
_OF_CHANGED = "ARRAY(SELECT its.id FROM its JOIN changed ON changed.id = its.event)"
_ALSO = f"""
    answers AS (
        UPDATE attempts a SET response_headers = NULL, response_body = NULL, logs = NULL,
            error_message = NULL
        WHERE a.environment = $1 AND a.delivery = ANY({_OF_CHANGED})
    ),
    only_answers AS (
        UPDATE deliveries d SET only_headers = NULL, only_body = NULL, last_error = NULL
        WHERE d.environment = $1 AND d.id = ANY({_OF_CHANGED})
    ),
    gone AS (
        DELETE FROM files f USING changed WHERE f.environment = $1 AND f.event = changed.id
        RETURNING f.environment, f.sha256
    ),
    marked AS (
        INSERT INTO file_suspects AS s (environment, sha256)
        SELECT DISTINCT environment, sha256 FROM gone WHERE sha256 IS NOT NULL
        ORDER BY environment, sha256
        ON CONFLICT (environment, sha256) DO UPDATE SET marks = s.marks + 1
    )"""  # noqa: S608 - constants
_BEFORE = f"its AS MATERIALIZED ({_ITS})"
_ERASE = audited(_CHANGE, 6, "event", also=_ALSO, before=_BEFORE)
# One audit entry tells of all that a customer had.
_ERASE_MANY = f"WITH {_BEFORE}, changed AS ({_CHANGE}), {_ALSO} SELECT id::text FROM changed"  # noqa: S608


class PostgresErasure:
    """`engine.control.erasure.ErasureStore` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def erase(self, environment: int, event: str, at_ms: int, audit: AuditEntry) -> bool:
        """Erase what an event said; see the port."""
        place = _place(environment, [event], at_ms)
        return bool(await write(self._pool, _ERASE, *place, *values(audit)))

    async def erase_many(self, environment: int, events: Sequence[str], at_ms: int) -> list[str]:
        """Erase what events said; see the port."""
        rows = await write(self._pool, _ERASE_MANY, *_place(environment, events, at_ms))
        return [row["id"] for row in rows]


def _place(environment: int, events: Sequence[str], at_ms: int) -> tuple[Any, ...]:
    firsts = [delivery_id(each, 0) for each in events]
    lasts = [delivery_id(each, MAX_FANOUT) for each in events]
    return environment, list(events), at_ms, firsts, lasts
