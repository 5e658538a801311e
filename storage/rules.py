"""Routing rules."""

from typing import Any

from asyncpg import Record

from engine.control.records import AuditEntry
from engine.core.vocabulary import Priority
from engine.identity import created_at_ms
from engine.models import Rule
from storage.audit import values, witnessed
from storage.bridge import Pool
from storage.writing import write

SELECT_RULES = """
    SELECT environment, id::text AS id, version, destination::text AS destination, name, event_types,
           priority, enabled, updated_at_ms
    FROM routing_rules
"""
_CREATE = witnessed(
    """
        INSERT INTO routing_rules
            (environment, id, version, destination, name, event_types, priority, enabled, updated_at_ms)
        SELECT $1::integer, $2::uuid, $3::integer, $4::uuid, $5, $6::text[], $7::smallint, $8::boolean,
               $9::bigint
        WHERE (SELECT count(*) FROM routing_rules WHERE environment = $1::integer) < $10::bigint
        RETURNING id
    """,
    11,
    "rule",
)
_REPLACE = witnessed(
    """
        UPDATE routing_rules SET
            version = $3::integer, destination = $4::uuid, name = $5, event_types = $6::text[],
            priority = $7::smallint, enabled = $8::boolean, updated_at_ms = $9::bigint
        WHERE environment = $1::integer AND id = $2::uuid AND version = $3::integer - 1
        RETURNING id
    """,
    10,
    "rule",
)
_REMOVE = witnessed(
    """
        DELETE FROM routing_rules WHERE environment = $1 AND id = $2::uuid AND version = $3
        RETURNING id
    """,
    4,
    "rule",
)
_PAGE = (
    SELECT_RULES
    + """
    WHERE environment = $1 AND ($2::uuid IS NULL OR destination = $2::uuid)
      AND ($3::boolean IS NULL OR enabled = $3::boolean)
      AND ($4::uuid IS NULL OR id < $4::uuid)
    ORDER BY id DESC LIMIT $5
"""
)


class Rules:
    """The routing rules of all environments."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, rule: Rule, at_most: int, audit: AuditEntry) -> bool:
        """Add a rule, unless the environment has `at_most` of them."""
        return bool(await write(self._pool, _CREATE, *_columns(rule), at_most, *values(audit)))

    async def replace(self, rule: Rule, audit: AuditEntry) -> bool:
        """Write the next version, if the present one is its predecessor."""
        return bool(await write(self._pool, _REPLACE, *_columns(rule), *values(audit)))

    async def remove(self, rule: Rule, audit: AuditEntry) -> bool:
        """Remove the version that is given."""
        rows = await write(
            self._pool, _REMOVE, rule.environment, rule.id, rule.version, *values(audit)
        )
        return bool(rows)

    async def get(self, environment: int, rule: str) -> Rule | None:
        """Return a rule."""
        row = await self._pool.fetch_row(
            SELECT_RULES + " WHERE environment = $1 AND id = $2::uuid", environment, rule
        )
        return None if row is None else rule_record(row)

    async def find(self, rule: str) -> Rule | None:
        """Return a rule of whatever environment."""
        row = await self._pool.fetch_row(SELECT_RULES + " WHERE id = $1::uuid", rule)
        return None if row is None else rule_record(row)

    async def page(
        self,
        environment: int,
        destination: str | None,
        enabled: bool | None,
        before: str | None,
        limit: int,
    ) -> list[Rule]:
        """Return rules with an id below `before`, newest first."""
        rows = await self._pool.fetch(_PAGE, environment, destination, enabled, before, limit)
        return [rule_record(row) for row in rows]


def _columns(rule: Rule) -> tuple[Any, ...]:
    return (
        rule.environment,
        rule.id,
        rule.version,
        rule.destination,
        rule.name,
        list(rule.event_types),
        int(rule.priority),
        rule.enabled,
        rule.updated_at_ms,
    )


def rule_record(row: Record) -> Rule:
    """Return a row of `SELECT_RULES` as a rule."""
    return Rule(
        id=row["id"],
        environment=row["environment"],
        destination=row["destination"],
        name=row["name"],
        event_types=tuple(row["event_types"]),
        priority=Priority(row["priority"]),
        enabled=row["enabled"],
        created_at_ms=created_at_ms(row["id"]),
        updated_at_ms=row["updated_at_ms"],
        version=row["version"],
    )
