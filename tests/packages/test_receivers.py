"""The receivers of the documentation in other languages, each with the stock library of its language."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import trio

import angarium
from bench.service import free_port
from tests.cli.programs import Program, environment, manage_key, running, server
from tests.packages.tools import ROOT, tool
from tests.postgres import eventually

RECEIVERS = ROOT / "docs/examples/receivers"
BODY = '{"type": "order.created", "data": {"name": "Zoë"}}'.encode()
LARGE = b'{"type": "order.created", "data": "' + b"x" * (1 << 20) + b'"}'


@dataclass(frozen=True, slots=True)
class Language:
    """How a receiver is prepared and started in its folder, and what it says of a new event."""

    prepare: Callable[[], list[str]]
    start: Callable[[], list[str]]
    handled: str


GO = "apt-get install golang-go, or make tools"
NODE = "apt-get install nodejs npm"
JAVA = "apt-get install default-jdk-headless maven"
LANGUAGES = {
    "go": Language(
        lambda: [tool("go", GO), "build", "-mod=readonly", "-o", "receiver", "."],
        lambda: ["./receiver"],
        "handled order.created",
    ),
    "node": Language(
        lambda: [
            tool("npm", NODE),
            "ci",
            "--silent",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ],
        lambda: [tool("node", NODE), "receiver.mjs"],
        "handled order.created",
    ),
    "java": Language(
        lambda: [tool("mvn", JAVA), "-q", "-B", "dependency:copy-dependencies"],
        lambda: [tool("java", JAVA), "-cp", "target/dependency/*", "Receiver.java"],
        'handled {"type":"order.created"',
    ),
}


async def prepared(name: str, folder: Path) -> list[str]:
    """Copy a receiver and install what it needs; return the command that starts it."""
    language = LANGUAGES[name]
    command = language.prepare()
    shutil.copytree(RECEIVERS / name, folder)
    done = await trio.run_process(
        command, cwd=folder, capture_stdout=True, capture_stderr=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return language.start()


class Sender:
    """Sends webhooks to a receiver as anybody could."""

    def __init__(self, client: httpx.AsyncClient, url: str, secret: str) -> None:
        self._client, self._url, self._secret = client, url, secret

    async def __call__(
        self, body: bytes, message: str, *, added: bytes = b"", age_s: int = 0, **headers: str
    ) -> int:
        """Sign and send; `added` goes behind what was signed. Returns the status of the answer."""
        sent = int(time.time()) - age_s
        signed = {
            "content-type": "application/json",
            "webhook-id": message,
            "webhook-timestamp": str(sent),
            "webhook-signature": angarium.sign(body, self._secret, message, sent),
        }
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self._client.post(self._url, content=body + added, headers=signed | headers)
        return answer.status_code


@pytest.mark.parametrize("name", LANGUAGES)
async def test_a_receiver_takes_what_is_genuine_and_new(
    name: str, database_url: str, tmp_path: Path
) -> None:
    start = await prepared(name, tmp_path / name)
    env = environment(database_url, tmp_path)
    port = free_port()
    url = f"http://127.0.0.1:{port}/hooks"
    async with server(env) as (_, address):
        key = await manage_key(env)
        async with (
            httpx.AsyncClient(trust_env=False, timeout=30) as client,
            angarium.AsyncClient(address, key, trust_env=False) as api,
        ):
            made = await api.destinations.create("Receiver", url)
            secret = str(made["secret"])
            own = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
            own |= {"WEBHOOK_SECRET": secret, "PORT": str(port)}
            async with running(env=own, command=start, cwd=tmp_path / name) as receiver:
                await receiver.wait_for("Listening on")
                await takes_a_delivery(api, made["id"], receiver, LANGUAGES[name].handled)
                await refuses(Sender(client, url, secret), receiver)


async def takes_a_delivery(
    api: angarium.AsyncClient, destination: str, receiver: Program, handled: str
) -> None:
    """Send an event through the server; its replay, which has the same id, is dropped."""
    await api.routing_rules.create("All", destination, ["*"])
    accepted = await api.events.send("order.created", {"order": 42})
    await receiver.wait_for(handled)

    async def delivered() -> bool:
        page = [delivery async for delivery in api.events.deliveries(accepted["id"])]
        return [delivery["status"] for delivery in page] == ["DELIVERED"]

    await eventually(delivered)
    await api.replay_jobs.create(destination_id=destination, since="2020-01-01T00:00:00Z")
    printed = await receiver.wait_for("seen before")
    assert printed.count("handled") == 1


async def refuses(send: Sender, receiver: Program) -> None:
    """Send what is not genuine, what is too large, and what comes twice."""
    assert await send(BODY, "msg_bad", added=b" ") == 401
    assert await send(BODY, "msg_bad", age_s=400) == 401
    assert await send(BODY, "msg_bad", webhook_id="msg_other") == 401
    assert await send(BODY, "msg_bad", webhook_signature="") == 401
    assert await send(LARGE, "msg_bad") == 413
    assert [await send(BODY, "msg_twice") for _ in range(2)] == [204, 204]
    await receiver.wait_for("seen before msg_twice")
    printed = await receiver.wait_for("handled", 2)
    assert printed.count("handled") == 2
    assert "msg_bad" not in printed


@pytest.mark.parametrize(
    ("command", "how", "path"),
    [
        (("ruby", "-c"), "apt-get install ruby", "ruby/config.ru"),
        (("php", "-l"), "apt-get install php-cli", "php/index.php"),
    ],
)
def test_a_receiver_without_a_library_at_hand_has_no_error_of_syntax(
    command: tuple[str, str], how: str, path: str
) -> None:
    # Debian has neither library, and the tests ask no registry of these languages.
    program, option = command
    subprocess.run([tool(program, how), option, RECEIVERS / path], check=True, capture_output=True)


def test_the_lock_of_the_node_receiver_names_no_registry() -> None:
    lock = json.loads((RECEIVERS / "node/package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
