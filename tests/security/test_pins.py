"""Pins by hash: every lock file, every command that installs, and pip itself."""

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
INSTALLING = ("Makefile", ".ci/run", "deploy/Dockerfile")
# Our own projects, and installations without other packages.
OWN = re.compile(r"--no-deps|--no-index")


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_has_one_version_and_hashes(lock: Path) -> None:
    text = re.sub(r"(?m)^\s*#.*\n", "", lock.read_text())
    requirements = [each for each in text.replace("\\\n", " ").splitlines() if each.strip()]
    assert requirements
    for each in requirements:
        pattern = r"[\w.\-\[\]]+==[\w.+!]+( ; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*"
        assert re.fullmatch(pattern, each), each[:80]


@pytest.mark.parametrize("name", INSTALLING)
def test_every_command_that_installs_asks_for_hashes(name: str) -> None:
    text = (ROOT / name).read_text().replace("\\\n", " ")
    commands = re.findall(r"(?:\bpip|\$\(PIP\))\s+install\b[^\n&;]*", text)
    for each in commands:
        assert "--require-hashes" in each or OWN.search(each), each


def wheel(folder: Path, said: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "pinned-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("pinned.py", f"SAID = {said!r}\n")
        file.writestr(
            "pinned-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: pinned\nVersion: 1.0\n"
        )
        file.writestr(
            "pinned-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr("pinned-1.0.dist-info/RECORD", "")
    return path


def test_a_wheel_that_was_tampered_with_is_not_installed(tmp_path: Path) -> None:
    digest = hashlib.sha256(wheel(tmp_path / "links", "ours").read_bytes()).hexdigest()
    lock = tmp_path / "a.lock"
    lock.write_text(f"pinned==1.0 \\\n    --hash=sha256:{digest}\n")

    def install(into: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-cache-dir"]
        command += ["--require-hashes", "--find-links", str(tmp_path / "links"), "--no-compile"]
        command += ["--target", str(tmp_path / into), "-r", str(lock)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert install("good").returncode == 0
    assert "ours" in (tmp_path / "good" / "pinned.py").read_text()
    wheel(tmp_path / "links", "theirs")
    told = install("bad")
    assert told.returncode != 0
    assert "DO NOT MATCH THE HASHES" in told.stderr
    assert not (tmp_path / "bad").exists()
