"""Destinations: the present version with encrypted secrets, and every version without secrets."""

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from asyncpg import Record

from engine.core.destination import Authentication, MutualTls, SigningKey, Template, Transform
from engine.core.vocabulary import DestinationStatus, HttpMethod, Ordering, SigningAlgorithm
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.model.headers import is_secret
from engine.model.quotas import CustomerTally
from storage.audit.log import audited, values
from storage.configuration.customers import Accounts, own_tally, tally_values
from storage.database.bridge import Pool
from storage.database.writing import write
from storage.encryption.secretbox import SecretBox

_COLUMNS = """
    SELECT environment, id::text AS id, version, status, name, description, url, customer,
           customer_account::text AS customer_account, concurrency, adapts, ordering, timeout_ms,
           rate_per_second, dry_run, retry_schedule_s, algorithm, headers, sealed, updated_at_ms,
           method, authentication, disable_after_s, enabled_version, moved_version,
           transform::text AS transform, template, config,
           CASE WHEN transform IS NOT NULL THEN (
               SELECT version FROM transform_scripts s
               WHERE s.environment = destinations.environment AND s.id = destinations.transform
           ) END AS transform_version,
"""
_SOURCE = """
           CASE WHEN transform IS NOT NULL THEN (
               SELECT source FROM transform_scripts s
               WHERE s.environment = destinations.environment AND s.id = destinations.transform
           ) END AS transform_source
"""
SELECT_DESTINATIONS = _COLUMNS + _SOURCE + " FROM destinations"
# Lists of destinations do not read the sources of scripts, which can have 64 KiB each.
_LISTED = _COLUMNS + " NULL::bytea AS transform_source FROM destinations"
_COLUMN_COUNT = 30  # the arguments of a row, see `_columns`
_VERSION = """version AS (
        INSERT INTO destination_versions
            (environment, destination, version, status, url, headers, algorithm, written_at_ms,
             template, config, transform_version, method, authorizes)
        SELECT $1::integer, id, $3::integer, $4::smallint, $7, $17::bytea, $16::smallint, $19::bigint,
               $21, $22::bytea, $23::integer, $26::smallint, $28::boolean
        FROM changed
    )"""
# An archived destination gets a row in `destination_backlog`. When a server starts, it makes an actor for
# each such row. The actor discards the destination's remaining deliveries.
_DISCARDING = """, discarding AS (
        INSERT INTO destination_backlog (environment, destination, shard, low_seq)
        SELECT $1::integer, id, get_byte(uuid_send(id), 15), (SELECT last_value << 20 FROM intake_group)
        FROM changed WHERE $4::smallint = 3
        ON CONFLICT (environment, destination) DO NOTHING
    )"""
# Locks the environment's row. A second session waits for the lock, and then sees the new count. Therefore
# the limit is exact.
_ROOM = (
    own_tally(43)  # noqa: S608 - made of constants only
    + """, room AS (
        UPDATE environments SET destinations = destinations + 1
        WHERE number = $1::integer AND destinations < $42::integer
          AND ($43::uuid IS NULL OR EXISTS (SELECT FROM own)) RETURNING number
    )"""
)
_LEFT = """, departed AS (
        UPDATE environments e SET destinations = e.destinations - 1 FROM changed
        WHERE e.number = $1::integer AND $4::smallint = 3
    ), freed AS (
        UPDATE workspaces w SET transforms = w.transforms - changed.scripts
        FROM changed, environments e
        WHERE e.number = $1::integer AND w.id = e.workspace
          AND $4::smallint = 3 AND changed.scripts > 0
    )"""
_CREATE = audited(
    """
        INSERT INTO destinations
            (environment, id, version, status, name, description, url, customer, customer_account,
             concurrency, ordering, timeout_ms, rate_per_second, dry_run, retry_schedule_s, algorithm,
             headers, sealed, updated_at_ms, transform, template, config, adapts,
             authentication, method, disable_after_s, enabled_version, moved_version)
        SELECT number, $2::uuid, $3::integer, $4::smallint, $5, $6, $7, $8, $9::uuid,
               $10::smallint, $11::smallint, $12::integer, $13::double precision, $14::boolean,
               $15::integer[], $16::smallint, $17::bytea, $18::bytea, $19::bigint, $20::uuid, $21,
               $22::bytea, $24::boolean, $25::bytea, $26::smallint, $27::integer,
               $29::integer, $30::integer
        FROM room
        RETURNING id
    """,
    _COLUMN_COUNT + 1,
    "destination",
    _VERSION,
    _ROOM,
)
_SET = """
        UPDATE destinations SET
            version = $3::integer, status = $4::smallint, name = $5, description = $6, url = $7,
            customer = $8, customer_account = $9::uuid, concurrency = $10::smallint,
            ordering = $11::smallint, timeout_ms = $12::integer,
            rate_per_second = $13::double precision, dry_run = $14::boolean,
            retry_schedule_s = $15::integer[], algorithm = $16::smallint, headers = $17::bytea,
            sealed = $18::bytea, updated_at_ms = $19::bigint, transform = $20::uuid,
            template = $21, config = $22::bytea, adapts = $24::boolean,
            authentication = $25::bytea, method = $26::smallint, disable_after_s = $27::integer,
            enabled_version = $29::integer, moved_version = $30::integer
"""
_IF_PREDECESSOR = """
        WHERE environment = $1::integer AND id = $2::uuid AND version = $3::integer - 1
        RETURNING id, scripts
"""
_REPLACE = audited(
    _SET + _IF_PREDECESSOR, _COLUMN_COUNT + 1, "destination", _VERSION + _DISCARDING + _LEFT
)
_STAMPED = """, stamped AS (
        UPDATE transform_scripts SET published_at_ms = $42::bigint
        WHERE environment = $1::integer AND id = $20::uuid AND EXISTS (SELECT FROM changed)
    )"""
# This statement locks the script's row first. A session that wants to remove the script waits for this
# lock. After that, it finds that the destination uses the script, and does not remove the script.
_PUBLISH = audited(
    _SET + " FROM held " + _IF_PREDECESSOR,
    _COLUMN_COUNT + 1,
    "destination",
    _VERSION + _STAMPED,
    """held AS (
        SELECT id AS script FROM transform_scripts
        WHERE environment = $1::integer AND id = $20::uuid AND destination = $2::uuid FOR UPDATE
    )""",
)
_GET = SELECT_DESTINATIONS + " WHERE environment = $1 AND id = $2::uuid"
_FIND = SELECT_DESTINATIONS + " WHERE id = $1::uuid"
_PAGE = (
    _LISTED
    + """
    WHERE environment = $1 AND status = ANY($2::smallint[])
      AND ($3::uuid IS NULL OR customer_account = $3::uuid)
      AND ($4::uuid IS NULL OR id < $4::uuid)
    ORDER BY id DESC LIMIT $5
"""
)
_NAMED = (
    _LISTED
    + """
    JOIN unnest($2::uuid[]) WITH ORDINALITY wanted (wanted_id, place) ON id = wanted_id
    WHERE environment = $1 ORDER BY place
"""
)
_ACCOUNT_NAME = "SELECT external_id FROM customer_accounts WHERE environment = $1 AND id = $2::uuid"


class Destinations:
    """The destinations of all environments. Implements `engine.control.ports.DestinationPages`."""

    def __init__(self, pool: Pool, box: SecretBox) -> None:
        self._pool = pool
        self._box = box
        self.open_account = Accounts(pool).open_account

    async def create(
        self,
        destination: DestinationRecord,
        at_most: int,
        audit: AuditEntry,
        customer: CustomerTally | None = None,
    ) -> bool:
        columns = (*self._columns(destination), *values(audit), at_most)
        return bool(await write(self._pool, _CREATE, *columns, *tally_values(customer)))

    async def replace(self, destination: DestinationRecord, audit: AuditEntry) -> bool:
        columns = self._columns(destination)
        return bool(await write(self._pool, _REPLACE, *columns, *values(audit)))

    async def publish(self, destination: DestinationRecord, audit: AuditEntry, at_ms: int) -> bool:
        columns = self._columns(destination)
        return bool(await write(self._pool, _PUBLISH, *columns, *values(audit), at_ms))

    async def get(self, environment: int, destination: str) -> DestinationRecord | None:
        row = await self._pool.fetch_row(_GET, environment, destination)
        return None if row is None else self.record(row)

    async def find(self, destination: str) -> DestinationRecord | None:
        row = await self._pool.fetch_row(_FIND, destination)
        return None if row is None else self.record(row)

    async def page(
        self,
        environment: int,
        statuses: Sequence[DestinationStatus],
        account: str | None,
        before: str | None,
        limit: int,
    ) -> list[DestinationRecord]:
        numbers = [int(status) for status in statuses]
        rows = await self._pool.fetch(_PAGE, environment, numbers, account, before, limit)
        return [self.record(row) for row in rows]

    async def named(self, environment: int, destinations: Sequence[str]) -> list[DestinationRecord]:
        rows = await self._pool.fetch(_NAMED, environment, list(destinations))
        return [self.record(row) for row in rows]

    async def account_name(self, environment: int, account: str) -> str | None:
        name = await self._pool.fetch_value(_ACCOUNT_NAME, environment, account)
        return None if name is None else str(name)

    # --- rows and records

    def _columns(self, record: DestinationRecord) -> tuple[Any, ...]:
        plain = [[name, None if is_secret(name) else value] for name, value in record.headers]
        return (
            record.environment,
            record.id,
            record.version,
            int(record.status),
            record.name,
            record.description,
            record.url,
            record.customer,
            record.customer_account,
            record.concurrency,
            int(record.ordering),
            record.timeout_ms,
            record.rate_per_second,
            record.dry_run,
            list(record.retry_schedule_s),
            int(record.algorithm),
            json.dumps(plain).encode(),
            self._box.seal(_secrets(record), _place(record.id)),
            record.updated_at_ms,
            None if record.transform is None else record.transform.id,
            None if record.template is None else record.template.id,
            None if record.template is None else record.template.shown,
            None if record.transform is None else record.transform.version,
            record.adapts,
            self._sealed(record),
            int(record.method),
            record.disable_after_s,
            not isinstance(record.authentication, MutualTls | None),
            record.enabled_version,
            record.moved_version,
        )

    def _sealed(self, record: DestinationRecord) -> bytes | None:
        if record.authentication is None:
            return None
        document = msgspec.json.encode(record.authentication)
        return self._box.seal(document, _authentication_place(record.id))

    def _authentication(self, row: Record) -> Authentication | None:
        if row["authentication"] is None:
            return None
        document = self._box.open(row["authentication"], _authentication_place(row["id"]))
        record: Authentication = msgspec.json.decode(document, type=Authentication)
        return record

    def record(self, row: Record) -> DestinationRecord:
        """Return a row of `SELECT_DESTINATIONS` as a record."""
        identifier = row["id"]
        secrets = json.loads(self._box.open(row["sealed"], _place(identifier)))
        return DestinationRecord(
            id=identifier,
            environment=row["environment"],
            version=row["version"],
            status=DestinationStatus(row["status"]),
            name=row["name"],
            description=row["description"],
            url=row["url"],
            customer=row["customer"],
            customer_account=row["customer_account"],
            headers=tuple(
                (name, secrets["headers"][name] if value is None else value)
                for name, value in json.loads(row["headers"])
            ),
            concurrency=row["concurrency"],
            adapts=row["adapts"],
            ordering=Ordering(row["ordering"]),
            timeout_ms=row["timeout_ms"],
            rate_per_second=row["rate_per_second"],
            dry_run=row["dry_run"],
            retry_schedule_s=tuple(row["retry_schedule_s"]),
            algorithm=SigningAlgorithm(row["algorithm"]),
            signing=tuple(
                SigningKey(SigningAlgorithm(number), bytes.fromhex(key), expires_at)
                for number, key, expires_at in secrets["signing"]
            ),
            updated_at_ms=row["updated_at_ms"],
            transform=_transform(row),
            template=_template(row, secrets),
            method=HttpMethod(row["method"]),
            authentication=self._authentication(row),
            disable_after_s=row["disable_after_s"],
            enabled_version=row["enabled_version"],
            moved_version=row["moved_version"],
        )


def _transform(row: Record) -> Transform | None:
    if row["transform"] is None:
        return None
    source = row["transform_source"]
    return Transform(
        row["transform"], row["transform_version"], "" if source is None else source.decode()
    )


def _template(row: Record, secrets: dict[str, Any]) -> Template | None:
    if row["template"] is None:
        return None
    return Template(row["template"], secrets["config"].encode(), row["config"])


def _secrets(record: DestinationRecord) -> bytes:
    document: dict[str, Any] = {
        "headers": {name: value for name, value in record.headers if is_secret(name)},
        "signing": [[int(key.algorithm), key.key.hex(), key.expires_at] for key in record.signing],
    }
    if record.template is not None:
        document["config"] = record.template.config.decode()
    return json.dumps(document).encode()


def _place(identifier: str) -> str:
    return f"destinations/{identifier}"


def _authentication_place(identifier: str) -> str:
    return f"{_place(identifier)}/authentication"
