"""The tools for the dead-letter queue."""

from typing import Any, Literal

from pydantic import Field

from angarium import AsyncClient
from angarium.calls import Call, query_of
from api.mcp.tool import Document, Limit, Tool, ToolArguments, ToolChange, done, would


class ListCauses(ToolArguments):
    """The selection of causes."""

    destination_id: str | None = Field(None, description="Only causes at this destination.")
    limit: Limit = 20


class ClearDeadLetters(ToolChange):
    """The dead letters, and the action on them."""

    action: Literal["RETRY", "DISCARD"] = Field(
        description="RETRY: deliver them again. DISCARD: give them up permanently."
    )
    signature: str | None = Field(
        None, description="Only dead letters of one cause, from list_dead_letters."
    )
    destination_id: str | None = Field(None, description="Only dead letters of this destination.")
    limit: int | None = Field(
        None,
        ge=1,
        description="The most dead letters; the oldest go first. Retry ten before you retry all.",
    )
    rate_per_second: float | None = Field(None, gt=0, description="The most dead letters a second.")


async def list_dead_letters(client: AsyncClient, given: ListCauses) -> Document:
    """List the causes of dead letters."""
    page: Any = await client.send(Call("GET", "/dlq/groups", query_of(given.model_dump())))
    return {"causes": page["items"], "more": page["nextCursor"] is not None}


async def clear_dead_letters(client: AsyncClient, given: ClearDeadLetters) -> Document:
    """Retry or discard dead letters."""
    if given.signature is None and given.destination_id is None:
        raise ValueError("give signature or destination_id; `list_dead_letters` finds both")
    clear: Any = client.dlq.retry_all if given.action == "RETRY" else client.dlq.discard_all
    result = await clear(
        signature=given.signature,
        destination_id=given.destination_id,
        limit=given.limit,
        rate_per_second=given.rate_per_second,
        dry_run=not given.apply,
    )
    what = f"{given.action.lower()} dead letters"
    if not given.apply:
        return would(what, matched=result["matched"], limit=given.limit)
    return done(what, **result)


TOOLS = (
    Tool(
        "list_dead_letters",
        "List dead letters by cause",
        "List the causes of dead letters (destination, error, status), the most frequent first, "
        "with a signature for clear_dead_letters and the id of one delivery as a sample.",
        ListCauses,
        list_dead_letters,
    ),
    Tool(
        "clear_dead_letters",
        "Retry or discard dead letters",
        "Retry or discard the dead letters of a cause or a destination. Without apply it only "
        "counts.",
        ClearDeadLetters,
        clear_dead_letters,
        destructive=True,
    ),
)
