"""The audit log: one statement writes a change and its entry; pages are read along an index."""

from typing import Any

import msgspec

from engine.log.observability import AuditFilter, AuditPage, AuditReach
from engine.model.configuration import AuditEntry
from storage.audit.changes import CHANNEL, NOTIFY
from storage.database.bridge import Pool
from storage.log.walk import Step, found, id_bounds, step_statement, stream, walk

_TYPES = (
    "uuid",
    "uuid",
    "integer",
    "text",
    "text",
    "text",
    "text",
    "text",
    "text",
    "bytea",
    "text",
)
_WRITTEN = (
    "workspace",
    "id",
    "environment",
    "action",
    "object_type",
    "object_id",
    "actor_type",
    "actor_id",
    "request_id",
    "changes",
    "previous_fingerprint",
)


def entry_columns(prefix: str = "") -> str:
    """Return the column names of an entry, in the order of `values`."""
    return ", ".join(f"{prefix}{name}" for name in _WRITTEN)


def entry_arrays(first: int) -> str:
    """Return SQL for the arguments from `$first` on: one array for each column of the entries."""
    return ", ".join(f"${first + index}::{type_}[]" for index, type_ in enumerate(_TYPES))


def audited(change: str, first: int, kind: str, also: str = "", before: str = "") -> str:
    """Return a statement that runs `change`, writes its audit entry and sends a notification.

    `change` modifies one row and returns the row's `id`. The whole statement returns this `id` too. If
    `change` modifies no row, no entry is written and no notification is sent. The parameters from
    `$first` on are the entry's `values`. `before` has WITH queries that `change` reads. `also` has WITH
    queries that read the result of `change` under the name `changed`.
    """
    arguments = ", ".join(f"${first + index}::{type_}" for index, type_ in enumerate(_TYPES))
    further = f"{also}," if also else ""
    earlier = f"{before}," if before else ""
    return f"""
        WITH {earlier}
        changed AS ({change}),
        {further}
        audited AS (
            INSERT INTO audit_log ({entry_columns()})
            SELECT {arguments} FROM changed
        )
        SELECT id, pg_notify('{CHANNEL}', json_build_object('kind', '{kind}', 'id', id)::text)
        FROM changed
    """  # noqa: S608 - made of constants only


def values(entry: AuditEntry) -> tuple[Any, ...]:
    """Return the arguments of `audited`, in order."""
    return (
        entry.workspace,
        entry.id,
        entry.environment,
        entry.action,
        entry.object_type,
        entry.object_id,
        entry.actor_type,
        entry.actor_id,
        entry.request_id,
        entry.changes,
        entry.previous_fingerprint,
    )


_COLUMNS = """
    d.id::text AS id, d.workspace::text AS workspace, d.environment, d.action, d.object_type,
    d.object_id, d.actor_type, d.actor_id, d.request_id, d.changes, d.previous_fingerprint"""
# Each pair has a column and the field of `AuditFilter` that filters it. The most selective column comes
# first. A read uses the index of the first column in this order that the caller filters.
_BY_RARITY = (
    ("object_id", "object_ids"),
    ("actor_id", "actor_ids"),
    ("action", "actions"),
    ("object_type", "object_types"),
)
_ENTRY = f"""
SELECT {_COLUMNS} FROM audit_log d
WHERE d.workspace = $1::uuid AND d.id = $2::uuid
  AND (d.environment = $3::integer OR (d.environment IS NULL AND $4::boolean))"""  # noqa: S608 - constants
# A stream (see `storage.log.walk`) of the entries about the workspace itself, which have no environment.
_OF_WORKSPACE = """
    SELECT NULL AS stream, x.* FROM (
        SELECT d.* FROM audit_log d
        WHERE d.workspace = $6::uuid AND d.environment IS NULL AND d.id >= $2 AND d.id < $3{only}
        ORDER BY d.id DESC LIMIT $4
    ) x"""


# An entry about an action that changes no row of configuration.
_WRITE = f"""
INSERT INTO audit_log ({entry_columns()})
SELECT * FROM unnest({entry_arrays(1)})
ON CONFLICT (workspace, id) DO NOTHING"""  # noqa: S608 - constants
_WRITE_AND_TELL = f"""
WITH written AS ({_WRITE} RETURNING id) SELECT {NOTIFY.format(kind="$12::text", id="$13::text")}"""


class PostgresAudit:
    """Implements `engine.log.observability.AuditLog` and `engine.control.deliveries.AuditTrail`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def entries(
        self, reach: AuditReach, which: AuditFilter, below: str | None, limit: int
    ) -> AuditPage:
        given = [
            (column, list(values))
            for column, name in _BY_RARITY
            if (values := getattr(which, name)) is not None
        ]
        conditions = [
            f" AND d.{column} = ANY(${place}::text[])" for place, (column, _) in enumerate(given, 7)
        ]
        # $6 is the workspace or null. The statement must contain $6, because PostgreSQL cannot determine
        # the type of an unused parameter.
        only = "" if reach.workspace is not None else " AND $6::uuid IS NULL"
        streams = [stream("audit_log", only=only)]
        number = 1
        if given:
            column, values = given[0]
            number = len(values)
            only = f" AND d.{column} = s.given{only}"
            source = "unnest($7::text[]) s (given)"
            streams = [stream("audit_log", only=only, source=source, key="s.given")]
        if reach.workspace is not None:
            streams.append(_OF_WORKSPACE.format(only="".join(conditions[:1])))
        sql = step_statement(streams, _COLUMNS, "".join(conditions[1:]).replace("d.", ""))
        low, high = id_bounds(which.from_ms, which.to_ms, below)
        arguments = (reach.workspace, *(value for _, value in given))

        async def take(low: str, high: str, look_at: int, wanted: int) -> Step:
            return found(
                await self._pool.fetch(
                    sql, reach.environment, low, high, look_at, wanted, *arguments
                )
            )

        number += len(streams) - 1
        rows, rest = await walk(
            take, low, high, limit, streams=number, filtered=len(given) > 1, by_days=False
        )
        return AuditPage([_entry(row) for row in rows], rest)

    async def write(self, entry: AuditEntry, *, news: tuple[str, str] | None = None) -> None:
        sql, notified = (_WRITE, ()) if news is None else (_WRITE_AND_TELL, news)
        await self._pool.fetch(sql, *([value] for value in values(entry)), *notified)

    async def entry(self, reach: AuditReach, workspace: str, entry: str) -> AuditEntry | None:
        whole = reach.workspace is not None
        row = await self._pool.fetch_row(_ENTRY, workspace, entry, reach.environment, whole)
        return None if row is None else _entry(row)


def _entry(row: Any) -> AuditEntry:
    fields = {name: row[name] for name in AuditEntry.__struct_fields__}
    return msgspec.convert(fields, AuditEntry)
