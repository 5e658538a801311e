"""`POST /mcp` over HTTP: access, and refusals before the protocol."""

from typing import Any

import pytest

from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a test's", "version": "1"},
    },
}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


async def test_a_client_of_an_earlier_protocol_is_served_without_a_session(api: Caller) -> None:
    told = await api("POST", "/mcp", INITIALIZE)
    assert told.status == 200
    assert told.json["result"]["protocolVersion"] == "2025-06-18"
    assert "mcp-session-id" not in told.headers
    version = {"MCP-Protocol-Version": "2025-06-18"}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await api("POST", "/mcp", ready, headers=version)).status == 202
    found = await api("POST", "/mcp", call("find_trouble"), headers=version)
    assert found.json["result"]["structuredContent"]["destinations"] == []


async def test_a_message_that_is_none_is_refused_in_the_envelope(api: Caller) -> None:
    for body in (b"[", b"7", b'{"jsonrpc": "2.0"}', b"[" * 200_000):
        told = await api("POST", "/mcp", body=body, headers={"Content-Type": "application/json"})
        assert told.status == 400, body[:20]
        assert told.json["code"] == "invalid_request"


async def test_messages_with_members_by_the_thousand_are_refused(api: Caller) -> None:
    many = {str(number): 1 for number in range(5_000)}
    told = await api("POST", "/mcp", call("find_trouble", **many))
    assert told.json["result"]["content"][0]["text"] == "The call has more than 32 arguments."
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": many}}
    told = await api("POST", "/mcp", listing)
    assert (told.status, told.json["details"][0]["path"]) == (400, "params")


async def test_a_version_of_the_protocol_that_is_unknown_is_a_json_rpc_error(api: Caller) -> None:
    version = {"MCP-Protocol-Version": "1999-12-31"}
    told = await api("POST", "/mcp", call("find_trouble"), headers=version)
    assert told.status == 400
    assert told.json["error"]["code"] < 0


async def test_others_are_refused_in_the_envelope(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    nobody = house.caller_with(None)
    assert (await nobody("POST", "/mcp", INITIALIZE)).status == 401
    ingest = await house.caller(tenant, Scope.INGEST)
    assert (await ingest("POST", "/mcp", INITIALIZE)).status == 403
    assert (await api("GET", "/mcp")).status == 405
    text = {"Content-Type": "text/plain"}
    assert (await api("POST", "/mcp", body=b"{}", headers=text)).status == 415
    large = await api("POST", "/mcp", {**INITIALIZE, "params": {"x": "x" * 600_000}})
    assert large.status == 413


@pytest.mark.usefixtures("one_window")
async def test_each_call_of_a_tool_counts_on_the_rate_of_its_key(api: Caller) -> None:
    before = int((await api("GET", "/auth/context")).headers["x-ratelimit-remaining"])
    await api("POST", "/mcp", call("find_trouble"))
    after = int((await api("GET", "/auth/context")).headers["x-ratelimit-remaining"])
    assert before - after == 4  # the message, its tool's two calls, and this request
