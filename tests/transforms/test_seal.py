"""The filter of system calls: what a sealed process cannot do, and the filter program of each processor
architecture."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import structlog.testing

from api.cli.doctor.finding import Level
from api.cli.doctor.machine import check_workers
from engine.transforms import link, seal, worker
from storage.embedded import account

ALLOW, DENY, KILL = 0x7FFF0000, 0x00050001, 0x80000000
TRYING = """
import ctypes, errno, mmap, os, socket, sys
from engine.transforms import seal
libc = ctypes.CDLL(None, use_errno=True)
pid = os.getppid()
def traced():
    if libc.ptrace(16, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), "")
def connected():
    socket.socket()
def sent():
    theirs.sendmsg([b"x"])
ours, theirs = socket.socketpair()
tries = {
    "open": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "write": lambda: os.open("/tmp/sealed", os.O_WRONLY | os.O_CREAT),
    "fork": os.fork,
    "execute": lambda: os.execv("/bin/true", ["true"]),
    "connect": connected,
    "send": sent,
    "trace": traced,
    "kill": lambda: os.kill(pid, 0),
    "map": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC),
    "list": lambda: os.listdir("/"),
    "rename": lambda: os.rename("/tmp/sealed", "/tmp/sealed2"),
    "priority": lambda: os.nice(1),
    "change": lambda: os.setuid(0),
}
assert seal.confine() == 3
mmap.mmap(-1, 1 << 20)[:] = bytes(1 << 20)
for name, attempt in tries.items():
    try:
        attempt()
    except OSError as error:
        os.write(1, f"{name} {errno.errorcode[error.errno]}\\n".encode())
    else:
        os.write(1, f"{name} done\\n".encode())
"""


def test_a_sealed_process_opens_starts_connects_and_traces_nothing() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", TRYING], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split() for line in done.stdout.splitlines())
    assert len(told) == 13
    assert set(told.values()) == {"EPERM"}, told


def judged(program: bytes, architecture: int, number: int, protection: int = 0) -> int:
    """Run a filter program on one call, as the kernel does."""
    record = struct.pack("<IIQ6Q", number, architecture, 0, 0, 0, protection, 0, 0, 0)
    lines = list(struct.iter_unpack("<HBBI", program))
    held = at = 0
    while True:
        code, true, false, value = lines[at]
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("<I", record, value)
        elif code == 0x15:
            at += true if held == value else false
        elif code == 0x45:
            at += true if held & value else false
        else:
            assert code == 0x06
            return int(value)


@pytest.mark.parametrize("machine", seal.ARCHITECTURES)
def test_a_program_allows_its_list_and_nothing_else(machine: str) -> None:
    architecture, plain, guarded = seal.ARCHITECTURES[machine]
    program = seal.program(machine)
    for number in range(1_024):
        verdict = judged(program, architecture, number)
        assert verdict == (ALLOW if number in {*plain.values(), *guarded.values()} else DENY)
    for number in guarded.values():
        assert judged(program, architecture, number, 3) == ALLOW
        assert judged(program, architecture, number, 4) == DENY
        assert judged(program, architecture, number, 7) == DENY
    assert judged(program, architecture, plain["read"] | 0x4000_0000) == DENY  # an x32 call
    assert judged(program, 0x40000003, plain["read"]) == KILL  # another architecture


def test_workers_and_database_never_share_an_account() -> None:
    fallback = account._found(account.FALLBACK)
    assert fallback is None or fallback.pw_uid != worker.ACCOUNT


def test_a_worker_that_is_not_confined_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_logged", set())
    with structlog.testing.capture_logs() as lines:
        for held in (3, 1, 1, 3):
            link._tell_confined(bytes((held,)))
    (line,) = lines
    assert line["event"] == "transforms.not_confined"
    assert (line["no_new_privileges"], line["system_calls_filtered"]) == (True, False)


def test_the_doctor_says_how_workers_are_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_workers().level is Level.OK
    # It exits with 0, so no confinement was checked.
    monkeypatch.setattr(worker, "__file__", os.devnull)
    assert check_workers().level is Level.WARNING
