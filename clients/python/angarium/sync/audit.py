# Made from angarium/aio by generate_sync.py; do not edit.
"""The audit log: who changed what, when."""

from collections.abc import Iterator
from typing import Unpack

from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import AuditFilter
from angarium.shapes import AuditEntry, Page
from angarium.sync.resource import Resource, follow_pages


class AuditLogs(Resource):
    """The audit log."""

    def get(self, entry_id: str) -> AuditEntry:
        """Return an entry."""
        return self._send(Call("GET", at("audit-logs", entry_id)))

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[AuditFilter],
    ) -> Page[AuditEntry]:
        """Return one page of entries."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/audit-logs", query))

    def iterate(self, **chosen: Unpack[AuditFilter]) -> Iterator[AuditEntry]:
        """Yield all entries that `chosen` allows, newest first."""
        return follow_pages(self._send, "/audit-logs", {**chosen, "limit": PAGE})
