"""Customers' accounts, which are opened by whatever names a customer first."""

from engine.model.configuration import AuditEntry
from storage.audit.entries import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

# Most often it is there. Only the update of nothing makes the row of who was first come back at a race.
_KNOWN = "SELECT id::text FROM customer_accounts WHERE environment = $1 AND external_id = $2"
_OPEN = """
    INSERT INTO customer_accounts (environment, external_id, id) VALUES ($1, $2, $3::uuid)
    ON CONFLICT (environment, external_id) DO UPDATE SET external_id = excluded.external_id
    RETURNING id::text
"""
_RECORD = audited(
    "SELECT id FROM customer_accounts WHERE environment = $1::integer AND id = $2::uuid",
    3,
    "account",
)


class Accounts:
    """The customer accounts of all environments."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def open_account(self, environment: int, external_id: str, identifier: str) -> str:
        """Return the id of a customer's account, opening it under `identifier` when there is none."""
        known = await self._pool.fetch_value(_KNOWN, environment, external_id)
        if known is None:
            known = await self._pool.fetch_value(_OPEN, environment, external_id, identifier)
        return str(known)

    async def record(self, environment: int, account: str, audit: AuditEntry) -> None:
        """Write an audit entry about what happened to an account."""
        await write(self._pool, _RECORD, environment, account, *values(audit))
