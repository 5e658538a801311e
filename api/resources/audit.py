"""The routes for the audit log."""

from typing import Annotated

import orjson
from pydantic import Field

from api import shapes
from api.call import Call
from api.pages import position, searched_page
from api.queries import AnyOf, PageQuery, all_of
from api.routes import READ, Command, Embed, Method, Route
from api.shapes.observability import AuditEntry
from engine.core.vocabulary import CredentialKind
from engine.log.observability import AuditFilter, AuditReach
from engine.model.configuration import AuditEntry as Entry
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import Instant, iso
from engine.model.words import word

TAG = "Audit"
COLUMNS = (
    ("AT", "createdAt"),
    ("ID", "id"),
    ("ACTOR", "actorType"),
    ("ACTOR ID", "actorId"),
    ("ACTION", "action"),
    ("OBJECT", "objectId"),
)
LISTING = "/audit-logs"
Term = Annotated[str, Field(min_length=1, max_length=256)]


class AuditQuery(PageQuery):
    """Filters of the audit log."""

    action: AnyOf[Term] | None = Field(
        None, description="Changes with this action, such as `destination.update`."
    )
    object_type: AnyOf[Term] | None = Field(
        None, description="Changes of this type of object, such as `destination`."
    )
    object_id: AnyOf[Term] | None = Field(None, description="Changes of the object with this id.")
    actor_id: AnyOf[Term] | None = Field(
        None, description="Changes by the actor with this id, such as a key."
    )
    from_: Instant | None = Field(None, alias="from", description="Changes since this instant.")
    to: Instant | None = Field(None, description="Changes before this instant.")


def reach_of(call: Call) -> AuditReach:
    """Return which entries the caller can see: the entries of the environment and, with an MCP key, also
    the entries of the workspace."""
    whole = call.admitted.credential.kind is CredentialKind.MCP_KEY
    workspace = call.admitted.credential.workspace if whole else None
    return AuditReach(call.number, workspace)


def view(call: Call, entry: Entry) -> AuditEntry:
    """Return the view of an entry."""
    return {
        "id": entry.id,
        "createdAt": iso(created_at_ms(entry.id)),
        "action": entry.action,
        "objectType": entry.object_type,
        "objectId": entry.object_id,
        "actorType": entry.actor_type,
        "actorId": entry.actor_id,
        "environment": None if entry.environment is None else word(call.environment_name),
        "requestId": entry.request_id,
        "changes": None if entry.changes is None else orjson.Fragment(entry.changes),
        "previousFingerprint": entry.previous_fingerprint,
    }


async def listing(call: Call) -> shapes.Page[AuditEntry]:
    """List entries, newest first."""
    query = call.query_as(AuditQuery)
    which = AuditFilter(
        actions=all_of(query.action),
        object_types=all_of(query.object_type),
        object_ids=all_of(query.object_id),
        actor_ids=all_of(query.actor_id),
        from_ms=query.from_,
        to_ms=query.to,
    )
    below = position(LISTING, call.number, query.cursor)
    found = await call.services.audit_log.entries(reach_of(call), which, below, query.limit)
    items = [view(call, entry) for entry in found.items]
    return searched_page(items, LISTING, call.number, found.below, query.limit)


async def get(call: Call) -> AuditEntry:
    """Show one entry."""
    workspace = call.admitted.credential.workspace
    entry = await call.services.audit_log.entry(reach_of(call), workspace, call.identifier())
    if entry is None:
        raise Refusal("not_found", "no such audit entry")
    return view(call, entry)


ROUTES = (
    Route(
        method="GET",
        path="/audit-logs",
        name="listAuditLogs",
        command=Command("audit list", COLUMNS),
        client=Method("audit_logs.list"),
        summary="List changes of configuration",
        description="Newest first. MCP keys also see changes of the whole workspace, such as its "
        "plan and its MCP keys. A change and its entry are written together, and entries are "
        "never removed. A search for rare values stops after a limited time. A page can then hold "
        "fewer than `limit` entries, even none, and still have a `nextCursor`. Such a page has "
        "`searchedTo`: the search has examined all entries after this time.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=listing,
        query=AuditQuery,
    ),
    Route(
        method="GET",
        path="/audit-logs/{id}",
        name="getAuditLog",
        command=Command("audit get"),
        client=Method("audit_logs.get"),
        summary="Show a change of configuration",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=get,
        refusals=(404,),
    ),
)
