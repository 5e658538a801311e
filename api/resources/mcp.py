"""The route POST /mcp."""

from typing import Any, Literal, cast

from pydantic import RootModel
from quart import current_app, request

from api.call import Answer, Call
from api.mcp.loading import loaded
from api.routes import READ, Embed, Nothing, Repeat, Route
from api.shares import Share
from engine.core.vocabulary import Scope
from engine.drafts import Document
from engine.model.documents import invalid
from engine.model.words import word

BODY_BYTES = 512 * 1024  # an event's payload has at most 256 KiB, and escapes can double it
# The limit on a message's parameters, without the arguments of a tool. The MCP library examines every
# field of the parameters. With many fields, this would take long.
PARAMS_CHARACTERS = 16 * 1024
# The request headers that the MCP server gets. All other headers concern only the client's connection.
_PASSED = frozenset({"mcp-protocol-version", "mcp-method", "mcp-name"})
_TAKES = "application/json, text/event-stream"


class JsonRpcRequest(Document):
    """A JSON-RPC 2.0 request of the protocol, or a notification, which has no id."""

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str
    params: dict[str, Any] | None = None


class JsonRpcAnswer(RootModel[dict[str, Any]]):
    """A JSON-RPC 2.0 result or error."""


class JsonRpcError(RootModel[dict[str, Any]]):
    """A JSON-RPC 2.0 error, or the usual error envelope of the API if the API refused the request."""


async def post(call: Call) -> Answer:
    """Answer one message of an agent."""
    params = call.document.get("params") or {}
    rest = {name: value for name, value in params.items() if name != "arguments"}
    if len(repr(rest)) > PARAMS_CHARACTERS:
        message = f"is longer than {PARAMS_CHARACTERS} characters without the arguments"
        raise invalid("params", message)
    module = await loaded()
    access = module.access_of(
        cast("Any", current_app)._get_current_object(),
        request.headers["Authorization"].partition(" ")[2].strip(),
        None if call.place is None else word(call.place.name),
        manages=call.admitted.credential.scope is Scope.MANAGE,
        address=request.remote_addr or "",
    )
    headers = {name: value for name, value in call.headers.items() if name in _PASSED}
    headers |= {"content-type": "application/json", "accept": _TAKES}
    answer = await module.exchange(access, headers, call.document)
    return Answer(answer.status, body=answer.body, content_type="application/json")


ROUTES = (
    Route(
        method="POST",
        path="/mcp",
        name="postMcp",
        summary="Speak the Model Context Protocol",
        description="The transport is streamable HTTP without sessions and streams: each request "
        "and each answer has one JSON-RPC message. A notification gets 202. Tools call the API "
        "with the caller's key, so its scope and its rate limit apply. With an MCP key, name the "
        "environment in `X-Environment`, or in each call of a tool.",
        tag="Agents",
        scopes=READ,
        embed=Embed.REFUSED,
        handler=post,
        body=JsonRpcRequest,
        example={"jsonrpc": "2.0", "id": 1, "method": "ping"},
        share=Share.OUTWARD,
        body_bytes=BODY_BYTES,
        responses={200: JsonRpcAnswer, 202: Nothing, 400: JsonRpcError, 404: JsonRpcError},
        environment=False,
        repeat=Repeat.NEVER,
    ),
)
