"""Commands on event schemas: create, activate, deprecate."""

import json
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from msgspec import Struct
from pydantic import AfterValidator, Field, WithJsonSchema

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.writer import ConfigurationWriter
from engine.drafts import DESCRIPTION_LENGTH, Document
from engine.ingest.event_json import check_type
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.runtime.slice_executor import SliceExecutor
from engine.runtime.slices import no_pause
from engine.schemas.compiled import SCHEMA_BYTES, judged
from engine.schemas.records import (
    SchemaBounds,
    SchemaRecord,
    SchemaStatus,
    SchemaStore,
)

# Versions are never removed, because they show which schemas earlier events were checked with.
BOUNDS = SchemaBounds(of_type=1_000, of_environment=20_000)
MAX_ACTIVE = 2_000  # schemas of an environment: each is in the memory of every node
MAX_ACTIVE_BYTES = 8 << 20  # the documents of an environment's active schemas, for the same reason


def _event_type(text: str) -> str:
    try:
        check_type(text)
    except Refusal as refusal:
        raise ValueError(refusal.details[0].message) from None
    return text


EventType = Annotated[
    str,
    AfterValidator(_event_type),
    Field(json_schema_extra={"minLength": 1, "maxLength": 256, "pattern": "^[A-Za-z0-9._:/-]+$"}),
]


def _schema(value: object) -> object:
    if isinstance(value, dict | bool):
        return value
    raise ValueError("must be an object or a boolean")


JsonSchema = Annotated[
    Any,  # not a union: pydantic would name its members in an error's path
    AfterValidator(_schema),
    WithJsonSchema({"anyOf": [{"type": "object"}, {"type": "boolean"}]}),
]


class SchemaDraft(Document):
    """An event schema as a caller writes it. The schema, its example and its description together have at
    most 64 KiB."""

    event_type: EventType
    schema_: JsonSchema = Field(
        alias="schema",
        description="JSON Schema 2020-12. `$ref` must stay within the document. Patterns have no "
        "look-around and no backreferences. Formats are checked.",
    )
    description: str | None = Field(None, max_length=DESCRIPTION_LENGTH)
    example: Any = Field(
        None, description="An example payload, which must conform. Null: no example."
    )


class Judged(Struct, frozen=True):
    """A draft that was accepted."""

    document: bytes
    example: bytes | None
    weight: int


def judge(draft: SchemaDraft, pause: Callable[[], None] = no_pause) -> Judged:
    """Check a draft. Raises Refusal 400.

    The check can take some tenths of a second. It calls `pause` every few milliseconds.
    """
    document = _json(draft.schema_)
    example = None if draft.example is None else _json(draft.example)
    if len(_json(draft.model_dump(mode="json", by_alias=True))) > SCHEMA_BYTES:
        raise invalid(
            "schema", f"is larger than {SCHEMA_BYTES} bytes, with its example and description"
        )
    pause()
    compiled, weight = judged(draft.schema_, pause)
    if example is not None:
        pause()
        compiled.check_example(draft.example)
    return Judged(document, example, weight)


class SchemaCommands:
    """Writes the event schemas of all environments."""

    def __init__(self, store: SchemaStore, writer: ConfigurationWriter) -> None:
        self._store = store
        self._writer = writer
        self.judging = SliceExecutor()

    async def create(
        self, principal: Principal, environment: int, draft: SchemaDraft
    ) -> SchemaRecord:
        """Add the next version of an event type's schema, as a draft. Raises Refusal 400."""
        # The draft is judged before the command begins: other commands need not wait for the judgement.
        good = await self.judging.done(environment, partial(judge, draft))

        async def command() -> SchemaRecord:
            identifier = self._writer.new_id()
            schema = SchemaRecord(
                id=identifier,
                environment=environment,
                event_type=draft.event_type,
                version=0,  # the store assigns it
                status=SchemaStatus.DRAFT,
                weight=good.weight,
                document=good.document,
                description=draft.description,
                example=good.example,
                activated_at_ms=None,
            )
            # The audit entry omits the document, because a version never changes.
            changes = differences(
                {}, {"eventType": draft.event_type, "description": draft.description}
            )
            entry = self._writer.entry(principal, "schema.create", identifier, changes)
            if not await written(self._store.create(schema, BOUNDS, entry)):
                raise invalid(
                    "eventType",
                    f"an event type has at most {BOUNDS.of_type} versions, an environment "
                    f"{BOUNDS.of_environment}",
                )
            return await self._get(environment, identifier)

        return await self._writer.commands.run(command)

    async def activate(
        self, principal: Principal, environment: int, identifier: str
    ) -> SchemaRecord:
        """Check events of the type against this version from now on. Raises Refusal 404 or 409."""

        async def attempt() -> SchemaRecord | None:
            present = await self._get(environment, identifier)
            if present.status is SchemaStatus.ACTIVE:
                raise Refusal("conflict", "the version is active already")
            before = await self._store.active(environment, present.event_type)
            await self._check_room(environment, present, before)
            former = None if before is None else before.id
            changes = {
                "status": {"from": present.status.name, "to": SchemaStatus.ACTIVE.name},
                "active": {"from": former, "to": identifier},
            }
            entry = self._writer.entry(principal, "schema.activate", identifier, changes)
            at_ms = created_at_ms(entry.id)
            if not await written(self._store.activate(present, former, at_ms, entry)):
                return None
            return await self._shown(environment, identifier)

        return await self._writer.command("the event type's schemas", attempt)

    async def deprecate(
        self, principal: Principal, environment: int, identifier: str
    ) -> SchemaRecord:
        """Stop checking events of the type. Raises Refusal 404 or 409."""

        async def command() -> SchemaRecord:
            present = await self._get(environment, identifier)
            changes = {"status": {"from": present.status.name, "to": SchemaStatus.DEPRECATED.name}}
            entry = self._writer.entry(principal, "schema.deprecate", identifier, changes)
            if present.status is not SchemaStatus.ACTIVE or not await written(
                self._store.deprecate(present, entry)
            ):
                raise Refusal("conflict", "the version is not active")
            return await self._shown(environment, identifier)

        return await self._writer.commands.run(command)

    async def _shown(self, environment: int, identifier: str) -> SchemaRecord:
        schema = await self._get(environment, identifier)
        self._writer.projection.schema(environment, schema.event_type, schema.active())
        return schema

    async def _check_room(
        self, environment: int, schema: SchemaRecord, before: SchemaRecord | None
    ) -> None:
        number, size = await self._store.active_size(environment)
        if before is None and number >= MAX_ACTIVE:
            raise Refusal(
                "conflict",
                f"an environment has at most {MAX_ACTIVE} active schemas: deprecate one first",
            )
        size += len(schema.document) - (0 if before is None else len(before.document))
        if size > MAX_ACTIVE_BYTES:
            raise Refusal(
                "conflict",
                f"an environment's active schemas have at most {MAX_ACTIVE_BYTES} bytes: deprecate one",
            )

    async def _get(self, environment: int, identifier: str) -> SchemaRecord:
        schema = await self._store.get(environment, identifier)
        if schema is None:
            raise Refusal("not_found", "no such schema")
        return schema


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
