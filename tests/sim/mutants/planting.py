"""Plants a bug: one function of the engine is compiled anew with a few words of it replaced.

What is replaced must be there exactly once, so that a mutant whose place has moved fails loudly.
"""

import inspect
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from unittest import mock

from msgspec import Struct

Owner = type | ModuleType


class Edit(Struct, frozen=True):
    """In `name` of `owner`, `old` becomes `new`."""

    owner: Owner
    name: str
    old: str
    new: str


class Mutant(Struct, frozen=True):
    """A bug, by a name and in words. `needs`: without these faults, wishes, receivers and orderings in
    its plan a history cannot show it, and is not run."""

    name: str
    bug: str
    edits: tuple[Edit, ...]
    needs: frozenset[str] = frozenset()

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Have the bug while this lasts."""
        places: dict[tuple[Owner, str], list[Edit]] = {}
        for edit in self.edits:
            places.setdefault((edit.owner, edit.name), []).append(edit)
        with ExitStack() as stack:
            for (owner, name), edits in places.items():
                stack.enter_context(mock.patch.object(owner, name, replaced(owner, name, edits)))
            yield


def mutant(name: str, bug: str, *edits: tuple[Owner, str, str, str], needs: str = "") -> Mutant:
    """Return a mutant. `needs` are words."""
    return Mutant(name, bug, tuple(Edit(*each) for each in edits), frozenset(needs.split()))


def replaced(owner: Owner, name: str, edits: Sequence[Edit]) -> object:
    """Return the function with the words replaced. Raises LookupError where they are not there once."""
    found = inspect.getattr_static(owner, name)
    function = found.fget if isinstance(found, property) else found
    function = function.__func__ if isinstance(function, staticmethod) else function
    assert isinstance(function, FunctionType)
    source = textwrap.dedent(inspect.getsource(function))
    for edit in edits:
        if source.count(edit.old) != 1:
            times = source.count(edit.old)
            raise LookupError(f"{owner.__name__}.{name} has {edit.old!r} {times} times")
        source = source.replace(edit.old, edit.new)
    made: dict[str, object] = {}
    code = compile(source, f"<mutant of {name}>", "exec")
    exec(code, function.__globals__, made)
    return made[function.__name__]
