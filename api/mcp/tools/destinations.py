"""The tools for destinations."""

from typing import Any, Literal

from pydantic import Field

from angarium import AsyncClient
from angarium.shapes import DestinationHealth
from api.mcp.tool import Document, Tool, ToolArguments, ToolChange, done, would


class GetDestination(ToolArguments):
    """The destination."""

    destination_id: str = Field(description="The destination's id.")


class TuneConcurrency(ToolChange):
    """The destination, and its new concurrency."""

    destination_id: str = Field(description="The destination's id.")
    concurrency: int | Literal["auto"] | None = Field(
        None,
        description="Requests in flight at once, or `auto`. By default the value that its health "
        "suggests.",
    )


class ChangeDestination(ToolChange):
    """The destination, and the action on it."""

    destination_id: str = Field(description="The destination's id.")
    action: Literal["ENABLE", "DISABLE", "RESUME"] = Field(
        description="ENABLE or DISABLE it. RESUME: end the pause of a Retry-After, and probe an open "
        "circuit now."
    )


async def get_destination(client: AsyncClient, given: GetDestination) -> Document:
    """Show a destination, its health and its blocked lanes."""
    return {
        "destination": await client.destinations.get(given.destination_id),
        "health": await client.destinations.health(given.destination_id),
        "lanes": await client.destinations.lanes(given.destination_id, limit=10),
    }


async def tune_concurrency(client: AsyncClient, given: TuneConcurrency) -> Document:
    """Set a destination's concurrency."""
    before = await client.destinations.get(given.destination_id)
    health = await client.destinations.health(given.destination_id)
    wanted = given.concurrency or health["queue"]["suggestedConcurrency"]
    if wanted is None:
        raise ValueError("health has no suggestion before 20 attempts: give concurrency")
    was = before["delivery"]["concurrency"]
    found = {"destinationId": given.destination_id, "from": was, "to": wanted}
    measured = {"queue": health["queue"], "latencyMs": health["latencyMs"]}
    if not given.apply:
        return would("set the concurrency", **found, **measured)
    await client.destinations.update(given.destination_id, {"delivery": {"concurrency": wanted}})
    return done("set the concurrency", **found, undo=f"tune_concurrency with concurrency {was!r}")


async def change_destination(client: AsyncClient, given: ChangeDestination) -> Document:
    """Enable, disable or resume a destination."""
    what = f"{given.action.lower()} the destination"
    health = await client.destinations.health(given.destination_id)
    if not given.apply:
        return would(what, destinationId=given.destination_id, health=_brief(health))
    if given.action == "RESUME":
        after = await client.destinations.resume(given.destination_id)
        return done(what, destinationId=given.destination_id, health=_brief(after))
    switch = client.destinations.enable
    if given.action == "DISABLE":
        switch = client.destinations.disable
    status = (await switch(given.destination_id))["status"]
    return done(what, destinationId=given.destination_id, status=status)


def _brief(health: DestinationHealth) -> dict[str, Any]:
    return {
        "state": health["state"],
        "circuit": health["circuit"],
        "hold": health["hold"],
        "lastError": health["lastError"],
        "queue": health["queue"],
    }


TOOLS = (
    Tool(
        "get_destination",
        "Show a destination",
        "Show a destination's configuration, its health (state, circuit, hold, success rate, "
        "latency, queue) and its lanes with waiting deliveries.",
        GetDestination,
        get_destination,
    ),
    Tool(
        "tune_concurrency",
        "Tune a destination's concurrency",
        "Set the most requests that a destination has in flight, or use the value that its health "
        "suggests.",
        TuneConcurrency,
        tune_concurrency,
    ),
    Tool(
        "change_destination",
        "Enable, disable or resume a destination",
        "Enable or disable a destination, or lift its hold. While it is disabled its "
        "deliveries wait.",
        ChangeDestination,
        change_destination,
    ),
)
