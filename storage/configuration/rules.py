"""Routing rules, and the failures of their filters."""

from collections.abc import Sequence
from typing import Any

import trio
from asyncpg import Record

from engine.core.vocabulary import Priority
from engine.model.configuration import AuditEntry, FilteredRules, FilterErrors, FilterFailure
from engine.model.identity import created_at_ms
from engine.model.quotas import CustomerTally
from engine.model.read_models import RuleModel
from storage.audit.changes import NOTIFY
from storage.audit.log import audited, entry_arrays, entry_columns, values
from storage.configuration.customers import own_tally, tally_values
from storage.database.bridge import Pool
from storage.database.writing import write

SELECT_RULES = """
    SELECT environment, id::text AS id, version, destination::text AS destination, name, event_types,
           filter, priority, enabled, updated_at_ms
    FROM routing_rules
"""
# All statements lock rows in this order, which prevents deadlocks: the account, the destination, the
# environment's tally, the rule. While a statement adds a rule, its lock on the destination keeps another
# session from archiving the destination.
_CREATE = audited(
    """
        INSERT INTO routing_rules (environment, id, version, destination, name, event_types, filter,
                                   priority, enabled, updated_at_ms)
        SELECT $1::integer, $2::uuid, $3::integer, $4::uuid, $5, $6::text[], $7, $8::smallint,
               $9::boolean, $10::bigint
        FROM tally
        RETURNING id
    """,
    15,
    "rule",
    before=own_tally(13)  # noqa: S608 - made of constants only
    + """, target AS MATERIALIZED (
            SELECT id FROM destinations
            WHERE environment = $1::integer AND id = $4::uuid AND status <> 3
              AND ($13::uuid IS NULL OR EXISTS (SELECT FROM own)) FOR SHARE
        ), tally AS (
            INSERT INTO routing_tallies AS t (environment, rules) SELECT $1::integer, 1 FROM target
            WHERE $11::integer > 0
            ON CONFLICT (environment) DO UPDATE SET rules = t.rules + 1, version = t.version + 1
            WHERE t.rules < $11::integer AND ($12::bigint IS NULL OR t.version = $12::bigint)
            RETURNING environment
        )""",
)
_REPLACE = audited(
    """
        UPDATE routing_rules r SET
            version = $3::integer, destination = $4::uuid, name = $5, event_types = $6::text[],
            filter = $7, priority = $8::smallint, enabled = $9::boolean, updated_at_ms = $10::bigint
        FROM tally
        WHERE r.environment = $1::integer AND r.id = $2::uuid AND r.version = $3::integer - 1
        RETURNING r.id
    """,
    12,
    "rule",
    also="""forgotten AS (
            DELETE FROM filter_failures f USING changed, routing_rules r
            WHERE f.environment = $1::integer AND f.rule = changed.id AND r.environment = $1::integer
              AND r.id = changed.id AND r.filter IS DISTINCT FROM $7
        )""",  # this DELETE sees the rule before the update
    before="""target AS MATERIALIZED (
            SELECT id FROM destinations
            WHERE environment = $1::integer AND id = $4::uuid AND status <> 3 FOR SHARE
        ), tally AS (
            UPDATE routing_tallies t SET version = version + 1 FROM target
            WHERE t.environment = $1::integer AND ($11::bigint IS NULL OR t.version = $11::bigint)
            RETURNING t.environment
        )""",
)
_REMOVE = audited(
    """
        DELETE FROM routing_rules r USING tally
        WHERE r.environment = $1::integer AND r.id = $2::uuid AND r.version = $3::integer
        RETURNING r.id
    """,
    4,
    "rule",
    also="""counted AS (
            UPDATE routing_tallies SET rules = rules - 1, version = version + 1
            FROM changed WHERE environment = $1::integer
        ),
        forgotten AS (
            DELETE FROM filter_failures f USING changed
            WHERE f.environment = $1::integer AND f.rule = changed.id
        )""",
    before="""tally AS MATERIALIZED (
            SELECT environment FROM routing_tallies WHERE environment = $1::integer FOR UPDATE
        )""",
)
# `_REMOVE` for several rules, with an entry for each.
_REMOVE_ALL = f"""
    WITH tally AS MATERIALIZED (
        SELECT environment FROM routing_tallies WHERE environment = $1::integer FOR UPDATE
    ), doomed AS (
        SELECT * FROM unnest($2::uuid[], $3::integer[], {entry_arrays(4)})
            AS d (id, version, {entry_columns("entry_")})
    ), gone AS (
        DELETE FROM routing_rules r USING tally, doomed
        WHERE r.environment = $1::integer AND r.id = doomed.id AND r.version = doomed.version
        RETURNING r.id
    ), counted AS (
        UPDATE routing_tallies SET rules = rules - (SELECT count(*) FROM gone), version = version + 1
        WHERE environment = $1::integer AND EXISTS (SELECT FROM gone)
    ), forgotten AS (
        DELETE FROM filter_failures f USING gone WHERE f.environment = $1::integer AND f.rule = gone.id
    ), audited AS (
        INSERT INTO audit_log ({entry_columns()})
        SELECT {entry_columns("doomed.entry_")} FROM gone JOIN doomed USING (id)
    )
    SELECT id::text AS id, {NOTIFY.format(kind="'rule'", id="id")} FROM gone
"""  # noqa: S608 - made of constants only
_LEFT_BEHIND = """
    SELECT DISTINCT r.environment, r.destination::text AS destination
    FROM routing_rules r
    JOIN destinations d ON d.environment = r.environment AND d.id = r.destination AND d.status = 3
    LIMIT $1
"""
_PAGE = (
    SELECT_RULES  # noqa: S608 - made of constants only
    + """
    WHERE environment = $1 AND ($2::uuid[] IS NULL OR destination = ANY($2::uuid[]))
      AND ($3::boolean IS NULL OR enabled = $3::boolean)
      AND ($4::uuid IS NULL OR id < $4::uuid)
      AND ($6::uuid IS NULL OR destination IN (
          SELECT d.id FROM destinations d WHERE d.environment = $1 AND d.customer_account = $6::uuid))
    ORDER BY id DESC LIMIT $5
"""
)
_COUNT = "SELECT rules FROM routing_tallies WHERE environment = $1"
_FILTERED = """
    SELECT t.rules, t.version, f.id::text AS id, f.event_types
    FROM routing_tallies t
    LEFT JOIN (
        SELECT r.environment, r.id, r.event_types,
               sum(cardinality(r.event_types)) OVER (ROWS UNBOUNDED PRECEDING) AS patterns
        FROM routing_rules r
        JOIN destinations d ON d.environment = r.environment AND d.id = r.destination
        WHERE r.environment = $1 AND r.filter IS NOT NULL AND d.customer_account {tied}
    ) f ON f.environment = t.environment AND f.patterns - cardinality(f.event_types) <= $2
    WHERE t.environment = $1
"""
_ROWS = 1_000  # rows between two checkpoints: a millisecond
_FILTERED_OF = _FILTERED.format(tied="= $3::uuid")
_FILTERED_OF_NONE = _FILTERED.format(tied="IS NULL")
_FAILURES = """
    SELECT rule::text AS rule, failures, last_at_ms, last_message
    FROM filter_failures WHERE environment = $1 AND rule = ANY($2::uuid[])
"""
# Counts a failure only for the version of the filter that failed, and only if the rule still exists.
_FAILED = """
    INSERT INTO filter_failures AS f (environment, rule, failures, last_at_ms, last_message)
    SELECT n.environment, n.rule, n.failures, n.last_at_ms, n.last_message
    FROM unnest($1::integer[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
         n (environment, rule, filter, failures, last_at_ms, last_message)
    JOIN routing_rules r ON r.environment = n.environment AND r.id = n.rule AND r.filter = n.filter
    ORDER BY n.environment, n.rule
    ON CONFLICT (environment, rule) DO UPDATE SET
        failures = f.failures + excluded.failures,
        last_at_ms = greatest(f.last_at_ms, excluded.last_at_ms),
        last_message = CASE WHEN excluded.last_at_ms >= f.last_at_ms THEN excluded.last_message
                            ELSE f.last_message END
"""


class Rules:
    """The routing rules of all environments. Implements `engine.control.ports.RuleStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(
        self,
        rule: RuleModel,
        at_most: int,
        audit: AuditEntry,
        tally: int | None = None,
        customer: CustomerTally | None = None,
    ) -> bool:
        arguments = (*_columns(rule), at_most, tally, *tally_values(customer), *values(audit))
        return bool(await write(self._pool, _CREATE, *arguments))

    async def replace(self, rule: RuleModel, audit: AuditEntry, tally: int | None = None) -> bool:
        return bool(await write(self._pool, _REPLACE, *_columns(rule), tally, *values(audit)))

    async def count(self, environment: int) -> int:
        return int(await self._pool.fetch_value(_COUNT, environment) or 0)

    async def filtered(self, environment: int, account: str | None, at_most: int) -> FilteredRules:
        if account is None:
            rows = await self._pool.fetch(_FILTERED_OF_NONE, environment, at_most)
        else:
            rows = await self._pool.fetch(_FILTERED_OF, environment, at_most, account)
        if not rows:
            return FilteredRules(rules=0, tally=0, patterns={})
        patterns: dict[str, tuple[str, ...]] = {}
        for start in range(0, len(rows), _ROWS):
            for row in rows[start : start + _ROWS]:
                if row["id"] is not None:
                    patterns[row["id"]] = tuple(row["event_types"])
            await trio.lowlevel.checkpoint()
        return FilteredRules(rules=rows[0]["rules"], tally=rows[0]["version"], patterns=patterns)

    async def failures(self, environment: int, rules: Sequence[str]) -> dict[str, FilterErrors]:
        rows = await self._pool.fetch(_FAILURES, environment, list(rules))
        return {
            row["rule"]: FilterErrors(row["failures"], row["last_at_ms"], row["last_message"])
            for row in rows
        }

    async def failed(self, failures: Sequence[FilterFailure]) -> None:
        await write(
            self._pool,
            _FAILED,
            [each.environment for each in failures],
            [each.rule for each in failures],
            [each.filter for each in failures],
            [each.errors.count for each in failures],
            [each.errors.last_at_ms for each in failures],
            [each.errors.last_message for each in failures],
        )

    async def remove(self, rule: RuleModel, audit: AuditEntry) -> bool:
        rows = await write(
            self._pool, _REMOVE, rule.environment, rule.id, rule.version, *values(audit)
        )
        return bool(rows)

    async def remove_all(
        self, rules: Sequence[RuleModel], audits: Sequence[AuditEntry]
    ) -> list[str]:
        entries = zip(*map(values, audits), strict=True)
        rows = await write(
            self._pool,
            _REMOVE_ALL,
            rules[0].environment,
            [rule.id for rule in rules],
            [rule.version for rule in rules],
            *map(list, entries),
        )
        return [row["id"] for row in rows]

    async def left_behind(self, limit: int) -> list[tuple[int, str]]:
        rows = await self._pool.fetch(_LEFT_BEHIND, limit)
        return [(row["environment"], row["destination"]) for row in rows]

    async def get(self, environment: int, rule: str) -> RuleModel | None:
        row = await self._pool.fetch_row(
            SELECT_RULES + " WHERE environment = $1 AND id = $2::uuid", environment, rule
        )
        return None if row is None else rule_record(row)

    async def find(self, rule: str) -> RuleModel | None:
        row = await self._pool.fetch_row(SELECT_RULES + " WHERE id = $1::uuid", rule)
        return None if row is None else rule_record(row)

    async def page(
        self,
        environment: int,
        destinations: Sequence[str] | None,
        enabled: bool | None,
        before: str | None,
        limit: int,
        account: str | None = None,
    ) -> list[RuleModel]:
        named = None if destinations is None else list(destinations)
        rows = await self._pool.fetch(_PAGE, environment, named, enabled, before, limit, account)
        return [rule_record(row) for row in rows]


def _columns(rule: RuleModel) -> tuple[Any, ...]:
    return (
        rule.environment,
        rule.id,
        rule.version,
        rule.destination,
        rule.name,
        list(rule.event_types),
        rule.filter,
        int(rule.priority),
        rule.enabled,
        rule.updated_at_ms,
    )


def rule_record(row: Record) -> RuleModel:
    """Return a row of `SELECT_RULES` as a rule."""
    return RuleModel(
        id=row["id"],
        environment=row["environment"],
        destination=row["destination"],
        name=row["name"],
        event_types=tuple(row["event_types"]),
        filter=row["filter"],
        priority=Priority(row["priority"]),
        enabled=row["enabled"],
        created_at_ms=created_at_ms(row["id"]),
        updated_at_ms=row["updated_at_ms"],
        version=row["version"],
    )
