"""The planting of a bug: a function of the engine is compiled again with other code at a place.

A place does not quote source, so it is still found after reformatting or a move within the module.
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

# The new code of most bugs: a condition that is never or always true, or no statement.
NEVER, ALWAYS, DROPPED = "False", "True", "pass"

Owner = type | ModuleType
Point = tuple[Owner, str]


class Edit(Struct, frozen=True):
    """New code for a place in or near `name` of `owner` (`tests.sim.mutants.places`).

    An expression is the new condition of an `if` or `while`; other code replaces a statement. `HERE` is
    the former code.
    """

    owner: Owner
    name: str
    place: str
    new: str

    def point(self) -> Point:
        """Return the nearest function with the place. Raises LookupError unless there is exactly one."""
        for points in _around(self.owner, self.name):
            found = [point for point in points for _ in _places(self.place, point)]
            if len(found) > 1:
                break
            if found:
                return found[0]
        where = f"{self.owner.__name__}.{self.name}"
        raise LookupError(f"{where} has {self.place!r} {len(found)} times")


class Mutant(Struct, frozen=True):
    """A bug. `needs`: the features (`hunt.features`) without which a plan cannot show the bug. `nodes`:
    True if the histories need several nodes."""

    name: str
    bug: str
    edits: tuple[Edit, ...]
    needs: frozenset[str] = frozenset()
    nodes: bool = False

    @contextmanager
    def planted(self) -> Iterator[None]:
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
    """`needs`: words, separated by spaces."""
    found = tuple(Edit(*each) for each in edits)
    return Mutant(name, bug, found, frozenset(needs.split()), nodes)


def replaced(owner: Owner, name: str, edits: Sequence[Edit]) -> object:
    """Return the function with the edits' code at their places. Raises LookupError if a place does not
    exist exactly once, or if the code uses an undefined name."""
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
    """Yield the functions to search: first the named one, then its owner's others, then the module's."""
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
    if function is None or function.__code__.co_filename.startswith("<"):  # generated code
        return []
    return places(_tree(function), words)


def _function(owner: Owner, name: str) -> FunctionType | None:
    found = inspect.getattr_static(owner, name, None)
    found = found.fget if isinstance(found, property) else found
    found = found.__func__ if isinstance(found, staticmethod) else found
    return found if isinstance(found, FunctionType) else None


def _tree(function: FunctionType) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _known(function: FunctionType, name: str) -> bool:
    return name in function.__globals__ or hasattr(builtins, name)


def _global_names(code: CodeType) -> Iterator[str]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from (
                one.argval for one in dis.get_instructions(each) if one.opname == "LOAD_GLOBAL"
            )
            yield from _global_names(each)
