"""The server's wheel, installed with each documented command: `pip install`, `uvx --from` and `pipx`.

Each command starts with an empty home folder, and finds packages only in a folder of wheels. The wheels
are those that `requirements/runtime.lock` lists, and pip has checked their hashes.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

import pytest

from tests.packages.environments import ROOT, built, size_bytes
from tests.packages.first_delivery import Stages, deliver

BIN = Path(sys.executable).parent
LOCK = ROOT / "requirements/runtime.lock"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


@dataclass(frozen=True, slots=True)
class Offer:
    """What an installer can install: `dist` has our packages from `make dist`, and `needed` has the
    wheels of everything that our packages require."""

    dist: Path
    needed: Path

    @property
    def server(self) -> Path:
        return next(self.dist.glob("angarium-*.whl"))

    def variables(self, home: Path) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.needed),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_COMPILE": "0",  # most modules of the requirements are never imported
            "PIPX_DEFAULT_BACKEND": "pip",
            "PIPX_DEFAULT_PYTHON": sys.executable,
            "PIPX_SHARED_LIBS": str(self.dist / "pipx"),  # pipx's own pip, the same for all homes
            "UV_OFFLINE": "1",
            "UV_FIND_LINKS": str(self.needed),
            "UV_PYTHON": sys.executable,
        }


def told(command: Sequence[str | Path], env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def offer(tmp_path_factory: pytest.TempPathFactory) -> Offer:
    dist, needed = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("needed")
    built(dist)
    wanted = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", LOCK)
    subprocess.run([*PIP, "download", "--quiet", *wanted, "-d", needed], check=True)
    return Offer(dist, needed)


@pytest.fixture(scope="module")
def site(offer: Offer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("pip")
    env = offer.variables(home)
    told([sys.executable, "-m", "venv", "--without-pip", "venv"], env, home)
    pip = (*PIP, "--python", home / "venv/bin/python", "install", "--quiet", "--compile")
    told([*pip, *sorted(offer.dist.glob("*.whl"))], env, home)
    return next(home.glob("venv/lib/python*/site-packages"))


def test_pip_installs_both_wheels_and_nothing_else_of_ours(site: Path, tmp_path: Path) -> None:
    came = {each.metadata["Name"]: each for each in distributions(path=[str(site)])}
    tops = {
        name: {file.parts[0] for file in came[name].files or ()} - {"..", "__pycache__"}
        for name in ("angarium", "angarium-client")
    }
    assert tops["angarium"] == {"angarium_server", "angarium-0.1.0.dist-info"}
    assert tops["angarium-client"] == {"angarium", "angarium_client-0.1.0.dist-info"}
    ours = {each.name for each in ROOT.iterdir() if each.is_dir()}
    assert not ours & {each.name for each in site.iterdir()}
    program = site.parents[2] / "bin/angarium"
    assert told([program, "version"], {}, tmp_path).startswith("angarium 0.1.0\n")


def test_the_page_tells_the_size(site: Path) -> None:
    page = (ROOT / "docs/installing.md").read_text("utf-8")
    said = re.search(r"about (\d+) MB in (\d+) packages. Angarium's own package has (\d+) MB", page)
    assert said is not None
    came = {each.metadata["Name"]: size_bytes(each) for each in distributions(path=[str(site)])}
    del came["angarium-client"]
    assert sum(came.values()) / 1e6 == pytest.approx(int(said[1]), rel=0.1)
    # One version of Python needs an additional package.
    assert len(came) == pytest.approx(int(said[2]), abs=2)
    assert came["angarium"] / 1e6 == pytest.approx(int(said[3]), rel=0.2)


@pytest.fixture
def place(data_dir: Path) -> Path:
    """A folder that other accounts can enter. If root runs the tests, PostgreSQL runs as another account,
    and must be able to enter the folder."""
    return data_dir.parent


def test_the_steps_of_the_image_make_a_server_that_delivers(offer: Offer, place: Path) -> None:
    dockerfile = (ROOT / "deploy/Dockerfile").read_text()
    env = offer.variables(place)
    told([sys.executable, "-m", "venv", "--without-pip", "image"], env, place)
    pip = (*PIP, "--python", place / "image/bin/python", "--quiet")
    told([*pip, "install", "--require-hashes", "-r", LOCK], env, place)
    told([*pip, "install", "--no-deps", offer.server], env, place)
    found = re.search(r"pip uninstall -y (hatchling .*) pip ", dockerfile)
    assert found is not None
    told([*pip, "uninstall", "-y", *found[1].split()], env, place)
    (packages,) = place.glob("image/lib/python*/site-packages")
    left_out = re.findall(r"site-packages/(\S+)", dockerfile)
    assert len(left_out) == 2
    for name in left_out:
        shutil.rmtree(packages / name)
    deliver([place / "image/bin/angarium"], place, Stages())


def test_uvx_runs_the_server_without_installing_it(offer: Offer, place: Path) -> None:
    env = offer.variables(place)
    deliver([BIN / "uvx", "--from", offer.server, "angarium"], place, Stages(), env)
    assert not (place / ".local/bin").exists()


def test_pipx_installs_the_command(offer: Offer, place: Path) -> None:
    env = offer.variables(place)
    told([BIN / "pipx", "install", "--skip-maintenance", offer.server], env, place)
    made = place / ".local/bin"
    assert [each.name for each in made.iterdir()] == ["angarium"]
    deliver([made / "angarium"], place, Stages())


def test_pipx_runs_the_command_without_installing_it(offer: Offer, place: Path) -> None:
    env = offer.variables(place)
    command = (BIN / "pipx", "run", "--skip-maintenance", "--spec", offer.server, "angarium")
    assert told([*command, "version"], env, place).startswith("angarium 0.1.0\n")
    assert not list(place.glob(".local/bin/*"))
