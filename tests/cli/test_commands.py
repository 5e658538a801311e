"""The commands as a newcomer uses them, on real processes."""

import json
import os
import pty
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import trio

from tests.cli.programs import (
    COMMAND,
    angarium,
    becomes,
    environment,
    running,
    server,
    whoami,
)
from tests.patience import HANGS_S

EXAMPLE_KEY = ("keys", "create", "--environment", "DEVELOPMENT", "--scope", "manage")


async def as_json(*arguments: str, env: dict[str, str]) -> Any:
    done = await angarium(*arguments, "--output", "json", env=env)
    assert done.code == 0, done.err
    return json.loads(done.out)


async def test_keys_work_beside_a_running_server(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url, tmp_path)
    async with server(env) as (_, url):
        made = await angarium(*EXAMPLE_KEY, "--workspace", "acme", "--output", "json", env=env)
        assert made.code == 0, made.err
        key = json.loads(made.out)
        assert set(key) == {"id", "secret", "environment", "scope"}
        assert (key["environment"], key["scope"]) == ("DEVELOPMENT", "manage")
        assert key["secret"].startswith("ang_dev_")
        await becomes(url, key["secret"], 200)
        context = (await whoami(url, key["secret"])).json()
        assert (context["workspaceName"], context["keyId"]) == ("acme", key["id"])

        rotated = await as_json("keys", "rotate", key["id"], env=env)
        assert rotated["id"] == key["id"]
        await becomes(url, rotated["secret"], 200)
        await becomes(url, key["secret"], 200)  # the old secret is valid for 24 hours

        assert (await angarium("keys", "revoke", key["id"], env=env)).code == 0
        await becomes(url, rotated["secret"], 401)
        await becomes(url, key["secret"], 401)


async def test_keys_and_workspaces_without_a_server(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url, tmp_path)
    made = await angarium("workspaces", "create", "acme", "--plan", "pro", env=env)
    assert made.code == 0, made.err
    twice = await angarium("workspaces", "create", "acme", env=env)
    assert (twice.code, twice.out) == (1, "")
    assert "already" in twice.err
    listed = await as_json("workspaces", "list", env=env)
    assert [(w["name"], w["plan"]) for w in listed] == [("acme", "pro")]

    moved = await as_json("workspaces", "set-plan", "acme", "scale", env=env)
    assert moved["plan"] == "scale"
    nowhere = await angarium("workspaces", "set-plan", "acme", "gold", env=env)
    assert (nowhere.code, "must be one of free, pro, scale" in nowhere.err) == (1, True)
    plans = tmp_path / "plans.toml"
    plans.write_text("[plans.gold]\ndestinations = 1")
    broken = await angarium("workspaces", "list", "--plans-file", str(plans), env=env)
    assert (broken.code, f"{plans}: plans.gold.control_per_minute" in broken.err) == (2, True)

    plain = await angarium(*EXAMPLE_KEY, "--output", "text", env=env)
    assert plain.out.strip().startswith("ang_dev_"), "standard output is the secret, alone"
    mcp = await angarium("keys", "create", "--mcp", "--scope", "read", "--output", "json", env=env)
    assert json.loads(mcp.out)["environment"] is None
    assert json.loads(mcp.out)["secret"].startswith("angmk_")

    keys = await angarium("keys", "list", "--output", "json", env=env)
    assert {key["workspace"] for key in json.loads(keys.out)} == {"acme"}
    assert plain.out.strip() not in keys.out, "a secret is never shown again"
    assert "ang_dev_.." in (await angarium("keys", "list", env=env)).out


async def test_a_new_key_is_shown_on_a_terminal(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url, tmp_path)
    ours, theirs = pty.openpty()
    try:
        done = await trio.run_process(
            [*COMMAND, *EXAMPLE_KEY], env=env, stdout=theirs, capture_stderr=True
        )
        with trio.fail_after(HANGS_S):  # the kernel delivers it with a delay
            await trio.lowlevel.wait_readable(ours)
        printed = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert printed.startswith("ang_dev_"), done.stderr
    assert b"it is not shown again" in done.stderr


async def test_what_goes_wrong_is_said_in_words_with_an_exit_code(tmp_path: Path) -> None:
    away = environment("postgresql://127.0.0.1:1/none", tmp_path)
    cases = [
        (("keys", "create", "--scope", "manage"), 2, "--environment is needed"),
        (("keys", "create", "--scope", "all", "--environment", "DEVELOPMENT"), 2, "scope"),
        (EXAMPLE_KEY, 2, "a log must not have keys. Give --output text"),
        (("keys", "rotate", str(UUID(int=1))), 2, "a log must not have keys"),
        ((*EXAMPLE_KEY, "--output", "text"), 3, "cannot be reached"),
        (("keys", "revoke", "no-id"), 2, "UUID"),
        (("listen", "70000"), 2, "PORT"),
        (("demo", "--url", "http://127.0.0.1:1"), 3, "make run"),
        (("nothing",), 2, "No such command"),
    ]
    for arguments, code, told in cases:
        done = await angarium(*arguments, env=away)
        assert (done.code, done.out) == (code, ""), (arguments, done)
        assert told in done.err
        assert "Traceback" not in done.err


async def test_the_demo_is_true_and_cleans_up(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url, tmp_path)
    async with server(env) as (_, url):
        done = await angarium("demo", "--url", url, "--events", "200", env=env)
        assert done.code == 0, done.out + done.err
        assert "Every check passed." in done.out
        assert "in order" in done.out
        assert "\x1b[" not in done.out, "no terminal, no colours"
        keys = await as_json("keys", "list", "--workspace", "demo", env=env)
        assert keys == [], "its key is revoked"
        made = await as_json(*EXAMPLE_KEY, "--workspace", "demo", env=env)
        await becomes(url, made["secret"], 200)
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=HANGS_S) as client:
            client.headers["authorization"] = f"Bearer {made['secret']}"
            assert (await client.get("/destinations")).json()["items"] == []
            assert (await client.get("/routing-rules")).json()["items"] == []
            archived = await client.get("/destinations", params={"status": "ARCHIVED"})
            assert len(archived.json()["items"]) == 2


async def test_the_demo_says_so_when_the_server_may_not_reach_this_machine(
    database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url, tmp_path, ANGARIUM_EGRESS_ALLOW="")
    async with server(env) as (_, url):
        done = await angarium("demo", "--url", url, env=env)
        assert done.code == 1
        assert "ANGARIUM_EGRESS_ALLOW" in done.err
        assert "Traceback" not in done.err


async def test_the_server_shows_no_keys_in_a_log_and_ends_at_sigterm_and_ctrl_c(
    database_url: str, tmp_path: Path
) -> None:
    env = environment(database_url, tmp_path)
    for number in (signal.SIGTERM, signal.SIGINT):
        async with server(env) as (program, _):
            assert "ang_dev_" not in program.printed
            program.process.send_signal(number)
            with trio.fail_after(HANGS_S):
                assert await program.process.wait() == 0


async def test_listen_ends_at_ctrl_c_with_130(database_url: str, tmp_path: Path) -> None:
    async with running("listen", "0", env=environment("", tmp_path)) as program:
        await program.wait_for("Listening on")
        program.process.send_signal(signal.SIGINT)
        with trio.fail_after(HANGS_S):
            assert await program.process.wait() == 130


async def test_the_version_is_told_by_flag_and_command(tmp_path: Path) -> None:
    flag = await angarium("--version", env=environment("", tmp_path))
    command = await angarium("version", env=environment("", tmp_path))
    assert (flag.code, flag.out) == (0, command.out)
    assert flag.out.startswith("angarium ")
