"""The erasure, on request, of the content of one event, or of the contents of all events of a customer.

The rows of the events and their deliveries stay, and so do the counters."""

from collections.abc import Sequence
from typing import Any

from engine.control.ports import CustomerEvents, Erasing
from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble
from engine.model.configuration import AuditEntry
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.audit.log import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write
from storage.log.walk import LOWEST

# $2: the events. $3: the time of the erasure. $4, $5: for each event, the lowest and the highest ID of
# the deliveries that were accepted with the event. The first SELECT finds them by primary key.
# The second SELECT finds the event's other deliveries (replays), which are few.
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
# An event is not erased while one of its deliveries can still be sent.
_CHANGE = f"""
    UPDATE events e SET payload = 'null', metadata = NULL, attachments = NULL, erased_at_ms = $3::bigint,
        trace = split_part(e.trace, ' ', 1)
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
# This statement writes no audit entries. The request to erase a customer has one audit entry, which
# stands for all events.
_ERASE_MANY = f"WITH {_BEFORE}, changed AS ({_CHANGE}), {_ALSO} SELECT id::text FROM changed"  # noqa: S608


class PostgresErasure:
    """Implements `engine.control.erasure.ErasureStore` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def erase(self, environment: int, event: str, at_ms: int, audit: AuditEntry) -> bool:
        place = _place(environment, [event], at_ms)
        return bool(await write(self._pool, _ERASE, *place, *values(audit)))

    async def erase_many(self, environment: int, events: Sequence[str], at_ms: int) -> list[str]:
        rows = await write(self._pool, _ERASE_MANY, *_place(environment, events, at_ms))
        return [row["id"] for row in rows]


def _place(environment: int, events: Sequence[str], at_ms: int) -> tuple[Any, ...]:
    firsts = [delivery_id(each, 0) for each in events]
    lasts = [delivery_id(each, MAX_FANOUT) for each in events]
    return environment, list(events), at_ms, firsts, lasts


EXAMINED = 2_000  # events that one read examines: about 5 ms
_ACCOUNT = "SELECT id::text FROM customer_accounts WHERE environment = $1 AND external_id = $2"
_REQUEST = audited(
    """
        INSERT INTO customer_erasures AS r
            (environment, account, external_id, requested_at_ms, below, cursor)
        VALUES ($1::integer, $2::uuid, $3::text, $4::bigint, $5::uuid, $6::uuid)
        ON CONFLICT (environment, account) DO UPDATE SET
            requested_at_ms = excluded.requested_at_ms, below = excluded.below, finished_at_ms = NULL,
            cursor = CASE WHEN r.finished_at_ms IS NULL THEN r.cursor ELSE excluded.cursor END,
            events = CASE WHEN r.finished_at_ms IS NULL THEN r.events ELSE 0 END
        RETURNING account AS id
    """,
    7,
    "customer",
)
_UNFINISHED = """
    SELECT environment, account::text, external_id, below::text, cursor::text, requested_at_ms
    FROM customer_erasures WHERE finished_at_ms IS NULL ORDER BY environment, account
"""
_EVENTS = """
    SELECT id::text AS id, customer = $5 AND erased_at_ms IS NULL AS meant,
        customer = $5 AND erased_at_ms >= $6::bigint AS erased
    FROM events
    WHERE environment = $1::integer AND id > $2::uuid AND id < $3::uuid
    ORDER BY id LIMIT $4::integer
"""
# An erasure erases the customer's events with IDs lower than `below`. $3 is the `below` that the erasure
# has read. A second request that comes meanwhile increases `below`, because newer events must be erased,
# too. Then `below` differs from $3, and the erasure continues.
_ERASED = """
    UPDATE customer_erasures SET cursor = $4::uuid, events = events + $5::bigint,
        finished_at_ms = CASE WHEN below = $3::uuid THEN $6::bigint END
    WHERE environment = $1::integer AND account = $2::uuid AND finished_at_ms IS NULL
"""


class CustomerErasureRows:
    """Implements `engine.control.ports.ErasureRows`; events are read from `log`."""

    def __init__(self, pool: Pool, log: Pool) -> None:
        self._pool = pool
        self._log = log

    async def account(self, environment: int, customer: str) -> str | None:
        found = await self._pool.fetch_value(_ACCOUNT, environment, customer)
        return None if found is None else str(found)

    async def request(self, request: Erasing, audit: AuditEntry) -> bool:
        rows = await write(
            self._pool, _REQUEST, request.environment, request.account, request.customer,
            request.requested_at_ms,
            request.below, LOWEST, *values(audit),
        )  # fmt: skip
        return bool(rows)

    async def unfinished(self) -> list[Erasing]:
        return [Erasing(*row) for row in await self._pool.fetch(_UNFINISHED)]

    async def events(self, request: Erasing) -> CustomerEvents:
        rows = await self._log.fetch(
            _EVENTS,
            request.environment,
            request.cursor,
            request.below,
            EXAMINED,
            request.customer,
            request.requested_at_ms,
        )
        through = rows[-1]["id"] if rows else request.cursor
        ids = [row["id"] for row in rows if row["meant"]]
        erased = sum(bool(row["erased"]) for row in rows)
        return CustomerEvents(ids, erased, through, len(rows) < EXAMINED)

    async def erased(self, request: Erasing, through: str, count: int, at_ms: int | None) -> None:
        place = (request.environment, request.account, request.below)
        await write(self._pool, _ERASED, *place, through, count, at_ms)
