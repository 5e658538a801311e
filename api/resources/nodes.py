"""The routes for nodes: the servers that use this database. Answers show what the answering server has in
memory."""

from collections.abc import Mapping
from uuid import UUID

from msgspec import structs

from api import shapes
from api.call import Call
from api.pages import ordinal, page, position
from api.queries import ListQuery
from api.routes import MANAGE, Command, Embed, Method, Route
from api.shapes import Page
from api.shapes.observability import LinkStateName, Node
from engine.control.audit import Principal
from engine.model.instants import iso
from engine.model.words import word
from engine.nodes.liveness import Liveness, NodeRow

LISTING = "/observability/nodes"
SHARED = 0  # the environment number in cursors: nodes belong to no environment
COLUMNS = (
    ("NAME", "name"),
    ("ID", "id"),
    ("STATE", "state"),
    ("VERSION", "version"),
    ("STARTED", "startedAt"),
    ("ROLE", "role"),
    ("PART", "part"),
    ("SLOTS", "slots"),
    ("DRAINED", "drained"),
    ("ACCEPTED/S", "acceptedPerSecond"),
    ("DELIVERED/S", "deliveredPerSecond"),
    ("WAITING", "waiting"),
    ("LINK", "link"),
    ("HEARTBEAT MS", "heartbeatAgeMs"),
)
MACHINE = {
    "machine": {
        "type": "string",
        "minLength": 1,
        "description": "The name of a machine, as the list of nodes shows it.",
    }
}


async def listing(call: Call) -> Page[Node]:
    """List nodes by name."""
    query = call.query_as(ListQuery)
    cursor = position(LISTING, SHARED, query.cursor)
    first = 0 if cursor is None else UUID(cursor).int
    nodes = call.services.nodes
    shown = nodes.rows[first : first + query.limit]
    following = first + len(shown)
    below = ordinal(following) if following < len(nodes.rows) else None
    views = [_view(nodes, call.services.links, row) for row in shown]
    return page(views, LISTING, SHARED, below, lambda index: ordinal(first + index + 1))


async def drain(call: Call) -> shapes.Success:
    """Drain a machine: other machines take its parts over."""
    await call.services.machines.drain(_actor(call), call.path["machine"])
    return {"success": True}


async def undrain(call: Call) -> shapes.Success:
    """End the drain of a machine."""
    await call.services.machines.undrain(_actor(call), call.path["machine"])
    return {"success": True}


def _actor(call: Call) -> Principal:
    """Return the caller, for the audit log. A drain concerns a whole server, and so belongs to no
    environment. The log entry of a drain therefore names the environment of the caller's key, if that key
    has one."""
    own = call.admitted.credential.environment
    return structs.replace(call.principal, environment=own.number if own else None)


_LINKS: Mapping[bool | None, LinkStateName] = {None: "UNUSED", True: "UP", False: "DOWN"}


def _view(nodes: Liveness, links: Mapping[str, bool], row: NodeRow) -> Node:
    return {
        "id": row.id,
        "name": row.name,
        "machine": row.machine,
        "version": row.version,
        "address": row.address,
        "startedAt": iso(row.started_at_ms),
        "state": word(nodes.state(row.id)),
        "answering": row.id == nodes.me,
        "heartbeatAgeMs": max(0, round(row.beat_age_s * 1000)),
        "slots": row.slots,
        "part": row.part.number,
        "parts": row.part.of,
        "drained": row.drained,
        "link": _LINKS[links.get(row.id)],
        "acceptedPerSecond": round(row.load.accepted_per_s, 1),
        "deliveredPerSecond": round(row.load.delivered_per_s, 1),
        "waiting": row.load.waiting,
        "role": "ACTIVE" if row.active else "STANDBY",
    }


ROUTES = (
    Route(
        method="GET",
        path="/observability/nodes",
        name="listNodes",
        command=Command("nodes list", COLUMNS),
        client=Method("nodes.list"),
        summary="List the servers of this installation",
        description="Sorted by name. The list shows what the answering server knows. The call needs a "
        "key of scope `manage` of the installation's first workspace. Each part of the workspaces "
        "has one ACTIVE server, which does the work of the part. A STANDBY of the part takes over "
        "if the ACTIVE server fails.",
        tag="Observability",
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=listing,
        query=ListQuery,
        environment=False,
        installation=True,
    ),
    Route(
        method="POST",
        path="/observability/nodes/{machine}/drain",
        path_schemas=MACHINE,
        name="drainMachine",
        command=Command("nodes drain"),
        client=Method("nodes.drain"),
        summary="Drain a machine",
        description="Other machines take the parts of this machine over within seconds. The "
        "machine gets no parts until the drain ends, also after a restart. It still relays its "
        "clients' requests, and keeps its parts while no other machine can take them.",
        tag="Observability",
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=drain,
        action=True,
        refusals=(404,),
        environment=False,
        installation=True,
    ),
    Route(
        method="POST",
        path="/observability/nodes/{machine}/undrain",
        path_schemas=MACHINE,
        name="undrainMachine",
        command=Command("nodes undrain"),
        client=Method("nodes.undrain"),
        summary="End the drain of a machine",
        description="The machine gets its share of the parts within seconds.",
        tag="Observability",
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=undrain,
        action=True,
        refusals=(404,),
        environment=False,
        installation=True,
    ),
)
