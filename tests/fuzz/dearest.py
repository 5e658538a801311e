"""A search for a door's dearest input, by counted work: `python -m tests.fuzz.dearest event`.

The work of an input is the number of lines that our code executes for it, with all that it calls in
Python. The work of a test's own oracle is not counted. Seconds depend on the machine; lines depend on
the input alone. One call of our code out of a check is one step of the loop: `Work.most` is the dearest.

An input is a `Recipe`: a head, a part that is repeated, and a tail. The search climbs on small inputs
and adopts each change that makes an input no cheaper for its bytes. The winners are tried at the door's
largest size and kept in its corpus as `dearest-...`. `counted` counts any other function likewise:
`counted(lambda: read_event(body)).most`.

A call of a library in C counts as one line, whatever it is given. Such calls are held to be linear
elsewhere (`test_patterns.py`); the command prints the CPU's milliseconds beside the lines. The suite
(`test_dearest.py`) replays each corpus as recipes, and holds each door to `Door.most_lines`.
"""

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct

from tests.fuzz.door import CORPUS, NAMES, Door, door

ROOT = Path(__file__).parents[2]
OURS = tuple(f"{ROOT}/{package}/" for package in ("api", "engine", "storage", "clients"))
DEAREST = "dearest-"
MARK = b"<<<repeated>>>"  # between the parts of a recipe in its file
SMALL = 2_000  # bytes of an input that is tried in the search
KEPT = 3  # recipes of a door that the search keeps


class Work(Struct, frozen=True):
    """Lines of our code that ran."""

    total: int
    most: int  # of one call


class _Counter:
    """Counts lines while a frame of ours, or one that it called, is on the stack."""

    def __init__(self) -> None:
        self.total = self.most = self._now = 0
        self._outermost: FrameType | None = None

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Called for each call, as sys.settrace documents."""
        if self._outermost is None:
            if not frame.f_code.co_filename.startswith(OURS):
                return None
            self._outermost, self._now = frame, 0
        self._now += 1
        return self._line

    def _line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._now += 1
        elif event == "return" and frame is self._outermost:
            self._outermost = None
            self.total += self._now
            self.most = max(self.most, self._now)
        return self._line


def counted(function: Callable[[], object]) -> Work:
    """Call `function` and return its work. Raises what it raises."""
    counter = _Counter()
    before = sys.gettrace()
    sys.settrace(counter.trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return Work(counter.total, counter.most)


class Recipe(Struct, frozen=True):
    """An input of any size: a part that is repeated between a head and a tail."""

    head: bytes
    repeated: bytes
    tail: bytes

    def of(self, size: int) -> bytes:
        """Return it with as many repetitions as fit into `size` bytes, at least one."""
        room = size - len(self.head) - len(self.tail)
        return self.head + self.repeated * max(1, room // max(1, len(self.repeated))) + self.tail

    def file(self) -> bytes:
        """Return the content of its file."""
        return MARK.join((self.head, self.repeated, self.tail))


def read_recipe(data: bytes) -> Recipe:
    """Return the recipe of a file. An input that is no recipe is repeated as a whole."""
    parts = data.split(MARK)
    return Recipe(*parts) if len(parts) == 3 else Recipe(b"", data, b"")


def recipes(target: Door) -> list[Recipe]:
    """Return a door's known inputs: its dearest recipes, then its seeds and the rest of its corpus."""
    known = sorted(target.corpus(), key=lambda path: not path.name.startswith(DEAREST))
    files = [path.read_bytes() for path in known]
    return [read_recipe(data) for data in (*files, *target.seeds)]


def work_of(target: Door, data: bytes) -> Work:
    """Return the work of one input of a door. Raises what its check raises."""
    return counted(lambda: target.check(data))


class Search:
    """Climbs from the recipes of a door. The same seed finds the same."""

    def __init__(self, target: Door, seed: int, size: int = SMALL) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._size = size
        self._climbing = [(self._cost(each), each) for each in recipes(target)]

    def _cost(self, recipe: Recipe) -> float:
        """Return the lines of a recipe for each of its bytes."""
        data = recipe.of(self._size)
        return work_of(self._target, data).most / max(len(data), self._size)

    def run(self, rounds: int) -> list[Recipe]:
        """Change one of the best `rounds` times; return the best, the dearest first."""
        for _ in range(rounds):
            self._climbing.sort(key=lambda one: one[0], reverse=True)
            del self._climbing[max(KEPT * 4, 12) :]
            cost, recipe = self._climbing[self._chosen()]
            changed = self._changed(recipe)
            found = self._cost(changed)
            if found >= cost and changed not in (each for _, each in self._climbing):
                self._climbing.append((found, changed))
        self._climbing.sort(key=lambda one: one[0], reverse=True)
        return [recipe for _, recipe in self._climbing[:KEPT]]

    def _chosen(self) -> int:
        return min(int(self._random.expovariate(0.5)), len(self._climbing) - 1)

    def _changed(self, recipe: Recipe) -> Recipe:
        draw = self._random
        parts = [recipe.head, recipe.repeated, recipe.tail]
        way = draw.randrange(4)
        if way == 0:  # what is repeated is another stretch of the whole
            whole = b"".join(parts)
            start, end = sorted((draw.randrange(len(whole) + 1), draw.randrange(len(whole) + 1)))
            return Recipe(whole[:start], whole[start:end][:200] or b" ", whole[end:])
        which = draw.choice((0, 1, 1, 1, 2))
        part = parts[which]
        at = draw.randrange(len(part) + 1)
        length = draw.choice((0, 0, 1, 2, 8))
        if way == 1:
            word = draw.choice((*self._target.words, b",", b"[]", b"{}", b'"":0', b'""'))
        elif way == 2:
            word = draw.randbytes(draw.randrange(3))
        else:
            other = draw.choice(self._climbing)[1].repeated
            word = other[draw.randrange(len(other) + 1) :][:20]
        parts[which] = (part[:at] + word + part[at + length :])[: self._size // 4]
        return Recipe(parts[0], parts[1] or b" ", parts[2])


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.dearest", description=__doc__)
    parser.add_argument("door", choices=NAMES)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    target = door(given.door)
    for recipe in Search(target, given.seed).run(given.rounds):
        data = recipe.of(target.largest)
        work = work_of(target, data)
        began = time.thread_time()
        target.check(data)  # with the oracle: an upper bound
        took_ms = (time.thread_time() - began) * 1000
        mark = hashlib.sha256(recipe.file()).hexdigest()[:12]
        kept = CORPUS / target.name / f"{DEAREST}{mark}"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(recipe.file())
        print(f"{target.name}: {kept.name}: {work.most} lines, {took_ms:.0f} ms, {len(data)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
