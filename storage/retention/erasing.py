"""The erasure of what an event and its deliveries say: rows and counters stay, contents go."""

from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble
from engine.model.configuration import AuditEntry
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.audit.entries import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

# The deliveries that an event had from the first are a range of the primary key; the others are few.
_ITS = """
    SELECT id, status, trouble FROM deliveries
    WHERE environment = $1::integer AND id >= $4::uuid AND id <= $5::uuid AND event = $2::uuid
    UNION ALL
    SELECT id, status, trouble FROM deliveries
    WHERE environment = $1 AND event = $2 AND origin <> 1 AND NOT (id >= $4 AND id <= $5)"""
_PENDING, _RETRYING = int(DeliveryStatus.PENDING), int(DeliveryStatus.RETRYING)
_DEAD = int(DeliveryTrouble.DEAD)
# Nothing that could still be sent may be left: it would be sent without its content.
_ERASE = audited(
    f"""
        UPDATE events SET payload = 'null', metadata = NULL, attachments = NULL, erased_at_ms = $3::bigint
        WHERE environment = $1 AND id = $2 AND erased_at_ms IS NULL AND NOT EXISTS (
            SELECT FROM its WHERE status IN ({_PENDING}, {_RETRYING}) OR trouble = {_DEAD}
        )
        RETURNING id
    """,  # noqa: S608 - constants
    6,
    "event",
    also="""
        answers AS (
            UPDATE attempts a SET response_headers = NULL, response_body = NULL, logs = NULL,
                error_message = NULL
            WHERE a.environment = $1 AND a.delivery = ANY(ARRAY(SELECT id FROM its))
              AND EXISTS (SELECT FROM changed)
        ),
        only_answers AS (
            UPDATE deliveries d SET only_headers = NULL, only_body = NULL, last_error = NULL
            WHERE d.environment = $1 AND d.id = ANY(ARRAY(SELECT id FROM its))
              AND EXISTS (SELECT FROM changed)
        ),
        gone AS (
            DELETE FROM files f USING changed WHERE f.environment = $1 AND f.event = $2
            RETURNING f.environment, f.sha256
        ),
        marked AS (
            INSERT INTO file_suspects AS s (environment, sha256)
            SELECT DISTINCT environment, sha256 FROM gone WHERE sha256 IS NOT NULL
            ORDER BY environment, sha256
            ON CONFLICT (environment, sha256) DO UPDATE SET marks = s.marks + 1
        )""",
    before=f"its AS MATERIALIZED ({_ITS})",
)


class PostgresErasure:
    """`engine.control.erasure.ErasureStore` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def erase(self, environment: int, event: str, at_ms: int, audit: AuditEntry) -> bool:
        """Erase what an event said; see the port."""
        first, last = delivery_id(event, 0), delivery_id(event, MAX_FANOUT)
        place = (environment, event, at_ms, first, last)
        return bool(await write(self._pool, _ERASE, *place, *values(audit)))
