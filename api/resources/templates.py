"""The routes for destination templates."""

import json
from typing import Any
from uuid import UUID

from pydantic import Field

from api.call import Call
from api.pages import ordinal, page, position
from api.queries import ListQuery
from api.resources.preview import event_of
from api.routes import READ, Command, Embed, Method, Route
from api.shapes import Page
from api.shapes.content import DestinationTemplate, SketchedRequest, TemplatePreview
from engine.control.templated import previewed
from engine.core.destination import Template
from engine.drafts import Document, Uuid
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.headers import Headers
from engine.model.quotas import Ability
from engine.templates.definition import Definition
from engine.wire.body import outbound_body

TAG = "Destination templates"
COLUMNS = (
    ("ID", "id"),
    ("CATEGORY", "category"),
    ("NAME", "name"),
    ("DESCRIPTION", "description"),
)
LISTING = "/destination-templates"
ID = {
    "id": {
        "type": "string",
        "minLength": 1,
        "description": "A template's id, such as `slack`.",
        "example": "slack",
    }
}
SHARED = 0  # the environment number in cursors: all environments have the same catalog


class PreviewDraft(Document):
    """A configuration to preview, and an event. The event is `event`, or the event with the id `eventId`.
    If both are left out, the event is the template's example."""

    config: dict[str, Any] = Field(
        default_factory=dict, description="The configuration. Secrets can be masked or left out."
    )
    destination_id: Uuid | None = Field(
        None,
        description="A destination of this template. Then `config` is a merge patch of its "
        "configuration.",
    )
    event: dict[str, Any] | None = Field(
        None,
        description="An event as for `POST /events`. Without `eventType`: an outbound body, or "
        "the body that a transform script returns, with `type`, `data` and the other fields.",
    )
    event_id: Uuid | None = Field(None, description="The id of an accepted event.")


def view(definition: Definition) -> DestinationTemplate:
    """Return the view of a template."""
    example = definition.example
    return {
        "id": definition.id,
        "name": definition.name,
        "description": definition.description,
        "category": definition.category,
        "icon": definition.icon,
        "documentationUrls": list(definition.documentation),
        "configSchema": definition.config_schema,
        "defaults": dict(definition.defaults),
        "example": {"event": example.event, "config": example.config, "body": example.body},
    }


def required(call: Call) -> Definition:
    """Return the template that the path names. Raises Refusal 404."""
    definition = call.services.catalog.get(call.path["id"])
    if definition is None:
        raise Refusal("not_found", "no such template")
    return definition


async def listing(call: Call) -> Page[DestinationTemplate]:
    """List the catalog by name."""
    query = call.query_as(ListQuery)
    cursor = position(LISTING, SHARED, query.cursor)
    first = 0 if cursor is None else UUID(cursor).int
    found = call.services.catalog.all()
    shown = found[first : first + query.limit]
    following = first + len(shown)
    below = ordinal(following) if following < len(found) else None
    views = [view(each) for each in shown]
    return page(views, LISTING, SHARED, below, lambda index: ordinal(first + index + 1))


async def get(call: Call) -> DestinationTemplate:
    """Show one template."""
    return view(required(call))


async def preview(call: Call) -> TemplatePreview:
    """Show the request that the template makes."""
    draft = call.body_as(PreviewDraft)
    if draft.event is not None and draft.event_id is not None:
        raise invalid("eventId", "must be absent if event is given")
    given = None if draft.event is None else _given(call, draft.event)
    definition = required(call)
    stored, headers = await _stored(call, definition, draft.destination_id)
    body, event_type = given or await _event(call, definition, draft.event_id)
    found = previewed(
        definition, call.services.templates, draft.config, body, event_type, stored, headers
    )
    sketch = found.request
    request: SketchedRequest | None = None
    if sketch is not None:
        request = {
            "method": "POST",
            "url": sketch.url,
            "headers": sketch.headers,
            "body": sketch.body,
        }
    return {
        "request": request,
        "errors": [{"path": each.path, "message": each.message} for each in found.errors],
    }


async def _stored(
    call: Call, definition: Definition, destination: str | None
) -> tuple[Template | None, Headers]:
    if destination is None:
        return None, ()
    record = await call.services.destination_store.get(call.number, destination)
    if record is None or not call.sees(record.customer_account):
        raise Refusal("not_found", "destinationId: no such destination")
    if record.template is None or record.template.id != definition.id:
        raise invalid(
            "destinationId", "the destination was made from another template, or from none"
        )
    return record.template, record.headers


def _given(call: Call, event: dict[str, Any]) -> tuple[bytes, str]:
    if "eventType" in event:
        found = event_of(call)
        return outbound_body(found), found.type
    try:
        return json.dumps(event, allow_nan=False).encode(), _type(event)
    except ValueError:
        raise invalid("event", "has a number that is too large") from None


async def _event(call: Call, definition: Definition, identifier: str | None) -> tuple[bytes, str]:
    """Return the body and the type of the event with this id. If the id is None, return those of the
    template's example event."""
    if identifier is None:
        event = definition.example.event
        return json.dumps(event).encode(), _type(event)
    detail = await call.services.event_log.event(call.number, identifier)
    if detail is None or not call.sees_customer(detail.entry.customer):
        raise Refusal("not_found", "eventId: no such event")
    return outbound_body(detail.event()), detail.entry.type


def _type(event: dict[str, Any]) -> str:
    found = event.get("type")
    return found if isinstance(found, str) else ""


ROUTES = (
    Route(
        method="GET",
        path="/destination-templates",
        name="listDestinationTemplates",
        command=Command("templates list", COLUMNS),
        client=Method("templates.list"),
        summary="List the catalog of templates",
        description="Sorted by name. The catalog is the same for all workspaces and environments.",
        tag=TAG,
        scopes=READ,
        embed=Embed.SHARED,
        handler=listing,
        query=ListQuery,
        environment=False,
    ),
    Route(
        method="GET",
        path="/destination-templates/{id}",
        path_schemas=ID,
        name="getDestinationTemplate",
        client=Method("templates.get"),
        summary="Show a template",
        tag=TAG,
        scopes=READ,
        embed=Embed.SHARED,
        handler=get,
        environment=False,
        refusals=(404,),
    ),
    Route(
        method="POST",
        path="/destination-templates/{id}/preview",
        path_schemas=ID,
        name="previewDestinationTemplate",
        client=Method("templates.preview", positional=("config",)),
        summary="Try a template on an event",
        description="Shows the request to the service, with masks for secrets. Nothing is sent or "
        "stored, so scope `read` is enough. `errors` lists the errors of `config`, and the "
        "reasons why the event does not fit the service's format. A destination's transform "
        "script is not run.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=preview,
        body=PreviewDraft,
        field_abilities={"eventId": Ability.VIEW_PAYLOADS},
        refusals=(404,),
        example={
            "config": {"webhookUrl": "***", "title": "New order"},
            "event": {"eventType": "order.created", "payload": {"orderId": "o-1042"}},
        },
    ),
)
