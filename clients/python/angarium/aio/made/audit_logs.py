# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.audit_logs`."""

from collections.abc import AsyncIterator
from typing import Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import AuditLogFilter
from angarium.shapes import AuditEntry, Page


class AsyncAuditLogs(AsyncResource):
    """The changes of the configuration: who made them, and the earlier values."""

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[AuditLogFilter],
    ) -> Page[AuditEntry]:
        """List changes of configuration: one page.

        Newest first. MCP keys also see changes of the whole workspace, such as its plan and
        its MCP keys. A change and its entry are written together, and entries are never
        removed. A search for rare values stops after a limited time. A page can then hold
        fewer than `limit` entries, even none, and still have a `nextCursor`. Such a page has
        `searchedTo`: the search has examined all entries after this time.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/audit-logs", query))

    def iterate(self, **chosen: Unpack[AuditLogFilter]) -> AsyncIterator[AuditEntry]:
        """List changes of configuration: all pages.

        Newest first. MCP keys also see changes of the whole workspace, such as its plan and
        its MCP keys. A change and its entry are written together, and entries are never
        removed. A search for rare values stops after a limited time. A page can then hold
        fewer than `limit` entries, even none, and still have a `nextCursor`. Such a page has
        `searchedTo`: the search has examined all entries after this time.
        """
        return follow_pages(self._send, "/audit-logs", {**chosen, "limit": PAGE})

    async def get(self, entry_id: str) -> AuditEntry:
        """Show a change of configuration."""
        return await self._send(Call("GET", at("audit-logs", entry_id)))
