"""The planting of a bug: a function of the engine is compiled anew with other code at a named place.

The place must be there exactly once, so that a mutant whose place is gone fails loudly. No source is
quoted: another layout, and a move to another function of the same module, do not matter.
"""

import ast
import builtins
import dis
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import CodeType, FunctionType, ModuleType
from unittest import mock

from msgspec import Struct

from tests.sim.mutants.places import Place, parsed, places

# New code of most bugs: a condition that never or always holds, or nothing at all.
NEVER, ALWAYS, DROPPED = "False", "True", "pass"

Owner = type | ModuleType
Point = tuple[Owner, str]


class Edit(Struct, frozen=True):
    """In `name` of `owner`, or near it, `new` code is at a place (`tests.sim.mutants.places`).

    An expression is the new condition of an `if` or `while`. Other code replaces a statement. `HERE` in
    the code is what was there.
    """

    owner: Owner
    name: str
    place: str
    new: str

    def point(self) -> Point:
        """Return the function that has the place once. Raises LookupError if there is none."""
        for points in _around(self.owner, self.name):
            found = [point for point in points for _ in _places(self.place, point)]
            if len(found) > 1:
                break
            if found:
                return found[0]
        where = f"{self.owner.__name__}.{self.name}"
        raise LookupError(f"{where} has {self.place!r} {len(found)} times")


class Mutant(Struct, frozen=True):
    """A bug, by a name and in words. `needs`: without these faults, wishes, receivers and orderings in
    its plan a history cannot show it, and is not run. `nodes`: its histories have several nodes."""

    name: str
    bug: str
    edits: tuple[Edit, ...]
    needs: frozenset[str] = frozenset()
    nodes: bool = False

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Plant the bug for the length of the block."""
        points: dict[Point, list[Edit]] = {}
        for edit in self.edits:
            points.setdefault(edit.point(), []).append(edit)
        with ExitStack() as stack:
            for (owner, name), edits in points.items():
                stack.enter_context(mock.patch.object(owner, name, replaced(owner, name, edits)))
            yield


def mutant(
    name: str, bug: str, *edits: tuple[Owner, str, str, str], needs: str = "", nodes: bool = False
) -> Mutant:
    """Return a mutant. `needs` are words."""
    found = tuple(Edit(*each) for each in edits)
    return Mutant(name, bug, found, frozenset(needs.split()), nodes)


def replaced(owner: Owner, name: str, edits: Sequence[Edit]) -> object:
    """Return the function with new code at its places. Raises LookupError if a place is not there exactly
    once, or if the code uses a name that is not defined."""
    function = _function(owner, name)
    assert function is not None
    tree = _tree(function)
    for edit in edits:
        found = places(tree, edit.place)
        if len(found) != 1:
            raise LookupError(f"{owner.__name__}.{name} has {edit.place!r} {len(found)} times")
        found[0].replace(parsed(edit.new))
    made: dict[str, object] = {}
    code = compile(ast.fix_missing_locations(tree), f"<mutant of {name}>", "exec")
    exec(code, function.__globals__, made)
    (planted,) = made.values()
    for word in _global_names(code):
        if not _known(function, word) and word not in made:
            raise LookupError(
                f"the mutant of {owner.__name__}.{name} says {word!r}, which is nothing"
            )
    return planted


def _around(owner: Owner, name: str) -> Iterator[list[Point]]:
    """Yield where to look: the function, the others of its owner, the others of its module."""
    yield [(owner, name)]
    yield [(owner, other) for other in vars(owner) if other != name]
    if isinstance(owner, type):
        module = sys.modules[owner.__module__]
        types = [
            each for each in vars(module).values() if isinstance(each, type) and each is not owner
        ]
        own = [each for each in types if each.__module__ == module.__name__]
        owners: list[Owner] = [module, *own]
        yield [(each, other) for each in owners for other in vars(each)]


def _places(words: str, point: Point) -> list[Place]:
    function = _function(*point)
    if function is None or function.__code__.co_filename.startswith("<"):  # made, and not written
        return []
    return places(_tree(function), words)


def _function(owner: Owner, name: str) -> FunctionType | None:
    """Return the function that is written under a name, if there is one."""
    found = inspect.getattr_static(owner, name, None)
    found = found.fget if isinstance(found, property) else found
    found = found.__func__ if isinstance(found, staticmethod) else found
    return found if isinstance(found, FunctionType) else None


def _tree(function: FunctionType) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _known(function: FunctionType, name: str) -> bool:
    return name in function.__globals__ or hasattr(builtins, name)


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function looks for outside of itself."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from (
                one.argval for one in dis.get_instructions(each) if one.opname == "LOAD_GLOBAL"
            )
            yield from _global_names(each)
