"""The servers on this database, as the answering server sees them."""

from collections.abc import Mapping
from uuid import UUID

from api.call import Call
from api.pages import ordinal, page, position
from api.queries import ListQuery
from api.routes import MANAGE, Command, Embed, Method, Route
from api.shapes import Page
from api.shapes.observability import Node, NodeStateName
from engine.model.instants import iso
from engine.nodes.liveness import Liveness, NodeRow, NodeState

LISTING = "/observability/nodes"
SHARED = 0  # the environment of cursors: nodes belong to none
COLUMNS = (
    ("NAME", "name"),
    ("ID", "id"),
    ("STATE", "state"),
    ("VERSION", "version"),
    ("STARTED", "startedAt"),
    ("ROLE", "role"),
    ("SLOTS", "slots"),
)

_STATES: Mapping[NodeState, NodeStateName] = {
    NodeState.LIVE: "LIVE",
    NodeState.SILENT: "SILENT",
    NodeState.DEAD: "DEAD",
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
    views = [_view(nodes, row) for row in shown]
    return page(views, LISTING, SHARED, below, lambda index: ordinal(first + index + 1))


def _view(nodes: Liveness, row: NodeRow) -> Node:
    return {
        "id": row.id,
        "name": row.name,
        "version": row.version,
        "address": row.address,
        "startedAt": iso(row.started_at_ms),
        "state": _STATES[nodes.state(row.id)],
        "answering": row.id == nodes.me,
        "heartbeatAgeMs": max(0, round(row.beat_age_s * 1000)),
        "slots": row.slots,
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
        description="By name, from the memory of the server that answers. Only a key of scope `manage` "
        "of the installation's first workspace may. One server is ACTIVE and does all work, or each "
        "of several workers has its slots and does their work. A STANDBY relays its clients' connections "
        "to the active server, and takes over when that is gone.",
        tag="Observability",
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=listing,
        query=ListQuery,
        environment=False,
        installation=True,
    ),
)
