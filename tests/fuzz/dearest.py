"""A search for a door's most expensive input: `python -m tests.fuzz.dearest event`.

The work of an input is the number of Python lines that run in our code, and in the Python code that our
code calls. The lines of the check itself do not count. Lines depend only on the input, whereas seconds
also depend on the computer. A check can call our code several times. In a server, each of these calls
would be one step of the event loop. `Work.most` is the work of the most expensive call.

An input is built from a `Recipe`: a head, a repeated part, and a tail. The search changes recipes at
random. It keeps a change if the work per byte does not fall. It then builds the largest inputs that the
door accepts from the best recipes, measures them, and keeps the recipes in the corpus as `dearest-...`.
`counted` measures any other function: `counted(lambda: read_event(body)).most`.

A call of a C function counts as one line, however long the call takes. So the command also prints the CPU
time, and `test_patterns.py` shows that regular expressions take linear time.

`test_dearest.py` uses each known input of a door as a recipe, and builds the largest input from it. No
such input can need more lines than `Door.most_lines`.
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
MARK = b"<<<repeated>>>"  # separates the parts of a recipe in its file
SMALL = 2_000  # the size in bytes of an input during the search
KEPT = 3


class Work(Struct, frozen=True):
    """The number of Python lines that ran in our code, and in the Python code that our code called."""

    total: int
    most: int  # in one call


class _Counter:
    def __init__(self) -> None:
        self.total = self.most = self._now = 0
        self._outermost: FrameType | None = None

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
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
    counter = _Counter()
    before = sys.gettrace()
    sys.settrace(counter.trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return Work(counter.total, counter.most)


class Recipe(Struct, frozen=True):
    """An input of any size: a repeated part between a head and a tail."""

    head: bytes
    repeated: bytes
    tail: bytes

    def of(self, size: int) -> bytes:
        """Return the input with as many repetitions as fit into `size` bytes, at least one."""
        room = size - len(self.head) - len(self.tail)
        return self.head + self.repeated * max(1, room // max(1, len(self.repeated))) + self.tail

    def file(self) -> bytes:
        return MARK.join((self.head, self.repeated, self.tail))


def read_recipe(data: bytes) -> Recipe:
    """An input that is no recipe becomes a repeated part."""
    parts = data.split(MARK)
    return Recipe(*parts) if len(parts) == 3 else Recipe(b"", data, b"")


def recipes(target: Door) -> list[Recipe]:
    """Return a door's known inputs: its most expensive recipes, then the rest of its corpus and its
    seeds."""
    known = sorted(target.corpus(), key=lambda path: not path.name.startswith(DEAREST))
    files = [path.read_bytes() for path in known]
    return [read_recipe(data) for data in (*files, *target.seeds)]


def work_of(target: Door, data: bytes) -> Work:
    return counted(lambda: target.check(data))


class Search:
    """The result depends only on the seed."""

    def __init__(self, target: Door, seed: int, size: int = SMALL) -> None:
        self._target = target
        self._random = random.Random(seed)
        self._size = size
        self._climbing = [(self._cost(each), each) for each in recipes(target)]

    def _cost(self, recipe: Recipe) -> float:
        data = recipe.of(self._size)
        return work_of(self._target, data).most / max(len(data), self._size)

    def run(self, rounds: int) -> list[Recipe]:
        """In each of `rounds` rounds, choose one of the best recipes and change it. Return the most
        expensive recipes, the most expensive recipe first."""
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
        if way == 0:  # repeat another slice of the whole input
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
        target.check(data)  # including the oracle: an upper bound
        took_ms = (time.thread_time() - began) * 1000
        mark = hashlib.sha256(recipe.file()).hexdigest()[:12]
        kept = CORPUS / target.name / f"{DEAREST}{mark}"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(recipe.file())
        print(f"{target.name}: {kept.name}: {work.most} lines, {took_ms:.0f} ms, {len(data)} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
