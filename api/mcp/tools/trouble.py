"""The tool that lists problems, and the tool that looks up an object by an id, a key or a name."""

from typing import Annotated, Any

from pydantic import Field

from angarium import AsyncClient
from angarium.calls import Call
from api.mcp.tool import Document, Limit, Tool, ToolArguments

WELL = frozenset({"HEALTHY", "IDLE"})
LOOKUP_CHARACTERS = 256


class FindTrouble(ToolArguments):
    """The number of destinations to list."""

    limit: Limit = 10


class LookUp(ToolArguments):
    """The text to look up."""

    q: Annotated[str, Field(min_length=1, max_length=LOOKUP_CHARACTERS)] = Field(
        description="An id or its first 8 characters, an idempotency key, a correlation id, a part of a "
        "destination's name, or the beginning of a customer's id or an event type."
    )


async def find_trouble(client: AsyncClient, given: FindTrouble) -> Document:
    """List the present problems."""
    counts = await client.observability.counts(environment=given.environment)
    query = {"sort": "trouble", "limit": str(given.limit)}
    if given.environment is not None:
        query["environment"] = given.environment
    page: Any = await client.send(Call("GET", "/destinations/summaries", query))
    found = [_brief(each) for each in page["items"]]
    wrong = [each for each in found if each["state"] not in WELL or each["inDlq"]]
    more = page["nextCursor"] is not None and len(wrong) == given.limit
    return {"counts": counts, "destinations": wrong, "more": more}


def _brief(summary: Any) -> dict[str, Any]:
    destination, health = summary["destination"], summary["health"]
    return {
        "id": destination["id"],
        "name": destination["name"],
        "url": destination["url"],
        "customerExternalId": destination["customerExternalId"],
        "status": destination["status"],
        "state": health["state"],
        "circuit": health["circuit"]["state"],
        "hold": health["hold"],
        "successRate": health["successRate"],
        "consecutiveFailures": health["consecutiveFailures"],
        "lastError": health["lastError"],
        "queue": health["queue"],
        "inDlq": summary["inDlq"],
        "last24Hours": summary["totals"],
    }


async def lookup(client: AsyncClient, given: LookUp) -> Document:
    """Find the objects that a text names."""
    return {**await client.observability.lookup(given.q, environment=given.environment)}


TOOLS = (
    Tool(
        "find_trouble",
        "Find trouble",
        "List the present problems: counts of the environment, and the destinations that fail, "
        "have waiting deliveries while disabled, or have dead letters. The worst comes first. "
        "Begin here.",
        FindTrouble,
        find_trouble,
    ),
    Tool(
        "lookup",
        "Look up",
        "Find events, deliveries, destinations, rules, customers and event types by an id, a key, a "
        "correlation id or a name.",
        LookUp,
        lookup,
    ),
)
