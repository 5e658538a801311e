"""Clients that popular generators create. Each client must compile, and must run the tutorial against a
server."""

import json
from pathlib import Path

import pytest
import trio

from engine.core.vocabulary import Environment, Scope
from storage.database.bridge import Bridge
from tests.generated.makers import MAKERS, made
from tests.service.house import open_service
from tests.service.receiver import open_receiver


@pytest.mark.parametrize("name", MAKERS)
async def test_a_generated_client_compiles_and_runs_the_tutorial(
    name: str, tmp_path: Path, bridge: Bridge
) -> None:
    # The client is compiled before the server starts, because `open_service` limits how long a test can
    # use the server.
    program = await trio.to_thread.run_sync(made, name, tmp_path)
    async with open_service(bridge) as house, open_receiver() as receiver:
        key = await house.keys.create(
            await house.tenant("acme"), Scope.MANAGE, Environment.DEVELOPMENT, "the tutorial's"
        )
        host, port = house.door.address
        done = await trio.run_process(
            [*program, f"http://{host}:{port}", key.secret, receiver.url("/hooks")],
            cwd=tmp_path,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        (request,) = await receiver.reaches(1)
    assert request.json["data"] == {"order": 42, "total": "19.90"}
    assert json.loads(done.stdout) == {
        "enabled": True,
        "duplicate": [False, True],
        "same": True,
        "status": "DELIVERED",
        "response": 204,
        "circuit": "CLOSED",
        "error": [404, "not_found"],
    }
