"""Requests to erase a customer's contents, and the customer's events, some rows at a time."""

from engine.control.ports import CustomerEvents, Erasing
from engine.model.configuration import AuditEntry
from storage.audit.entries import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write
from storage.log.walk import LOWEST

EXAMINED = 2_000  # events that one read looks at: some 5 ms
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
# A request that was repeated meanwhile means more: this one's end is not its end.
_ERASED = """
    UPDATE customer_erasures SET cursor = $4::uuid, events = events + $5::bigint,
        finished_at_ms = CASE WHEN below = $3::uuid THEN $6::bigint END
    WHERE environment = $1::integer AND account = $2::uuid AND finished_at_ms IS NULL
"""


class CustomerErasureRows:
    """`engine.control.ports.ErasureRows`; events are read from `log`."""

    def __init__(self, pool: Pool, log: Pool) -> None:
        self._pool = pool
        self._log = log

    async def account(self, environment: int, customer: str) -> str | None:
        """Return the account of a customer."""
        found = await self._pool.fetch_value(_ACCOUNT, environment, customer)
        return None if found is None else str(found)

    async def request(self, request: Erasing, audit: AuditEntry) -> bool:
        """Add a request; see the port."""
        rows = await write(
            self._pool, _REQUEST, request.environment, request.account, request.customer,
            request.requested_at_ms,
            request.below, LOWEST, *values(audit),
        )  # fmt: skip
        return bool(rows)

    async def unfinished(self) -> list[Erasing]:
        """Return the requests that are not finished."""
        return [Erasing(*row) for row in await self._pool.fetch(_UNFINISHED)]

    async def events(self, request: Erasing) -> CustomerEvents:
        """Return a bounded number of the events beyond the cursor."""
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
        """Move the cursor of a request; see the port."""
        place = (request.environment, request.account, request.below)
        await write(self._pool, _ERASED, *place, through, count, at_ms)
