"""One exchange of `POST /mcp`: a JSON-RPC message and its answer.

Every request has its own MCP server, whose tools call the application with the request's key.
"""

from collections.abc import Mapping
from typing import Any, cast

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from angarium import AsyncClient
from angarium.calls import dumped
from angarium.retry import RetryPolicy
from angarium.shapes import Environment
from api.mcp.access import ApiAccess
from api.mcp.inside import Application, InsideAnswer, InsideTransport, ask
from api.mcp.server import make_server

# The base URL of the clients. No client connects to it, because the transport calls the application
# directly. But a client cannot be made without a valid URL.
INSIDE = "http://127.0.0.1"
ONCE = RetryPolicy(retries=0)  # the agent decides about retries


def access_of(
    application: Application,
    key: str,
    environment: Environment | None,
    *,
    manages: bool,
    address: str,
) -> ApiAccess:
    """Return an access to the API whose clients call `application` directly, in this process."""
    transport = InsideTransport(application, address)

    def connect(named: Environment | None) -> AsyncClient:
        return AsyncClient(INSIDE, key, environment=named, retry=ONCE, transport=transport)

    return ApiAccess(connect, environment, manages)


async def exchange(
    access: ApiAccess, headers: Mapping[str, str], message: Mapping[str, Any]
) -> InsideAnswer:
    """Answer one message. `headers` have names in lower case."""
    body = dumped(message)
    manager = StreamableHTTPSessionManager(
        make_server(access), json_response=True, stateless=True, max_request_body_size=len(body) + 1
    )
    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    async with manager.run():
        handle = cast("Application", manager.handle_request)
        return await ask(handle, "POST", "/mcp", fields, body)
