"""Commands that run until Ctrl-C, as separate processes against a whole server."""

import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.cli.programs import COMMAND, Program, environment, running
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.terminal import Terminal, open_terminal

QUICK = ("--interval", "0.1")
SOON = ("--interval", "0.5")  # the shortest interval for a list


@pytest.fixture
async def shell(house: ServiceHouse, tenant: Tenant) -> Terminal:
    return await open_terminal(house, tenant)


def variables(shell: Terminal, folder: Path) -> dict[str, str]:
    return environment("", folder, ANGARIUM_URL=shell.url, ANGARIUM_KEY=shell.secret)


@asynccontextmanager
async def following(shell: Terminal, folder: Path, *words: str) -> AsyncIterator[Program]:
    async with running(*words, env=variables(shell, folder)) as program:
        yield program


async def interrupted(program: Program) -> int:
    program.process.send_signal(signal.SIGINT)
    with trio.fail_after(HANGS_S):
        return await program.process.wait()


async def printed(program: Program, condition: Callable[[list[Any]], bool]) -> list[Any]:
    with trio.fail_after(HANGS_S):
        while True:
            lines = [
                json.loads(line) for line in program.printed.splitlines(True) if line[-1] == "\n"
            ]
            if condition(lines):
                return lines
            await trio.sleep(0.01)


async def test_a_tail_shows_the_last_then_each_new_one_and_each_change_until_ctrl_c(
    shell: Terminal, api: Caller, receiver: Receiver, house: ServiceHouse, tmp_path: Path
) -> None:
    steady = await destination(api, receiver.url("/steady"), ["steady.*"])
    await destination(
        api, receiver.url("/failing"), ["failing.*"], delivery={"retrySchedule": [600]}
    )
    receiver.answer = lambda request: 204 if request.path == "/steady" else 500
    old = [await post(api, "steady.old") for _ in range(3)]
    for event in old:
        await house.until(
            api, f"/events/{event}/deliveries", lambda p: p["items"][0]["status"] == "DELIVERED"
        )
    async with following(shell, tmp_path, "deliveries", "tail", "-n", "2", *QUICK) as program:
        shown = await printed(program, lambda lines: len(lines) == 2)
        assert [line["eventId"] for line in shown] == old[1:]
        failing = await post(api, "failing.one")
        new = await post(api, "steady.new")
        shown = await printed(
            program,
            lambda lines: (
                (failing, "RETRYING") in {(each["eventId"], each["status"]) for each in lines}
            ),
        )
        waits = next(each["id"] for each in shown if each["eventId"] == failing)
        assert (await api("POST", f"/deliveries/{waits}/retry", {})).status == 202

        def ended(lines: list[Any]) -> bool:
            ends = {(line["eventId"], line["status"]) for line in lines}
            return {(failing, "FAILED"), (new, "DELIVERED")} <= ends

        shown = (await printed(program, ended))[2:]
        states = [
            (each["status"], each["attemptCount"]) for each in shown if each["eventId"] == failing
        ]
        assert states[-1] == ("FAILED", 2)
        assert ("RETRYING", 1) in states
        assert len(set(states)) == len(states), "a state is shown once"
        assert await interrupted(program) == 130
        assert "Traceback" not in program.printed
    only = ("deliveries", "tail", "--destination", steady, "-n", "100", *QUICK)
    async with following(shell, tmp_path, *only) as program:
        shown = await printed(program, lambda lines: len(lines) == 4)
        assert [line["eventId"] for line in shown] == [*old, new]


async def test_a_watch_prints_rates_until_ctrl_c(shell: Terminal, tmp_path: Path) -> None:
    async with following(shell, tmp_path, "throughput", "--watch", *QUICK) as program:
        lines = await printed(program, lambda lines: len(lines) >= 2)
        assert lines[0]["environment"] == "DEVELOPMENT"
        assert await interrupted(program) == 130
        assert "Traceback" not in program.printed


async def test_a_watched_list_of_destinations_is_printed_again_until_ctrl_c(
    shell: Terminal, api: Caller, receiver: Receiver, tmp_path: Path
) -> None:
    made = await destination(api, receiver.url(), ["a.*"])
    async with following(shell, tmp_path, "destinations", "list", "--watch", *SOON) as program:
        await printed(program, lambda lines: len(lines) >= 2)
        await api("POST", f"/destinations/{made}/disable")
        lines = await printed(program, lambda lines: lines[-1]["state"] == "DISABLED")
        assert {line["id"] for line in lines} == {made}
        assert await interrupted(program) == 130
        assert "Traceback" not in program.printed


async def test_a_reader_that_has_seen_enough_is_no_error(
    shell: Terminal, api: Caller, tmp_path: Path
) -> None:
    for _ in range(30):
        await post(api, "a.b", metadata={"long": "x" * 4_000})
    script = f"{' '.join(COMMAND)} events list --all | head -n 1 > first; echo ${{PIPESTATUS[0]}}"
    done = await trio.run_process(
        ["bash", "-c", script],
        env=variables(shell, tmp_path),
        cwd=tmp_path,
        capture_stdout=True,
        capture_stderr=True,
    )
    assert (done.stdout, done.stderr) == (b"0\n", b"")
    assert json.loads((tmp_path / "first").read_text())["eventType"] == "a.b"


async def test_a_command_that_writes_to_a_closed_pipe_ends_silently(
    shell: Terminal, tmp_path: Path
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = await trio.run_process(
            [*COMMAND, "auth", "context"],
            env=variables(shell, tmp_path),
            stdout=writing,
            capture_stderr=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
