"""A compiled filter: an expression that was checked whole, and is true or false for an event."""

from functools import lru_cache
from weakref import WeakValueDictionary

from engine.filters.compiler import FilterCompiler
from engine.filters.functions import check
from engine.filters.macros import Evaluate
from engine.filters.members import Member, members_of
from engine.filters.parser import parse
from engine.filters.scope import Facts
from engine.filters.syntax import EvaluationError, Expression, Field, FilterError, Has, children

SOURCE_BYTES = 2048
RECENT = 256  # filters that stay compiled although no route uses them: 25 MB, at 100 KB each


class Filter:
    """A compiled expression. `fields`: the fields of the event that the expression names, such as
    `payload`. `members`: the paths that it names, such as `payload.items[0]` or a whole field; at most
    `MOST` paths (see `engine.filters.members`)."""

    __slots__ = ("__weakref__", "_evaluate", "fields", "members")

    def __init__(
        self,
        evaluate: Evaluate,
        fields: frozenset[str],
        members: tuple[Member, ...] = (),
    ) -> None:
        self.fields = fields
        self.members = members
        self._evaluate = evaluate

    def matches(self, facts: Facts) -> bool:
        """Return True if the filter is true. Raises EvaluationError if it is neither true nor false."""
        facts.begin()
        value = self._evaluate(facts)
        if value is True:
            return True
        if value is False:
            return False
        raise EvaluationError("the filter's result is not a boolean")


_alive: WeakValueDictionary[str, Filter] = WeakValueDictionary()  # for all routes


@lru_cache(RECENT)
def compile_filter(source: str) -> Filter:
    """Return the filter of a source. Raises FilterError."""
    known = _alive.get(source)
    if known is None:
        known = _alive[source] = _compiled(source)
    return known


def _compiled(source: str) -> Filter:
    if len(source.encode()) > SOURCE_BYTES:
        raise FilterError(source, 0, f"a filter is at most {SOURCE_BYTES} bytes")
    tree = parse(source)
    check(source, tree)
    evaluate = FilterCompiler(source).compile(tree)
    return Filter(evaluate, frozenset(_fields(tree)), members_of(tree))


def _fields(node: Expression) -> set[str]:
    found: set[str] = set()
    if isinstance(node, Field) or (isinstance(node, Has) and node.operand is None):
        found.add(node.name)
    for child in children(node):
        found |= _fields(child)
    return found
