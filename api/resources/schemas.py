"""The routes for event schemas."""

from typing import Any

import orjson
from pydantic import Field

from api.call import Call
from api.pages import PAGE_BYTES, page, position
from api.queries import AnyOf, ListQuery, PageQuery, Text, all_of, any_of
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes import Page
from api.shapes.content import InferredSchema, SchemaVersion
from api.shares import Share
from engine.control.inference import InferenceDraft
from engine.control.schemas import SchemaDraft
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso, iso_or_none
from engine.model.words import Word, word
from engine.schemas.records import SchemaFilter, SchemaRecord, SchemaStatus

TAG = "Event schemas"
COLUMNS = (
    ("ID", "id"),
    ("VERSION", "version"),
    ("STATUS", "status"),
    ("CREATED", "createdAt"),
    ("EVENT TYPE", "eventType"),
    ("DESCRIPTION", "description"),
)
LISTING = "/schemas"
EVENT_TYPE = {
    "eventType": {
        "type": "string",
        "minLength": 1,
        "description": "An event type, with `%2F` for a `/`. An unknown type has no versions.",
    }
}
EXAMPLE = {
    "eventType": "order.created",
    "schema": {
        "type": "object",
        "required": ["orderId", "total"],
        "properties": {
            "orderId": {"type": "string"},
            "total": {"type": "number", "minimum": 0},
        },
    },
    "description": "An order was placed.",
    "example": {"orderId": "o-1042", "total": 49.9},
}


class SchemaQuery(PageQuery):
    """Filters of schema versions."""

    event_type: AnyOf[Text] | None = Field(None, description="Versions of this event type.")
    status: AnyOf[Word[SchemaStatus]] | None = None


def view(call: Call, schema: SchemaRecord) -> SchemaVersion:
    """Return the view of a version. Schema and example keep their stored bytes."""
    example = schema.example
    return {
        "id": schema.id,
        "environment": word(call.environment_name),
        "eventType": schema.event_type,
        "version": schema.version,
        "status": word(schema.status),
        "schema": orjson.Fragment(schema.document),
        "description": schema.description,
        "example": None if example is None else orjson.Fragment(example),
        "createdAt": iso(created_at_ms(schema.id)),
        "activatedAt": iso_or_none(schema.activated_at_ms),
    }


async def _page(
    call: Call, listed: str, which: SchemaFilter, cursor: str | None, limit: int
) -> Page[SchemaVersion]:
    below = position(listed, call.number, cursor)
    found = await call.services.schema_store.page(call.number, which, below, limit, PAGE_BYTES)
    items = [view(call, schema) for schema in found.items]
    return page(items, listed, call.number, found.below)


async def create(call: Call) -> SchemaVersion:
    """Add the next version of a type, as a draft."""
    draft = call.body_as(SchemaDraft)
    return view(call, await call.services.schemas.create(call.principal, call.number, draft))


async def listing(call: Call) -> Page[SchemaVersion]:
    """List versions, newest first."""
    query = call.query_as(SchemaQuery)
    which = SchemaFilter(
        event_types=all_of(query.event_type), statuses=any_of(SchemaStatus, query.status)
    )
    return await _page(call, LISTING, which, query.cursor, query.limit)


async def versions(call: Call) -> Page[SchemaVersion]:
    """List a type's versions, newest first."""
    query = call.query_as(ListQuery)
    event_type = _event_type(call)
    listed = f"/schemas/types/{event_type}/versions"
    which = SchemaFilter(event_types=(event_type,))
    return await _page(call, listed, which, query.cursor, query.limit)


async def active(call: Call) -> SchemaVersion:
    """Show the active version of a type."""
    schema = await call.services.schema_store.active(call.number, _event_type(call))
    if schema is None:
        raise Refusal("not_found", "the event type has no active schema")
    return view(call, schema)


async def get(call: Call) -> SchemaVersion:
    """Show one version."""
    schema = await call.services.schema_store.get(call.number, call.identifier())
    if schema is None:
        raise Refusal("not_found", "no such schema")
    return view(call, schema)


async def activate(call: Call) -> SchemaVersion:
    """Activate a version."""
    schema = await call.services.schemas.activate(call.principal, call.number, call.identifier())
    return view(call, schema)


async def deprecate(call: Call) -> SchemaVersion:
    """Deprecate the active version: the type then has none."""
    schema = await call.services.schemas.deprecate(call.principal, call.number, call.identifier())
    return view(call, schema)


async def infer(call: Call) -> InferredSchema:
    """Make a schema from recent events."""
    draft = call.body_as(InferenceDraft)
    found = await call.services.inference.infer(call.principal, call.number, draft)
    return {
        "eventType": draft.event_type,
        "sampled": found.sampled,
        "schema": found.schema,
        "conflicts": [{"path": path, "message": text} for path, text in found.conflicts],
        "created": None if found.created is None else view(call, found.created),
    }


def _event_type(call: Call) -> str:
    """Every text is accepted: an unknown type has no versions."""
    return call.path["eventType"].replace("\0", "")


def _action(verb: str, handler: Any, summary: str, description: str) -> Route:
    return Route(
        method="POST",
        path=f"/schemas/{{id}}/{verb}",
        name=f"{verb}Schema",
        client=Method(f"schemas.{verb}"),
        command=Command(f"schemas {verb}"),
        repeat=Repeat.NEVER,  # a second request conflicts with the new status
        summary=summary,
        description=description,
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=handler,
        action=True,
        refusals=(404, 409),
    )


ROUTES = (
    Route(
        method="POST",
        path="/schemas",
        name="createSchema",
        client=Method("schemas.create"),
        summary="Create a version of an event schema",
        description="The schema becomes the next version for its event type, a DRAFT. Events are "
        "checked once it is activated. A schema has at most 64 KiB and 1,000 expansions of "
        "`$ref`, which must stay within the document.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=create,
        body=SchemaDraft,
        status=201,
        example=EXAMPLE,
    ),
    Route(
        method="GET",
        path="/schemas",
        name="listSchemas",
        command=Command("schemas list", COLUMNS),
        client=Method("schemas.list"),
        summary="List versions of event schemas",
        tag=TAG,
        scopes=READ,
        embed=Embed.SHARED,
        handler=listing,
        query=SchemaQuery,
    ),
    Route(
        method="POST",
        path="/schemas/infer",
        share=Share.READS,
        name="inferSchema",
        client=Method("schemas.infer", once_with="create"),
        summary="Infer a schema from recent events",
        description="Reads the newest events of a type: at most `sample` of them, and 4 MiB, from "
        "the latest 20,000 events. All of the read events conform to the schema.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=infer,
        body=InferenceDraft,
        refusals=(404,),
        example={"eventType": "order.created", "sample": 100, "create": False},
    ),
    Route(
        method="GET",
        path="/schemas/types/{eventType}/versions",
        path_schemas=EVENT_TYPE,
        name="listSchemaVersions",
        command=Command("schemas versions", COLUMNS),
        client=Method("schemas.versions"),
        summary="List the versions of an event type's schema",
        tag=TAG,
        scopes=READ,
        embed=Embed.SHARED,
        handler=versions,
        query=ListQuery,
    ),
    Route(
        method="GET",
        path="/schemas/types/{eventType}/active",
        path_schemas=EVENT_TYPE,
        name="getActiveSchema",
        command=Command("schemas active"),
        client=Method("schemas.active"),
        summary="Show the active schema of an event type",
        tag=TAG,
        scopes=READ,
        embed=Embed.SHARED,
        handler=active,
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/schemas/{id}",
        name="getSchema",
        command=Command("schemas get"),
        client=Method("schemas.get"),
        summary="Show a version of an event schema",
        tag=TAG,
        scopes=READ,
        embed=Embed.SHARED,
        handler=get,
        refusals=(404,),
    ),
    _action(
        "activate",
        activate,
        "Activate a version of an event schema",
        "From now on, events of the schema's type must conform to this version. The version"
        " that was active becomes DEPRECATED. An event that does not conform gets 400"
        " `schema_violation` with the failing paths.",
    ),
    _action(
        "deprecate",
        deprecate,
        "Deprecate the active version of an event schema",
        "From now on, events of its type are not checked, until a version is activated.",
    ),
)
