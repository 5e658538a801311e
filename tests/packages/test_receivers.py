"""The documented receivers in other languages.

The receivers in Go, JavaScript (Node.js) and Java use the official Standard Webhooks library of their
language. The receivers in Ruby and PHP use a stand-in for that library, because the tests use no package
registry of these two languages.
"""

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
from tests.packages.tools import ROOT, missing, tool
from tests.patience import HANGS_S
from tests.postgres import eventually

RECEIVERS = ROOT / "docs/examples/receivers"
STAND_INS = ROOT / "tests/packages/stand_ins"
BODY = '{"type": "order.created", "data": {"name": "Zoë"}}'.encode()
LARGE = b'{"type": "order.created", "data": "' + b"x" * (1 << 20) + b'"}'


@dataclass(frozen=True, slots=True)
class Language:
    """The receiver in one language. It prints the text `listens` when it is ready for requests, and the
    text `handled` for each new event."""

    prepare: Callable[[], list[str]]
    start: Callable[[int], list[str]]  # takes the port, which is in the environment too
    handled: str
    listens: str = "Listening on"


GO = "apt-get install golang-go, or make tools"
NODE = "apt-get install nodejs npm"
JAVA = "apt-get install default-jdk-headless maven"
RUBY = "apt-get install ruby puma ruby-rack"
PHP = "apt-get install php-cli php-sqlite3"


def check_of_php() -> list[str]:
    php = tool("php", PHP)
    known = subprocess.run([php, "-m"], capture_output=True, text=True, check=True).stdout
    if "pdo_sqlite" not in known.split():
        missing("php-sqlite3", PHP)
    return [php, "-l", "index.php"]


LANGUAGES = {
    "go": Language(
        lambda: [tool("go", GO), "build", "-mod=readonly", "-o", "receiver", "."],
        lambda _: ["./receiver"],
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
        lambda _: [tool("node", NODE), "receiver.mjs"],
        "handled order.created",
    ),
    "java": Language(
        lambda: [tool("mvn", JAVA), "-q", "-B", "dependency:copy-dependencies"],
        lambda _: [tool("java", JAVA), "-cp", "target/dependency/*", "Receiver.java"],
        'handled {"type":"order.created"',
    ),
    "ruby": Language(
        lambda: [tool("ruby", RUBY), "-c", "config.ru"],
        lambda port: [tool("puma", RUBY), "--bind", f"tcp://127.0.0.1:{port}"],
        "handled order.created",
    ),
    "php": Language(
        check_of_php,
        # Like an image without a php.ini.
        lambda port: [
            tool("php", PHP),
            *("-d", "display_errors=1"),
            *("-S", f"127.0.0.1:{port}", "index.php"),
        ],
        "kept ",
        listens="started",
    ),
}


async def prepared(name: str, folder: Path) -> None:
    command = LANGUAGES[name].prepare()
    shutil.copytree(RECEIVERS / name, folder)
    if name == "ruby":
        gem, version = folder / "gems", "standardwebhooks-1.0.0"
        (gem / "specifications").mkdir(parents=True)
        shutil.copy(STAND_INS / f"ruby/{version}.gemspec", gem / "specifications")
        (gem / "gems" / version / "lib").mkdir(parents=True)
        shutil.copy(STAND_INS / "ruby/standardwebhooks.rb", gem / "gems" / version / "lib")
    elif name == "php":
        shutil.copytree(STAND_INS / "php", folder / "vendor")
    done = await trio.run_process(
        command, cwd=folder, capture_stdout=True, capture_stderr=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


class Sender:
    def __init__(self, client: httpx.AsyncClient, url: str, secret: str) -> None:
        self._client, self._url, self._secret = client, url, secret

    async def __call__(
        self, body: bytes, message: str, *, added: bytes = b"", age_s: int = 0, **headers: str
    ) -> int:
        """Sign and send a body, with `added` after the signed bytes."""
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
    language = LANGUAGES[name]
    await prepared(name, tmp_path / name)
    env = environment(database_url, tmp_path)
    port = free_port()
    url = f"http://127.0.0.1:{port}/hooks"
    async with server(env) as (_, address):
        key = await manage_key(env, address)
        async with (
            httpx.AsyncClient(trust_env=False, timeout=HANGS_S) as client,
            angarium.AsyncClient(address, key, trust_env=False) as api,
        ):
            made = await api.destinations.create("Receiver", url)
            secret = str(made["secret"])
            own = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
            own |= {"WEBHOOK_SECRET": secret, "PORT": str(port)}
            own |= {"GEM_HOME": str(tmp_path / name / "gems")}
            start = language.start(port)
            async with running(env=own, command=start, cwd=tmp_path / name) as receiver:
                await receiver.wait_for(language.listens)
                await takes_a_delivery(api, made["id"], receiver, language.handled)
                await refuses(Sender(client, url, secret), receiver, language.handled.split()[0])


async def takes_a_delivery(
    api: angarium.AsyncClient, destination: str, receiver: Program, handled: str
) -> None:
    """The receiver drops the replay, which has the same id."""
    await api.routing_rules.create("All", destination, ["*"])
    accepted = await api.events.send("order.created", {"order": 42})
    await receiver.wait_for(handled)

    async def delivered() -> bool:
        page = [delivery async for delivery in api.events.deliveries(accepted["id"])]
        return [delivery["status"] for delivery in page] == ["DELIVERED"]

    await eventually(delivered)
    await api.replay_jobs.create(destination_id=destination, since="2020-01-01T00:00:00Z")
    printed = await receiver.wait_for("seen before")
    assert printed.count(handled.split()[0]) == 1


async def refuses(send: Sender, receiver: Program, handled: str) -> None:
    """`handled` is the receiver's message about a new event."""
    assert await send(BODY, "msg_bad", added=b" ") == 401
    assert await send(BODY, "msg_bad", age_s=400) == 401
    assert await send(BODY, "msg_bad", webhook_id="msg_other") == 401
    assert await send(BODY, "msg_bad", webhook_signature="") == 401
    assert await send(LARGE, "msg_bad") == 413
    assert [await send(BODY, "msg_twice") for _ in range(2)] == [204, 204]
    await receiver.wait_for("seen before msg_twice")
    printed = await receiver.wait_for(handled, 2)
    assert printed.count(handled) == 2
    assert "msg_bad" not in printed


def test_the_lock_of_the_node_receiver_names_no_registry() -> None:
    lock = json.loads((RECEIVERS / "node/package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
