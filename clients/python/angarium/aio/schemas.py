"""Event schemas: what events of a type must look like, in versions."""

from collections.abc import AsyncIterator
from typing import Any, Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import SchemaFilter
from angarium.shapes import InferredSchema, JsonObject, Page, SchemaVersion


class AsyncSchemas(AsyncResource):
    """Event schemas."""

    async def create(
        self,
        event_type: str,
        schema: JsonObject | bool,
        *,
        description: str | None = None,
        example: Any = None,
    ) -> SchemaVersion:
        """Create the next version of a type's schema (JSON Schema 2020-12), as a DRAFT."""
        body = {
            "event_type": event_type,
            "schema": schema,
            "description": description,
            "example": example,
        }
        return await self._send(Call("POST", "/schemas", body=body_of(body), repeatable=False))

    async def get(self, schema_id: str) -> SchemaVersion:
        """Return a version by its id."""
        return await self._send(Call("GET", at("schemas", schema_id)))

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[SchemaFilter],
    ) -> Page[SchemaVersion]:
        """Return one page of versions."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/schemas", query))

    def iterate(self, **chosen: Unpack[SchemaFilter]) -> AsyncIterator[SchemaVersion]:
        """Yield all versions that `chosen` allows, newest first."""
        return follow_pages(self._send, "/schemas", {**chosen, "limit": PAGE})

    def versions(self, event_type: str) -> AsyncIterator[SchemaVersion]:
        """Yield a type's versions, newest first."""
        return follow_pages(self._send, at("schemas", "types", event_type, "versions"), {})

    async def active(self, event_type: str) -> SchemaVersion:
        """Return the version that events of a type are held to. Raises NotFoundError without one."""
        return await self._send(Call("GET", at("schemas", "types", event_type, "active")))

    async def activate(self, schema_id: str) -> SchemaVersion:
        """Hold events of the type to this version from now on."""
        # done twice, the second is a conflict: it is active already
        path = at("schemas", schema_id, "activate")
        return await self._send(Call("POST", path, body={}, repeatable=False))

    async def deprecate(self, schema_id: str) -> SchemaVersion:
        """Hold events of the type to this active version no longer, and to no other."""
        # done twice, the second is a conflict: it is not active any more
        path = at("schemas", schema_id, "deprecate")
        return await self._send(Call("POST", path, body={}, repeatable=False))

    async def infer(
        self,
        event_type: str,
        *,
        sample: int | None = None,
        since: Instant | None = None,
        create: bool | None = None,
    ) -> InferredSchema:
        """Return a schema that recent events of a type conform to; with `create` as a draft."""
        body = {"event_type": event_type, "sample": sample, "since": since, "create": create}
        return await self._send(
            Call("POST", "/schemas/infer", body=body_of(body), repeatable=not create)
        )
