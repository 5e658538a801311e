"""The MCP server over standard input and output, for one agent on the same computer."""

from functools import partial

import anyio
from mcp.server.stdio import stdio_server

from angarium import AsyncClient
from angarium.shapes import Environment
from api.mcp.access import ApiAccess
from api.mcp.server import make_server


def serve(url: str, key: str, environment: Environment | None, timeout_s: float) -> None:
    """Serve until standard input ends. Raises AngariumError if the API refuses the key."""
    connect = partial(_connected, url, key, timeout_s)
    anyio.run(_serve, connect, environment, backend="trio")


def _connected(
    url: str, key: str, timeout_s: float, environment: Environment | None
) -> AsyncClient:
    return AsyncClient(url, key, environment=environment, timeout_s=timeout_s)


async def _serve(connect: "partial[AsyncClient]", environment: Environment | None) -> None:
    async with connect(environment) as client:
        scope = (await client.auth_context())["scope"]
    server = make_server(ApiAccess(connect, environment, manages=scope == "manage"))
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
