"""The audit log: who changed what, when."""

from collections.abc import AsyncIterator
from typing import Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import AuditFilter
from angarium.shapes import AuditEntry, Page


class AsyncAuditLogs(AsyncResource):
    """The audit log."""

    async def get(self, entry_id: str) -> AuditEntry:
        """Return an entry."""
        return await self._send(Call("GET", at("audit-logs", entry_id)))

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[AuditFilter],
    ) -> Page[AuditEntry]:
        """Return one page of entries."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/audit-logs", query))

    def iterate(self, **chosen: Unpack[AuditFilter]) -> AsyncIterator[AuditEntry]:
        """Yield all entries that `chosen` allows, newest first."""
        return follow_pages(self._send, "/audit-logs", {**chosen, "limit": PAGE})
