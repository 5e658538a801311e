"""Forks of the fork server behave as the same programs that Python starts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import programs
from bench.programs import ROOT, Module
from tests.forked import Popen
from tests.patience import HANGS_S

CLI = [sys.executable, "-m", "api.cli"]


@pytest.fixture
def receiver() -> Iterator[subprocess.Popen[str]]:
    process = Module.start("bench.receiver", "--host", "127.0.0.1", "--port", "0")
    assert process.stdout is not None
    assert process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("words", [["version"], ["nothing"], ["keys", "rotate", "no-id"]])
def test_a_fork_prints_and_exits_as_the_program_does(words: list[str], tmp_path: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "ANGARIUM_DATA_DIR": str(tmp_path)}
    theirs = subprocess.run(
        [*CLI, *words], env=variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    ours = programs.run([*CLI, *words], variables=variables)
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        theirs.returncode,
        theirs.stdout,
        theirs.stderr,
    )


def test_a_fork_is_waited_for_and_killed_as_a_child(receiver: subprocess.Popen[str]) -> None:
    assert isinstance(receiver, Popen)
    assert receiver.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        receiver.wait(0.01)
    receiver.kill()
    assert receiver.wait(HANGS_S) == -signal.SIGKILL
    assert receiver.poll() == -signal.SIGKILL


def test_a_fork_has_a_session_of_its_own_if_it_is_wanted(receiver: subprocess.Popen[str]) -> None:
    assert os.getpgid(receiver.pid) == os.getpgrp()  # Ctrl-C ends both
    command = [sys.executable, "-m", "bench.receiver", "--host", "127.0.0.1", "--port", "0"]
    with Popen(command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True) as own:
        assert own.stdout is not None
        own.stdout.readline()
        assert os.getsid(own.pid) == own.pid
        own.send_signal(signal.SIGTERM)
        assert own.wait(HANGS_S) == -signal.SIGTERM


def test_another_folder_or_program_is_started_by_python(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print(1)"]
    with Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.communicate() == ("1\n", None)
    assert process.returncode == 0
