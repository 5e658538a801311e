"""Schemathesis with the document and a key finds no fault in a running server."""

import socket
import sys
from pathlib import Path

import pytest
import trio

from engine.wire.resolver import Addresses, Resolver
from storage.database.bridge import Bridge
from tests.service.house import destination, open_service, post

HERE = Path(__file__).parent
SEED = "20261121"
EXAMPLES = "4"  # for each operation and phase: the coverage phase alone creates thousands
WITHIN_S = 600  # for thousands of requests, with other tests beside them
UNLIMITED = 1_000_000_000  # requests a minute


def nowhere(host: str) -> Addresses:
    """Resolve no name, because no request must go to a generated destination."""
    raise socket.gaierror(socket.EAI_NONAME, f"no {host} here")


async def test_schemathesis_finds_nothing(
    bridge: Bridge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Resolver.__init__, "__defaults__", (nowhere,))
    config = tmp_path / "schemathesis.toml"
    hooks = HERE / "schemathesis_checks.py"
    config.write_text((HERE / "schemathesis.toml").read_text().replace("HOOKS", str(hooks)))
    limits = {"control_rate_limit": UNLIMITED, "ingest_rate_limit": UNLIMITED}
    async with open_service(bridge, WITHIN_S, **limits) as house:
        api = await house.caller(await house.tenant("acme"))
        await destination(api, "http://127.0.0.1:9/")
        await post(api)
        host, port = house.door.address
        program = Path(sys.executable).with_name("schemathesis")
        done = await trio.run_process(
            [
                *(str(program), "--config-file", str(config)),
                *("run", f"http://{host}:{port}/openapi.json"),
                *("--header", f"Authorization:{api._headers['Authorization']}"),
                *("--seed", SEED, "--max-examples", EXAMPLES, "--no-shrink", "--no-color"),
            ],
            capture_stdout=True,
            check=False,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout.decode()
