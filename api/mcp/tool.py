"""The definition of a tool, and the parts that all tools share."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from angarium import AsyncClient
from angarium.shapes import Environment

MOST_ITEMS = 50  # in one answer: an agent reads all of them
Limit = Annotated[int, Field(ge=1, le=MOST_ITEMS, description="The most items.")]
Document = Mapping[str, Any]


class ToolArguments(BaseModel):
    """The arguments of every tool."""

    model_config = ConfigDict(extra="forbid")

    environment: Environment | None = Field(
        None, description="The environment. Needed with an MCP key; an API key has its own."
    )


class ToolChange(ToolArguments):
    """The arguments of a tool that changes something."""

    apply: bool = Field(
        False,
        description="False (default): change nothing, and report what would happen. True: make the "
        "change. Ask the user before you pass true.",
    )


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `destructive`: its effect cannot be undone. `manage`: its caller needs a key of scope
    `manage`."""

    name: str
    title: str
    description: str
    arguments: type[ToolArguments]
    run: Callable[[AsyncClient, Any], Awaitable[Document]]
    destructive: bool = False
    manage: bool = False

    @property
    def writes(self) -> bool:
        return issubclass(self.arguments, ToolChange)

    @property
    def needs_manage(self) -> bool:
        return self.manage or self.writes


def would(what: str, **found: Any) -> Document:
    """Return the answer of a tool without `apply`."""
    return {"applied": False, "wouldDo": what, **found, "next": "Call again with apply: true."}


def done(what: str, **found: Any) -> Document:
    """Return the answer of a tool that has made its change."""
    return {"applied": True, "did": what, **found}
