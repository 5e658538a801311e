"""The machine and the source of a run, as the system and git report them."""

import os
import platform
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

from bench.programs import ROOT
from bench.results import Machine, Source
from storage.embedded.server import program


@cache
def machine() -> Machine:
    """Return the machine of this process."""
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        kernel=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
        postgres=_said(str(program("postgres")), "--version").rpartition(" ")[2],
    )


def source() -> Source:
    """Return the identity of this source tree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    commit = _git("rev-parse", "HEAD")
    return Source(
        version=project["version"],
        commit=commit,
        changed=not commit or bool(_git("status", "--porcelain")),
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model"):
            return value.strip()
    return platform.machine()


def _git(*arguments: str) -> str:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return ""
    return _said("git", "-C", str(ROOT), *arguments)


def _said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
