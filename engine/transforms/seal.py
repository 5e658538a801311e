"""The seal of a worker: a Linux filter that denies all system calls except those that scripts need.

A worker loads this module when it starts, which takes 3 ms for `ctypes`.
"""

import ctypes
import os
import struct
import sys

# The numbers below come from the headers <linux/prctl.h>, <linux/seccomp.h> and <linux/bpf_common.h>. The
# architectures' numbers in the tables come from <linux/audit.h>.
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_KILL, _DENY, _ALLOW = 0x80000000, 0x00050001, 0x7FFF0000  # kill the process; EPERM; allow
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _THIRD = (
    0,
    4,
    32,
)  # offsets in `struct seccomp_data`, little-endian: call, architecture, third argument
_EXECUTABLE = 4  # PROT_EXEC

# Each table has three members. The first is the architecture's number for seccomp. The second has the
# system calls that are always allowed. The third has the system calls that are allowed unless they make
# memory executable. No allowed call opens a file, makes a connection, or starts, traces or signals a
# process.
_X86_64 = (
    0xC000003E,
    {
        "read": 0, "write": 1, "close": 3, "fstat": 5, "lseek": 8, "munmap": 11, "brk": 12,
        "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "sched_yield": 24,
        "mremap": 25, "madvise": 28, "setitimer": 38, "getpid": 39, "exit": 60, "gettimeofday": 96,
        "sigaltstack": 131, "gettid": 186, "time": 201, "futex": 202, "restart_syscall": 219,
        "clock_gettime": 228, "clock_getres": 229, "exit_group": 231, "getrandom": 318,
    },
    {"mmap": 9, "mprotect": 10},
)  # fmt: skip
_AARCH64 = (
    0xC00000B7,
    {
        "close": 57, "lseek": 62, "read": 63, "write": 64, "pread64": 67, "fstat": 80, "exit": 93,
        "exit_group": 94, "futex": 98, "setitimer": 103, "clock_gettime": 113, "clock_getres": 114,
        "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
        "rt_sigprocmask": 135, "rt_sigreturn": 139, "gettimeofday": 169, "getpid": 172, "gettid": 178,
        "brk": 214, "munmap": 215, "mremap": 216, "madvise": 233, "getrandom": 278,
    },
    {"mmap": 222, "mprotect": 226},
)  # fmt: skip
ARCHITECTURES = {"x86_64": _X86_64, "aarch64": _AARCH64}

NO_NEW_PRIVILEGES, FILTERED = 1, 2


def program(machine: str) -> bytes:
    """Return the BPF program for an architecture. Raises KeyError."""
    architecture, plain, guarded = ARCHITECTURES[machine]
    calls, mapping = sorted(plain.values()), sorted(guarded.values())
    # After the comparisons, the program has five instructions:
    # 1. Deny the call. Calls that no comparison has matched come here.
    # 2. Load the protection that the call asks for. The comparisons with `mmap` and `mprotect` jump here.
    # 3. If the memory would be executable, jump to 5.
    # 4. Allow the call. The comparisons with all other allowed calls jump here.
    # 5. Deny the call.
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    total = len(calls) + len(mapping)
    for at, number in enumerate((*calls, *mapping)):
        left = total - at - 1
        target = 1 if number in mapping else 3
        lines.append((_EQUAL, left + target, 0, number))
    lines += [
        (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _THIRD),
        (_ANY_BIT, 1, 0, _EXECUTABLE),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _DENY),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def confine() -> int:
    """Confine this process. Return the measures that the kernel accepted, as flags."""
    if sys.platform != "linux":
        return 0
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, *[ctypes.c_ulong] * 4)
    if prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        return 0
    machine = os.uname().machine
    if machine not in ARCHITECTURES or struct.calcsize("P") != 8:
        return NO_NEW_PRIVILEGES
    lines = program(machine)
    held = ctypes.create_string_buffer(lines, len(lines))
    listed = struct.pack("HxxxxxxP", len(lines) // 8, ctypes.addressof(held))
    given = ctypes.create_string_buffer(listed, len(listed))
    if prctl(_SECCOMP, _FILTER, ctypes.addressof(given), 0, 0):
        return NO_NEW_PRIVILEGES
    return NO_NEW_PRIVILEGES | FILTERED
