# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.schemas`."""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import SchemaFilter
from angarium.shapes import InferredSchema, Page, SchemaVersion
from angarium.sync.resource import Resource, follow_pages


class Schemas(Resource):
    """JSON Schemas for the payloads of event types, in versions. One version is active."""

    def create(
        self,
        event_type: str,
        schema: Mapping[str, Any] | bool,
        *,
        description: str | None = None,
        example: Any = None,
    ) -> SchemaVersion:
        """Create a version of an event schema.

        The schema becomes the next version for its event type, a DRAFT. Events are checked
        once it is activated. A schema has at most 64 KiB and 1,000 expansions of `$ref`,
        which must stay within the document.
        """
        return self._send(
            Call(
                "POST",
                "/schemas",
                body=body_of(
                    {
                        "event_type": event_type,
                        "schema": schema,
                        "description": description,
                        "example": example,
                    }
                ),
                repeatable=False,
            )
        )

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, **chosen: Unpack[SchemaFilter]
    ) -> Page[SchemaVersion]:
        """List versions of event schemas: one page."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/schemas", query))

    def iterate(self, **chosen: Unpack[SchemaFilter]) -> Iterator[SchemaVersion]:
        """List versions of event schemas: all pages."""
        return follow_pages(self._send, "/schemas", {**chosen, "limit": PAGE})

    def infer(
        self,
        event_type: str,
        *,
        sample: int | None = None,
        since: Instant | None = None,
        create: bool | None = None,
    ) -> InferredSchema:
        """Infer a schema from recent events.

        Reads the newest events of a type: at most `sample` of them, and 4 MiB, from the
        latest 20,000 events. All of the read events conform to the schema.
        """
        return self._send(
            Call(
                "POST",
                "/schemas/infer",
                body=body_of(
                    {"event_type": event_type, "sample": sample, "since": since, "create": create}
                ),
                repeatable=not create,
            )
        )

    def versions(self, event_type: str) -> Iterator[SchemaVersion]:
        """List the versions of an event type's schema: all pages."""
        return follow_pages(self._send, at("schemas", "types", event_type, "versions"), {})

    def active(self, event_type: str) -> SchemaVersion:
        """Show the active schema of an event type."""
        return self._send(Call("GET", at("schemas", "types", event_type, "active")))

    def get(self, schema_id: str) -> SchemaVersion:
        """Show a version of an event schema."""
        return self._send(Call("GET", at("schemas", schema_id)))

    def activate(self, schema_id: str) -> SchemaVersion:
        """Activate a version of an event schema.

        From now on, events of the schema's type must conform to this version. The version
        that was active becomes DEPRECATED. An event that does not conform gets 400
        `schema_violation` with the failing paths.
        """
        return self._send(
            Call("POST", at("schemas", schema_id, "activate"), body={}, repeatable=False)
        )

    def deprecate(self, schema_id: str) -> SchemaVersion:
        """Deprecate the active version of an event schema.

        From now on, events of its type are not checked, until a version is activated.
        """
        return self._send(
            Call("POST", at("schemas", schema_id, "deprecate"), body={}, repeatable=False)
        )
