"""A running server's secrecy: other accounts cannot read its memory, environment or files."""

import os
import stat
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest

from bench.processes import tree
from bench.programs import ROOT
from engine.transforms.worker import CORE_BYTES
from storage.backup.making import LAST, Backup
from tests.process.conftest import open_house
from tests.process.house import House

OLDER = b64encode(b"marked-older-master-key-of-tests").decode()
CLOUD = "marked-secret-of-a-cloud-account"
SOURCE = "function transform(event) { return event; }"


@pytest.fixture(scope="module")
def secretive(furnished: House) -> Iterator[House]:
    lines = (furnished.folder / "master.key").read_text().splitlines()
    own = next(line for line in lines if line and not line.startswith("#"))
    given = {
        "ANGARIUM_MASTER_KEY": f"{own},{OLDER}",
        "AWS_SECRET_ACCESS_KEY": CLOUD,
        "ANGARIUM_LOG_LEVEL": "debug",
    }
    with open_house(furnished, **given) as house:
        house.secrets += [own, OLDER, CLOUD]
        destination = house.made("http://127.0.0.1:1/")
        script = {"destinationId": destination, "name": "s", "source": SOURCE}
        made = house.api("POST", "/transform-scripts", script)
        run = {"event": {"type": "of.nobody", "data": {}}}
        assert house.api("POST", f"/transform-scripts/{made['id']}/run", run)["success"]
        yield house


def ended_meanwhile() -> AbstractContextManager[None]:
    """Ignore a process that ends during the check."""
    return suppress(FileNotFoundError, ProcessLookupError)


def processes(house: House) -> dict[str, list[int]]:
    """Return three lists of process ids: the server's process, its script workers, and the database's
    processes."""
    assert house.process is not None
    found: dict[str, list[int]] = {"server": [house.process.pid], "worker": [], "database": []}
    for pid in tree(house.process.pid):
        if pid != house.process.pid:
            with ended_meanwhile():
                worker = b"worker.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
                found["worker" if worker else "database"].append(pid)
    return found


def core_limits(pid: int) -> list[str]:
    """Return a process's core dump limits: soft and hard."""
    limits = Path(f"/proc/{pid}/limits").read_text()
    (line,) = (line for line in limits.splitlines() if line.startswith("Max core file size"))
    return line.split()[4:6]


def test_no_process_may_leave_a_core_dump(secretive: House) -> None:
    """With the limit `CORE_BYTES`, the kernel writes a core dump neither to a file nor to a pipe."""
    all_of_them = processes(secretive)
    assert all(all_of_them.values()), all_of_them
    for pid in (pid for pids in all_of_them.values() for pid in pids):
        with ended_meanwhile():
            assert core_limits(pid) == [str(CORE_BYTES)] * 2


def test_no_process_of_the_same_account_may_read_the_servers_memory(secretive: House) -> None:
    """If a process cannot be traced, its files in /proc belong to root.

    The test checks the owner and the mode of such a file. It also tries to read the file, unless the test
    runs as root, because root can read every file.
    """
    assert secretive.process is not None
    pid = secretive.process.pid
    environ = Path(f"/proc/{pid}/environ")
    assert environ.stat().st_uid == 0
    assert stat.S_IMODE(environ.stat().st_mode) == 0o400
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            environ.read_bytes()


def test_what_the_server_starts_knows_nothing_of_its_environment(secretive: House) -> None:
    found = processes(secretive)
    for pid in found["database"] + found["worker"]:
        with ended_meanwhile():
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            for secret in (OLDER, CLOUD):
                assert secret.encode() not in environment
            assert b"ANGARIUM_" not in environment
            assert b"AWS_" not in environment


def test_nothing_in_the_data_folder_is_others_to_read(secretive: House) -> None:
    """The test checks only the entries directly in the data folder. If one of them is a folder that is
    closed to other accounts, the contents of the folder are protected, whatever their modes.

    The test makes a backup first, because a backup leaves files in the data folder too.
    """
    Backup(secretive.folder, secretive.folder.parent / "backup").make(secretive.database_url())
    assert not secretive.folder.stat().st_mode & 0o066, "it may be passed through at the most"
    closed = set()
    for path in secretive.folder.iterdir():
        status = path.lstat()
        # The log belongs to the test.
        if path == secretive.log_file or stat.S_ISSOCK(status.st_mode):
            continue
        assert not stat.S_IMODE(status.st_mode) & 0o077, (path.name, oct(status.st_mode))
        closed.add(path.name)
    assert {"master.key", "postgres", "postgres.log", "files", "lock", LAST} <= closed


def test_a_command_leaves_no_core_dump(tmp_path: Path) -> None:
    """Commands hold keys."""
    held = tmp_path / "key"
    os.mkfifo(held, 0o600)
    command = [sys.executable, "-m", "api.cli", "destinations", "list", "--key-file", str(held)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        with held.open("w"):  # blocks until the command reads its key
            assert core_limits(process.pid) == [str(CORE_BYTES)] * 2
            assert (Path("/proc") / str(process.pid) / "environ").stat().st_uid == 0
    finally:
        process.kill()
        process.wait()
