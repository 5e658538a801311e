"""The accounts of customers: their settings, and the counts of their objects."""

import json

from asyncpg import Record

from engine.model.configuration import AuditEntry
from engine.model.quotas import (
    Ability,
    CustomerAccount,
    CustomerTally,
    Erasure,
    Quotas,
    Used,
)
from storage.audit.log import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

_SELECT = """
    SELECT a.environment, a.id::text AS id, a.external_id, coalesce(s.version, 0) AS version, s.document,
        r.requested_at_ms, r.finished_at_ms, r.events
    FROM customer_accounts a
    {join} customer_settings s ON s.environment = a.environment AND s.account = a.id
    LEFT JOIN customer_erasures r ON r.environment = a.environment AND r.account = a.id
"""
SELECT_CUSTOMERS = _SELECT.format(join="JOIN")  # the accounts that have settings
_GET = _SELECT.format(join="LEFT JOIN") + " WHERE a.environment = $1 AND a.external_id = $2"
_FIND = SELECT_CUSTOMERS + " WHERE s.account = $1::uuid"
# Selects the names that begin with $2. COLLATE "C" compares names by their bytes, so these names are in
# the range from $2 to the upper bound, which is $2 followed by Unicode's last character twice.
_PAGE = f"""
    {_SELECT.format(join="LEFT JOIN")}
    WHERE a.environment = $1::integer AND a.external_id COLLATE "C" >= $2::text
      AND a.external_id COLLATE "C" < $2 || repeat(chr(1114111), 2)
      AND ($3::uuid IS NULL OR a.external_id COLLATE "C" > (
          SELECT external_id FROM customer_accounts WHERE environment = $1 AND id = $3))
    ORDER BY a.external_id COLLATE "C" LIMIT $4::integer
"""  # noqa: S608 - made of constants only
# Writes version 1 of an account's settings only if the account has no settings yet. Writes a later
# version only over the version directly before it.
_REPLACE = audited(
    """
        INSERT INTO customer_settings AS s (environment, account, version, document, updated_at_ms)
        SELECT $1::integer, $2::uuid, $3::integer, $4::bytea, $5::bigint
        WHERE $3::integer = 1 OR EXISTS (
            SELECT FROM customer_settings WHERE environment = $1::integer AND account = $2::uuid)
        ON CONFLICT (environment, account) DO UPDATE SET version = excluded.version,
            document = excluded.document, updated_at_ms = excluded.updated_at_ms
        WHERE s.version = excluded.version - 1
        RETURNING account AS id
    """,
    6,
    "customer",
)
# Each count reads at most $3 rows, however many an account has.
_USED = """
    SELECT a.tally,
        (SELECT count(*) FROM (
            SELECT FROM destinations d
            WHERE d.environment = $1 AND d.customer_account = a.id AND d.status <> 3 LIMIT $3::bigint
        ) n) AS destinations,
        (SELECT count(*) FROM (
            SELECT FROM destinations d
            JOIN routing_rules r ON r.environment = d.environment AND r.destination = d.id
            WHERE d.environment = $1 AND d.customer_account = a.id AND d.status <> 3 LIMIT $3::bigint
        ) n) AS rules,
        (SELECT coalesce(sum(n.scripts), 0)::bigint FROM (
            SELECT d.scripts FROM destinations d
            WHERE d.environment = $1 AND d.customer_account = a.id AND d.status <> 3 AND d.scripts > 0
            LIMIT $3::bigint
        ) n) AS transforms
    FROM customer_accounts a WHERE a.environment = $1 AND a.id = $2::uuid
"""


def own_tally(first: int) -> str:
    """Return the WITH query `own`. It locks a customer's account and adds 1 to the account's tally.

    The parameter `$first` is the account. The next parameter is the account's tally at the time when its
    quota was checked. If the tally has changed since that time, `own` has no row. Every statement locks
    the account first, which prevents deadlocks.
    """
    return f"""own AS (
        UPDATE customer_accounts SET tally = tally + 1
        WHERE environment = $1::integer AND id = ${first}::uuid AND tally = ${first + 1}::bigint
        RETURNING id
    )"""  # noqa: S608 - made of constants only


def tally_values(customer: CustomerTally | None) -> tuple[str | None, int | None]:
    """Return the arguments of `own_tally`."""
    return (None, None) if customer is None else (customer.account, customer.tally)


class Customers:
    """The accounts of all environments. Implements `engine.control.ports.CustomerStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, environment: int, external_id: str) -> CustomerAccount | None:
        row = await self._pool.fetch_row(_GET, environment, external_id)
        return None if row is None else customer_account(row)

    async def find(self, account: str) -> CustomerAccount | None:
        row = await self._pool.fetch_row(_FIND, account)
        return None if row is None else customer_account(row)

    async def page(
        self, environment: int, prefix: str, after: str | None, limit: int
    ) -> list[CustomerAccount]:
        rows = await self._pool.fetch(_PAGE, environment, prefix, after, limit)
        return [customer_account(row) for row in rows]

    async def replace(self, account: CustomerAccount, at_ms: int, audit: AuditEntry) -> bool:
        quotas = account.quotas
        document = {
            "name": account.name,
            "destinations": quotas.destinations,
            "rules": quotas.rules,
            "transforms": quotas.transforms,
            "requestsPerMinute": quotas.requests_per_minute,
            "permissions": {each.value: may for each, may in account.permissions.items()},
        }
        rows = await write(
            self._pool,
            _REPLACE,
            account.environment,
            account.id,
            account.version,
            json.dumps(document, ensure_ascii=False).encode(),
            at_ms,
            *values(audit),
        )
        return bool(rows)

    async def used(self, environment: int, account: str, at_most: int) -> Used | None:
        row = await self._pool.fetch_row(_USED, environment, account, at_most)
        if row is None:
            return None
        return Used(row["tally"], row["destinations"], row["rules"], row["transforms"])


def customer_account(row: Record) -> CustomerAccount:
    """Return a row of `_SELECT` as an account."""
    said = {} if row["document"] is None else json.loads(row["document"])
    # Skip the abilities of another version of Angarium.
    known = {ability.value: ability for ability in Ability}
    own = said.get("permissions", {})
    erasure = None
    if row["requested_at_ms"] is not None:
        erasure = Erasure(row["requested_at_ms"], row["finished_at_ms"], row["events"])
    return CustomerAccount(
        erasure=erasure,
        id=row["id"],
        environment=row["environment"],
        external_id=row["external_id"],
        version=row["version"],
        name=said.get("name"),
        quotas=Quotas(
            destinations=said.get("destinations"),
            rules=said.get("rules"),
            transforms=said.get("transforms"),
            requests_per_minute=said.get("requestsPerMinute"),
        ),
        permissions={known[name]: may for name, may in own.items() if name in known},
    )


# `_OPEN` updates an account that exists already. Without the update, RETURNING would return no row if
# another session has just inserted the account.
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
        known = await self._pool.fetch_value(_KNOWN, environment, external_id)
        if known is None:
            known = await self._pool.fetch_value(_OPEN, environment, external_id, identifier)
        return str(known)

    async def record(self, environment: int, account: str, audit: AuditEntry) -> None:
        await write(self._pool, _RECORD, environment, account, *values(audit))
