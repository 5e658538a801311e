"""What the modules of configuration need of a connection: single statements."""

from typing import Any, Protocol

from asyncpg import Record


class Queries(Protocol):
    """A pool or a connection; see `storage.connection.Connection`."""

    async def fetch(self, sql: str, *arguments: Any) -> list[Record]:
        """Run one statement and return its rows."""

    async def fetch_row(self, sql: str, *arguments: Any) -> Record | None:
        """Run one statement and return its first row."""

    async def fetch_value(self, sql: str, *arguments: Any) -> Any:
        """Run one statement and return the first column of its first row."""
