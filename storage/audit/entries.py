"""The audit log and the notification that go with every change of configuration.

Both are parts of the statement that makes the change, so that there is never one without the others.
"""

from typing import Any

from engine.model.configuration import AuditEntry
from storage.audit.changes import CHANNEL

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
_COLUMNS = (
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
    """Return the columns of an entry, in the order of `values`."""
    return ", ".join(f"{prefix}{name}" for name in _COLUMNS)


def entry_arrays(first: int) -> str:
    """Return the arguments from `$first` on as arrays: the values of several entries, by the column."""
    return ", ".join(f"${first + index}::{type_}[]" for index, type_ in enumerate(_TYPES))


def audited(change: str, first: int, kind: str, also: str = "", before: str = "") -> str:
    """Return `change`, a data-modifying statement that returns the changed `id`, with its audit entry.

    The audit entry's values are the arguments from `$first` on (see `values`). `also` are further
    expressions of the WITH, which write by the row of `changed`; `before` are those that the change
    reads. Nothing is written or notified where the change changed nothing. The statement returns the
    changed row's id.
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
