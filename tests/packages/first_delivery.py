"""The time from a wheel to the first verified delivery: `python -m tests.packages.first_delivery`.

The command creates an empty environment, installs the wheels with pip, and delivers an event. It prints
the wall time and the CPU time of each stage. On a busy computer only the CPU time is meaningful. With
`--bar SECONDS`, the command fails if the stages after the installation take longer.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO

from tests.packages.environments import built

HANGS_S = 300.0
LINE = "{:<24}{:>8}{:>8}"


class Stages:
    def __init__(self) -> None:
        self._rows: list[tuple[str, float, float, bool]] = []

    @contextmanager
    def stage(self, name: str, *, ours: bool) -> Iterator[None]:
        """Measure the block as a stage. The stage's CPU time is that of the programs that ended during
        the block."""
        wall, cpu = time.monotonic(), _cpu_of_children()
        yield
        self.add(name, time.monotonic() - wall, _cpu_of_children() - cpu, ours=ours)

    def add(self, name: str, wall_s: float, cpu_s: float, *, ours: bool) -> None:
        self._rows.append((name, wall_s, cpu_s, ours))
        print(LINE.format(name, f"{wall_s:.2f}", f"{cpu_s:.2f}" if cpu_s else ""), flush=True)

    @property
    def names(self) -> list[str]:
        return [row[0] for row in self._rows]

    def total(self, *, ours: bool) -> float:
        rows = [row for row in self._rows if row[3] or not ours]
        wall, cpu = sum(row[1] for row in rows), sum(row[2] for row in rows)
        print(LINE.format("ours" if ours else "all", f"{wall:.2f}", f"{cpu:.2f}"))
        return wall


def _cpu_of_children() -> float:
    found = os.times()
    return found.children_user + found.children_system


def _wait_for(output: IO[str], text: str) -> str:
    said = []
    for line in output:
        if text in line:
            return line
        said.append(line)
    raise AssertionError(f"the program ended and did not say {text!r}: {''.join(said)}")


def measure(wheels: list[Path], folder: Path) -> float:
    stages = Stages()
    print(LINE.format("stage", "wall s", "CPU s"))
    with stages.stage("empty environment", ours=False):
        venv.create(folder / "venv", with_pip=True)
    quiet = ("--quiet", "--disable-pip-version-check")
    with stages.stage("pip install", ours=False):
        pip = (str(folder / "venv/bin/python"), "-m", "pip", "install", *quiet)
        subprocess.run([*pip, *map(str, wheels)], check=True)
    deliver([folder / "venv/bin/angarium"], folder, stages)
    stages.total(ours=False)
    return stages.total(ours=True)


def deliver(
    program: Sequence[str | Path],
    folder: Path,
    stages: Stages,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Start an installed program's server and receiver in a folder, and send an event.

    Raises AssertionError or CalledProcessError if the event does not arrive with a valid signature.
    """
    env = {
        **variables,
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONUNBUFFERED": "1",
        "ANGARIUM_EGRESS_ALLOW": "127.0.0.0/8",
    }

    def told(*arguments: str) -> str:
        done = subprocess.run(
            [*program, *arguments], env=env, cwd=folder, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def started(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*program, *arguments], env=env, cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    began = time.monotonic()
    receiver = started("listen", "0", "--secret-file", "hook.secret")
    server = started("serve", "--bind", "127.0.0.1:0")
    try:
        assert server.stdout
        assert receiver.stdout
        url = _wait_for(server.stdout, "listens on ").split("listens on ")[1].split()[0]
        hook = _wait_for(receiver.stdout, "Listening on ").split("Listening on ")[1].split()[0]
        stages.add("server ready", time.monotonic() - began, 0, ours=True)
        with stages.stage("key", ours=True):
            scope = ("--environment", "DEVELOPMENT", "--scope", "manage")
            key = told("keys", "create", *scope, "--output", "text")
        env |= {"ANGARIUM_URL": url, "ANGARIUM_KEY": key}
        with stages.stage("destination and rule", ours=True):
            secret = ("--secret-file", "hook.secret")
            made = json.loads(told("destinations", "create", "First", hook, *secret))
            told("rules", "create", "All", made["id"], "order.*")
        with stages.stage("event, delivered", ours=True):
            told("events", "send", "order.created", "--data", '{"order": 42}')
            _wait_for(receiver.stdout, "signature verified")
    finally:
        before = _cpu_of_children()
        for process in (server, receiver):
            process.terminate()
            process.wait(HANGS_S)
            if process.stdout:
                process.stdout.close()
        used = _cpu_of_children() - before
    stages.add("server and receiver", 0, used, ours=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--wheels", type=Path, help="the folder of the wheels; by default they are built"
    )
    parser.add_argument(
        "--bar", type=float, help="the most seconds that Angarium's stages can take"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="angarium-first-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # if root starts the embedded PostgreSQL, it runs as another account
        wheels = sorted(given.wheels.glob("*.whl")) if given.wheels else built(folder)
        ours = measure(wheels, folder)
    return int(given.bar is not None and ours > given.bar)


if __name__ == "__main__":
    sys.exit(main())
