"""The allocations of an event: all blocks of memory by module, from a record of the server.

A run with a record reports no times, because recording slows it down. Freed blocks count, too, because
allocating and freeing cost CPU.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import memray

from bench.profiling.profile import PROGRAM
from bench.profiling.recording import begun, done, wish
from bench.profiling.stages import module_of
from bench.programs import ROOT
from bench.results import Measurement
from bench.service import Service

_WAIT_S = 60.0  # the server begins and ends the record within half a second
_TAKES = frozenset(
    {
        memray.AllocatorType.PYMALLOC_MALLOC,
        memray.AllocatorType.PYMALLOC_CALLOC,
        memray.AllocatorType.PYMALLOC_REALLOC,
        memray.AllocatorType.MALLOC,
        memray.AllocatorType.CALLOC,
        memray.AllocatorType.REALLOC,
        memray.AllocatorType.POSIX_MEMALIGN,
        memray.AllocatorType.ALIGNED_ALLOC,
        memray.AllocatorType.MEMALIGN,
    }
)
LEAST_BLOCKS = 0.05  # for an event; modules with fewer blocks are combined


@dataclass(frozen=True)
class Allocated:
    """The allocated blocks of an event, by module, and figures."""

    modules: dict[str, float]
    figures: dict[str, float] = field(default_factory=dict)

    def into(self, measurement: Measurement) -> None:
        measurement.allocations = self.modules
        measurement.figures |= self.figures


class Record:
    """The record of a service's allocations. Create it before the service starts, and call `begin` and
    `end` only once."""

    def __init__(self, service: Service) -> None:
        if service.process is not None:
            raise ValueError("the server runs already")
        self._path = service.folder / "allocations.memray"
        service.program = PROGRAM
        service.settings |= {"BENCH_ALLOCATIONS": str(self._path)}

    def depths(self) -> dict[str, int]:
        """Return no depths of queues: recording slows the server down, which changes the depths."""
        return {}

    def begin(self) -> None:
        wish(self._path).touch()
        _wait(begun(self._path))

    def end(self, events: int) -> Allocated:
        """Return the allocations per event since `begin`."""
        wish(self._path).unlink()
        _wait(done(self._path))
        blocks, size = counted(self._path)
        total = blocks.total()
        kept = {name: each / events for name, each in blocks.most_common()}
        modules = {name: round(each, 2) for name, each in kept.items() if each >= LEAST_BLOCKS}
        rest = total / events - sum(modules.values())
        if round(rest, 2) > 0:
            modules["other"] = round(rest, 2)
        return Allocated(
            modules,
            {
                "blocksTakenPerEvent": round(total / events, 1),
                "bytesTakenPerEvent": round(size / events),
            },
        )


class Recorded(Service):
    """A server whose allocations `profile` records."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(settings=settings)
        self.profile = Record(self)


def counted(path: Path) -> tuple[Counter[str], int]:
    """Return the number of allocated memory blocks by module, and the bytes of all blocks together.
    `path`: the record."""
    by_stack: Counter[int] = Counter()
    modules: dict[int, str] = {}
    size = 0
    with memray.FileReader(path) as reader:
        for taken in reader.get_allocation_records():
            if taken.allocator not in _TAKES:
                continue
            stack = taken.stack_id
            if stack not in modules:
                frames = [module(file) + ":" + name for name, file, _ in taken.stack_trace()]
                modules[stack] = module_of(frames[::-1]) if frames else "no frame of Python"
            by_stack[stack] += 1
            size += taken.size
    blocks: Counter[str] = Counter()
    for stack, number in by_stack.items():
        blocks[modules[stack]] += number
    return blocks, size


def module(file: str) -> str:
    """Return the dotted name of a file's module."""
    path = Path(file)
    if path.is_relative_to(ROOT) and "site-packages" not in path.parts:
        path = path.relative_to(ROOT)
    else:
        path = Path(*path.parts[_below(path.parts) :])
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _below(parts: tuple[str, ...]) -> int:
    """Return the index in `parts`, the path of a library's file, at which the module's dotted name
    begins."""
    for number, part in enumerate(parts):
        if part == "site-packages":
            return number + 1
        if part.startswith("python3"):
            found = number + 1
            if "site-packages" not in parts:
                return found
    return len(parts) - 1


def _wait(path: Path) -> None:
    give_up = time.monotonic() + _WAIT_S
    while not path.exists():
        if time.monotonic() > give_up:
            raise RuntimeError(f"the server did not write {path.name}")
        time.sleep(0.05)
