"""The sampler of CPU time. It samples its own process, so it needs no privilege and no second process.

The kernel sends a signal whenever the process has used an interval of CPU. Python runs the signal's
handler after the current instruction. A system call has no frame of its own: it appears as the last call
of the innermost frame, and its time counts for that frame.
"""

import ast
import dis
import gc
import json
import linecache
import os
import resource
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from types import CodeType, FrameType

# The CPU time between two samples. With 3 ms, there are 333 samples in a second of CPU. A kernel with a
# timer of 250 Hz sends the signal only every 4 ms. There are then 250 samples in a second of CPU.
INTERVAL_S = 0.003
ELSEWHERE = "threads"  # the stack of other threads' samples
CALL = (
    "!"  # the prefix of a stack's last element, if that is a call of a function outside of Python
)
LONGEST_CALL = 60  # characters of an expression
# The functions of trio's loop. The sampler leaves out the callers of such a function, because they are
# the same in every sample. The function itself stays in the stack.
_LOOP = {("trio._core._run", "unrolled_run"), ("trio._core._run", "run")}

# The offset of the current instruction in the innermost frame, and the code of all frames, the innermost
# first.
Stack = tuple[int, tuple[CodeType, ...]]


class Sampler:
    """The sampler. Each `flush` writes a line of JSON to a file.

    The process must not use SIGPROF and its timer for anything else. Call `start` in the main thread.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._counts: Counter[Stack | str] = Counter()
        self._modules: dict[CodeType, str] = {}
        self._calls: dict[tuple[CodeType, int], str] = {}
        self._thread_s, self._process_s = time.thread_time(), time.process_time()
        self._collecting_s = 0.0
        self.gc_s = 0.0
        self.collections = [0, 0, 0]

    def start(self) -> None:
        """Begin."""
        assert threading.current_thread() is threading.main_thread()
        gc.callbacks.append(self._collected)
        signal.signal(signal.SIGPROF, self._sample)
        # The kernel restarts an interrupted system call, so the sampled code does not notice the
        # signal.
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)

    def stop(self) -> None:
        """End, and write the remaining samples."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # a signal can be under way
        gc.callbacks.remove(self._collected)
        self.flush()
        os.close(self._file)

    def _sample(self, _: int, frame: FrameType | None) -> None:
        thread_s, process_s = time.thread_time(), time.process_time()
        ours = (thread_s - self._thread_s) * 2 >= process_s - self._process_s
        self._thread_s, self._process_s = thread_s, process_s
        if not ours or frame is None:
            self._counts[ELSEWHERE] += 1
            return
        offset, frames, modules = frame.f_lasti, [], self._modules
        inner: FrameType | None = frame
        while inner is not None:
            code = inner.f_code
            if code not in modules:
                modules[code] = str(inner.f_globals.get("__name__"))
            frames.append(code)
            if (modules[code], code.co_name) in _LOOP:
                break
            inner = inner.f_back
        self._counts[offset, tuple(frames)] += 1

    def _collected(self, phase: str, info: Mapping[str, int]) -> None:
        if phase == "start":
            self._collecting_s = time.thread_time()
        else:
            self.gc_s += time.thread_time() - self._collecting_s
            self.collections[info["generation"]] += 1

    def flush(self) -> None:
        """Write the samples since the last flush, and the process's other numbers. `userS`, `systemS`,
        `gcS` and `collections` (of the garbage collector) are totals since the start. `blocks` is the
        present number of allocated blocks."""
        counts, self._counts = self._counts, Counter()
        stacks: Counter[str] = Counter()
        for stack, count in counts.items():
            stacks[stack if isinstance(stack, str) else self._collapsed(stack)] += count
        used = resource.getrusage(resource.RUSAGE_SELF)
        line = {
            "at": time.time(),
            "userS": used.ru_utime,
            "systemS": used.ru_stime,
            "gcS": self.gc_s,
            "collections": self.collections,
            "blocks": sys.getallocatedblocks(),
            "stacks": stacks,
        }
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def _collapsed(self, stack: Stack) -> str:
        offset, frames = stack
        names = [f"{self._modules[code]}:{code.co_qualname}" for code in reversed(frames)]
        key = frames[0], offset
        if key not in self._calls:
            self._calls[key] = call_at(*key)
        if call := self._calls[key]:
            names.append(CALL + call)
        return ";".join(names)


def call_at(code: CodeType, offset: int) -> str:
    """Return the source text of the call at an instruction; empty if the instruction is no call."""
    if offset < 0 or "CALL" not in dis.opname[code.co_code[offset]]:
        return ""
    positions = list(code.co_positions())
    first, last, start, end = positions[offset // 2]
    if first is None or last is None or start is None or end is None:
        return ""
    lines = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        written = ast.parse(f"({b''.join(lines).decode()})", mode="eval").body
    except (SyntaxError, ValueError):
        return ""  # a comprehension or a decorator, which has no name
    if not isinstance(written, ast.Call):
        return ""
    return ast.unparse(written.func).replace(";", ",")[:LONGEST_CALL]
