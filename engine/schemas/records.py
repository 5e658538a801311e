"""Records of event schemas, and the store that keeps them."""

from enum import Enum
from typing import Protocol

from msgspec import Struct

from engine.model.configuration import AuditEntry
from engine.model.read_models import ActiveSchema


class SchemaStatus(Enum):
    """The status of a version, which the store derives. The row of the event type has the id of the
    ACTIVE version. Of the other versions, those with an `activated_at_ms` are DEPRECATED, and the rest
    are DRAFT."""

    DRAFT = "DRAFT"  # was never active
    ACTIVE = "ACTIVE"
    DEPRECATED = "DEPRECATED"  # was active


class SchemaRecord(Struct, frozen=True, kw_only=True):
    """One version of an event type's schema. Only its status ever changes."""

    id: str
    environment: int
    event_type: str
    version: int  # counts from 1 within the type
    status: SchemaStatus
    weight: int
    document: bytes
    description: str | None
    example: bytes | None  # JSON
    activated_at_ms: int | None  # the last time

    def active(self) -> ActiveSchema | None:
        """Return the fields that the check of events needs, or None if this version is not active."""
        if self.status is not SchemaStatus.ACTIVE:
            return None
        return ActiveSchema(self.id, self.environment, self.event_type, self.weight, self.document)


class SchemaFilter(Struct, frozen=True, kw_only=True):
    """A filter of a list of versions; None selects all."""

    event_types: tuple[str, ...] | None = None
    statuses: tuple[SchemaStatus, ...] | None = None


class SchemaPage(Struct, frozen=True):
    """A page of versions, newest first. If `below` is set, more versions have ids below `below`."""

    items: list[SchemaRecord]
    below: str | None


class SchemaBounds(Struct, frozen=True):
    """The limits on the number of schema versions: `of_type` for each event type, `of_environment` for
    each environment."""

    of_type: int
    of_environment: int


class SchemaStore(Protocol):
    """Versions of schemas. Every method may raise StoreAwayError; a write that returns False has
    written nothing."""

    async def create(self, schema: SchemaRecord, bounds: SchemaBounds, audit: AuditEntry) -> bool:
        """Add a draft as the next version of its type; the store sets `version`. Return False if the
        type or the environment has as many versions as `bounds` allow."""

    async def activate(
        self, schema: SchemaRecord, instead_of: str | None, at_ms: int, audit: AuditEntry
    ) -> bool:
        """Make `schema` the active version of its event type. `instead_of` is the id of the version that
        was active when the caller looked, or None if no version was. Return False if another version has
        become active since, or none is active any more."""

    async def deprecate(self, schema: SchemaRecord, audit: AuditEntry) -> bool:
        """End the active status of `schema`, so that its event type has no active version. Return False
        if another version, or none, is active."""

    async def get(self, environment: int, schema: str) -> SchemaRecord | None:
        """Return a version."""

    async def active(self, environment: int, event_type: str) -> SchemaRecord | None:
        """Return a type's active version."""

    async def page(
        self, environment: int, which: SchemaFilter, before: str | None, limit: int, max_bytes: int
    ) -> SchemaPage:
        """Return versions with an id below `before`, newest first: at most `limit`, with at most
        `max_bytes` of documents and examples. The first version is returned whatever its size."""

    async def active_size(self, environment: int) -> tuple[int, int]:
        """Return the number of active versions, and the bytes of their documents."""

    async def type_of(self, schema: str) -> tuple[int, str] | None:
        """Return the environment and the event type of a version; None if there is no such version."""

    async def payloads(self, environment: int, events: list[str], max_bytes: int) -> list[bytes]:
        """Return the payloads of the events with these ids, newest first. The payloads have at most
        `max_bytes` together; older payloads are left out."""
