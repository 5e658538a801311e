"""The library of the Model Context Protocol is loaded only if a server has an MCP key, and only after the
server accepts requests."""

import subprocess
import sys

import pytest
import trio
import trio.testing

from api.mcp import loading
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse


async def test_the_library_is_loaded_once_an_mcp_key_is_known_and_the_server_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loads: list[str] = []
    monkeypatch.setattr(loading, "_exchange", lambda: loads.append("loaded"))
    known, served = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loading.load_early, known, served)
        await trio.testing.wait_all_tasks_blocked()
        known.set()
        await trio.testing.wait_all_tasks_blocked()
        assert loads == []
        served.set()
    assert loads == ["loaded"]


async def test_an_mcp_key_makes_agents_known_and_an_api_key_does_not(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    known = house.server.projection.mcp_key_known
    assert (await api("GET", "/auth/context")).status == 200
    assert not known.is_set()
    await house.caller(tenant, environment=None)
    await known.wait()


def test_a_server_without_mcp_keys_loads_nothing_of_the_protocol() -> None:
    program = "import sys, api.composition.plain; print([m for m in sys.modules if 'mcp' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['api.mcp', 'api.mcp.loading', 'api.resources.mcp']"
