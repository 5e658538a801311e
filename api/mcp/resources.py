"""The resources that an agent can read."""

from functools import cache
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qs, unquote, urlsplit

import orjson
from mcp import types
from pydantic import BaseModel

from angarium.calls import Call
from angarium.shapes import Environment
from api.mcp.access import ApiAccess

FOLDER = Path(__file__).parents[2] / "docs"
ENVIRONMENTS: tuple[Environment, ...] = get_args(Environment)
OPENAPI = "angarium://openapi"
DOCS = "angarium://docs/"
SCHEMAS = "angarium://schemas/"
MARKDOWN = "text/markdown"
JSON = "application/json"
# The pages for users of the service, without those for contributors.
PAGES = (
    "tutorial", "receiving", "concurrency", "operating", "scaling", "security", "plans", "metrics",
    "api/README", "api/credentials", "api/dead-letters", "api/embed", "api/file-delivery", "api/files",
    "api/filters", "api/observability", "api/own-events", "api/schemas", "api/statuses",
    "api/templates", "api/transforms", "api/waiting",
)  # fmt: skip


class UnknownResourceError(Exception):
    """No resource has this address."""


class _Page(BaseModel):
    title: str
    text: str


@cache
def pages() -> dict[str, _Page]:
    """Return the pages by address, read once."""
    found = {}
    for name in PAGES:
        path = FOLDER / f"{name}.md"
        if path.is_file():
            text = path.read_text("utf-8")
            found[DOCS + name] = _Page(title=text.partition("\n")[0].lstrip("# "), text=text)
    return found


def listed() -> list[types.Resource]:
    """Return all resources with a fixed address."""
    return [
        *(
            types.Resource(
                uri=uri, name=uri.removeprefix(DOCS), title=page.title, mime_type=MARKDOWN
            )
            for uri, page in pages().items()
        ),
        types.Resource(
            uri=OPENAPI, name="openapi", title="The API as an OpenAPI document", mime_type=JSON
        ),
    ]


def templates() -> list[types.ResourceTemplate]:
    """Return the resources whose address has a variable part."""
    return [
        types.ResourceTemplate(
            uri_template=SCHEMAS + "{eventType}{?environment}",
            name="schema",
            title="The active schema of an event type",
            description="A JSON Schema. Only an MCP key must name the environment.",
            mime_type=JSON,
        )
    ]


async def read(access: ApiAccess, uri: str) -> types.TextResourceContents:
    """Return a resource. Raises UnknownResourceError, and AngariumError of the API."""
    page = pages().get(uri)
    if page is not None:
        return types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=page.text)
    if uri == OPENAPI:
        async with access.client(None) as client:
            document = await client.send(Call[object]("GET", "/openapi.json"))
    elif uri.startswith(SCHEMAS):
        address = urlsplit(uri.removeprefix(SCHEMAS))
        named = parse_qs(address.query).get("environment", [None])[-1]
        environment = next((name for name in ENVIRONMENTS if name == named), None)
        async with access.client(environment) as client:
            document = await client.schemas.active(unquote(address.path))
    else:
        raise UnknownResourceError(f"there is no resource {uri[:200]!r}: list them first")
    text = orjson.dumps(document).decode()
    return types.TextResourceContents(uri=uri, mime_type=JSON, text=text)
