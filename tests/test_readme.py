"""The commands in the README, the start page and the tutorial, which must run as written (on free
ports)."""

import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
import trio
from click.testing import CliRunner

import angarium
from api.cli import main
from bench.programs import free_port
from engine.settings import PREFIX, Settings
from tests.cli.programs import COMMAND, ROOT, environment, running, server

README = (ROOT / "README.md").read_text("utf-8")
START = (ROOT / "docs/start.md").read_text("utf-8")
TUTORIAL = (ROOT / "docs/tutorial.md").read_text("utf-8")
RECEIVING = (ROOT / "docs/receiving.md").read_text("utf-8")
OPERATING = (ROOT / "docs/operating.md").read_text("utf-8")
ACTIVATION = ". .venv/bin/activate\n"  # the test puts its own program on the path
SECRET = "whsec_" + "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def open_to_others(folder: Path) -> list[Path]:
    """Check the permissions of a folder and of the files in it. Return the paths that accounts other than
    the owner's can use in any way."""
    return [path for path in (folder, *folder.iterdir()) if path.stat().st_mode & 0o077]


class Reader:
    def __init__(self, database_url: str, folder: Path) -> None:
        self._door, self._hooks = free_port(), free_port()
        self.env = environment(database_url, folder, ANGARIUM_BIND=f"127.0.0.1:{self._door}")
        bin_folder = folder / ".venv/bin"
        bin_folder.mkdir(parents=True)
        program = bin_folder / "angarium"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
        program.chmod(0o755)
        self.env["ANGARIUM_URL"] = f"http://127.0.0.1:{self._door}"  # by default it is port 8080
        self.env["PATH"] = f"{bin_folder}:{self.env['PATH']}"

    def here(self, text: str) -> str:
        text = text.replace(ACTIVATION, "").replace("127.0.0.1:8080", f"127.0.0.1:{self._door}")
        return text.replace("9000", str(self._hooks))


async def test_the_readme_delivers_a_first_event(database_url: str, tmp_path: Path) -> None:
    reader = Reader(database_url, tmp_path)
    (script,) = blocks(README, "sh")
    (background,) = blocks(README, "sh background")
    served, listener = reader.here(background).splitlines()
    assert served == "make run"
    program, *words = listener.split()
    assert program == ".venv/bin/angarium"
    async with (
        server(reader.env),
        running(*words, env=reader.env, cwd=tmp_path) as receiver,
    ):
        await receiver.wait_for("Listening on")
        await trio.run_process(
            ["bash", "-euo", "pipefail", "-c", reader.here(script)], env=reader.env, cwd=tmp_path
        )
        assert "signature verified" in await receiver.wait_for('"order": 42')
    assert not (tmp_path / "hook.secret").stat().st_mode & 0o077


async def test_the_start_and_the_tutorial_do_what_they_say(
    database_url: str, tmp_path: Path
) -> None:
    reader = Reader(database_url, tmp_path)
    env, here = reader.env, reader.here
    (background,) = blocks(START, 'sh title="Second terminal"')
    *preparation, listener = here(background).splitlines()
    script = here("\n".join(blocks(START, "sh") + blocks(TUTORIAL, "sh")))
    words = listener.split()
    assert words[0] == "angarium"
    await trio.run_process(["bash", "-euc", "\n".join(preparation)], env=env, cwd=tmp_path)
    folder = tmp_path / "angarium-tutorial"
    async with (
        server(env),
        running(*words[1:], env=env, cwd=folder) as receiver,
    ):
        await receiver.wait_for("Listening on")
        done = await trio.run_process(
            ["bash", "-euo", "pipefail", "-c", script + '\necho\necho "EVENT=$EVENT"'],
            env=env,
            cwd=tmp_path,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        out = done.stdout.decode()
        assert done.returncode == 0, out + done.stderr.decode()
        event = out.rpartition("EVENT=")[2].strip()
        await receiver.wait_for(event)
        assert "signature verified" in await receiver.wait_for('"order": 42')
        # The receiver reports four requests whose event it has already seen. One comes from the retry of
        # the invoice's dead delivery. The other three come from the replay.
        await receiver.wait_for("(seen before)", 4)
        await receiver.wait_for('"text": "Order 43: 5.00"', 2)
        printed = await receiver.wait_for('"text": "Order 42: 19.90"')
        assert printed.count('"text": "Order 42: 19.90"') == 1
        assert printed.count('"text": "Order 43: 5.00"') == 2
        assert "undefined" not in printed
    assert {"hook.secret", "billing.secret"} <= names(folder)
    assert not open_to_others(folder)
    assert names(tmp_path) <= {".venv", "data", folder.name}, "the tutorial keeps to its folder"
    assert "Order 42: 19.90" in out
    said_by_commands = ("refused, as it should be", '"retried":1', '"status":"COMPLETED"')
    for said in ('"secret":', '"deliveries":1', '"attempts":', '"circuit":', *said_by_commands):
        assert said in out.replace('": ', '":'), f"{said} was not in what the tutorial printed"


def ten_lines() -> str:
    return blocks(RECEIVING, "python")[0]


def test_the_ten_lines_verify_what_we_sign_and_nothing_else() -> None:
    namespace: dict[str, Any] = {}
    exec(ten_lines(), namespace)
    genuine = namespace["genuine"]
    body, now = b'{"type":"order.created"}', int(time.time())
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(now),
        "webhook-signature": "v1,AAAA " + angarium.sign(body, SECRET, "msg_1", now),
    }
    assert genuine(body, headers, SECRET)
    assert not genuine(body + b" ", headers, SECRET)
    assert not genuine(body, headers | {"webhook-id": "msg_2"}, SECRET)
    old = {"webhook-timestamp": str(now - 400)}
    old["webhook-signature"] = angarium.sign(body, SECRET, "msg_1", now - 400)
    assert not genuine(body, headers | old, SECRET)


def test_the_ten_lines_are_ten() -> None:
    code = [line for line in ten_lines().splitlines() if line and not line.startswith("import")]
    assert len(code) <= 10
    imports = re.findall(r"^import (.*)$", ten_lines(), re.M)
    assert imports == ["base64, hashlib, hmac, time"]


def test_every_setting_that_the_pages_name_exists() -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in re.findall(
        r"`(ANGARIUM_[A-Z_]+)`", README + START + TUTORIAL + RECEIVING + OPERATING
    ):
        assert name in known, name


@pytest.mark.parametrize(
    ("variable", "default"),
    re.findall(r"^\| `(ANGARIUM_[A-Z_]+)` \| `?([^|`]+?)`? \|", OPERATING, re.M),
)
def test_the_defaults_of_the_table_are_those_of_the_program(variable: str, default: str) -> None:
    present = Settings.model_fields[variable.removeprefix(PREFIX).lower()].default
    if default in {"none", "made in the data folder"}:
        assert present in (None, ())
    else:
        assert f"{present:g}" == default if isinstance(present, float) else str(present) == default


def test_every_command_that_the_pages_name_exists() -> None:
    pages = README + START + TUTORIAL + RECEIVING + OPERATING
    for name in sorted(set(re.findall(r"`angarium ([\w-]+)", pages))):
        assert CliRunner().invoke(main, [name, "--help"]).exit_code == 0, name
