"""Fixtures with a whole server, and MCP clients: over HTTP, and over the pipes of `angarium mcp`."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from tests.service.conftest import api, house, neighbour, receiver, tenant
from tests.service.house import ServiceHouse

__all__ = ["api", "house", "neighbour", "receiver", "tenant"]
Answer = Any


class Agent:
    """An MCP client that returns the tools' answers as JSON."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Answer:
        result = await self.client.call_tool(tool, arguments)
        content = result.content[0]
        assert isinstance(content, TextContent)
        assert not result.is_error, content.text
        assert result.structured_content == orjson.loads(content.text)
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        content = result.content[0]
        assert isinstance(content, TextContent)
        assert result.is_error, content.text
        return content.text


@asynccontextmanager
async def over_http(house: ServiceHouse, secret: str | None) -> AsyncIterator[Agent]:
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    address = f"http://127.0.0.1:{house.door.address[1]}/mcp"
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield Agent(client)


@asynccontextmanager
async def by_command(house: ServiceHouse, secret: str) -> AsyncIterator[Agent]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "api.cli", "mcp"],
        env={
            **os.environ,
            "ANGARIUM_URL": f"http://127.0.0.1:{house.door.address[1]}",
            "ANGARIUM_KEY": secret,
        },
    )
    async with Client(stdio_client(command)) as client:
        yield Agent(client)
