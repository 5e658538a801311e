"""The planting of a bug: a function of the engine gets other code at one place, and is compiled again.

A place is described by the kind of its syntax node and by names in this node. The description is still
right after the source is reformatted, or moved within its module.
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

# The new code of most bugs: a condition that is never true, a condition that is always true, and a
# statement that does nothing.
NEVER, ALWAYS, DROPPED = "False", "True", "pass"

Owner = type | ModuleType
Point = tuple[Owner, str]


class Edit(Struct, frozen=True):
    """New code for a place in the function `name` of `owner`. If this function does not have the place,
    other functions of the owner and its module are searched (`_around`).

    `place`: the description of the place (`tests.sim.mutants.places`). `new`: the new code. It replaces
    the node at the place. But if the node is an `if` or `while` and the new code is an expression, it
    replaces only the condition. The word `HERE` in the new code stands for the replaced code.
    """

    owner: Owner
    name: str
    place: str
    new: str

    def point(self) -> Point:
        """Return the function that has the place. `_around` yields lists of functions. The search ends
        with the first list in which a function has the place. Raises LookupError if there is no such
        list, or if the place is more than once in the functions of this list."""
        for points in _around(self.owner, self.name):
            found = [point for point in points for _ in _places(self.place, point)]
            if len(found) > 1:
                break
            if found:
                return found[0]
        where = f"{self.owner.__name__}.{self.name}"
        raise LookupError(f"{where} has {self.place!r} {len(found)} times")


class Mutant(Struct, frozen=True):
    """A bug. `needs`: the features (`hunt.features`) that a plan must have to show the bug. `nodes`: True
    if the histories need several nodes."""

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
    """Return the function with the new code of all edits. Raises LookupError if the place of an edit is
    not exactly once in the function, or if the new code uses an undefined name."""
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
    """Yield lists of functions in the order in which they are searched. The first list has only the
    function `name`. The second has the other functions of its owner. If the owner is a class, a third
    list has the functions of the class's module and of the other classes in this module."""
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
