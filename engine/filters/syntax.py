"""The syntax tree of a CEL expression, and the errors of a filter."""

from typing import ClassVar

from msgspec import Struct


class FilterError(ValueError):
    """A malformed expression, with the place of the fault."""

    def __init__(self, source: str, position: int, message: str) -> None:
        line = source.count("\n", 0, position) + 1
        column = position - (source.rfind("\n", 0, position) + 1) + 1
        super().__init__(f"line {line}, column {column}: {message}")
        self.line, self.column = line, column


class EvaluationError(Exception):
    """A filter is neither true nor false; the message holds no value of the event."""


NO_OVERLOAD = "these operands do not go together"


class Node(Struct, frozen=True, kw_only=True):
    """Any expression. `at` is its place in the source, `depth` the nodes on its longest path down."""

    at: int
    depth: int = 1
    parts: ClassVar[tuple[str, ...]] = ()  # fields that hold nodes


class Literal(Node, frozen=True):
    """A null, bool, int, double or string."""

    value: bool | int | float | str | None


class Opaque(Node, frozen=True):
    """A literal or type that only the library knows: `1u`, `b"x"`, `int` in `type(x) == int`."""

    source: str


class Field(Node, frozen=True):
    """A field of the event: `event.payload`."""

    name: str


class Variable(Node, frozen=True):
    """The variable of a macro; `slot` is its place in the scope."""

    name: str
    slot: int


class Select(Node, frozen=True):
    """`operand.name`."""

    operand: Node
    name: str
    parts: ClassVar[tuple[str, ...]] = ("operand",)


class Has(Node, frozen=True):
    """`has(operand.name)`; for `has(event.name)`, `operand` is None."""

    operand: Node | None
    name: str
    parts: ClassVar[tuple[str, ...]] = ("operand",)


class Index(Node, frozen=True):
    """`operand[key]`."""

    operand: Node
    key: Node
    parts: ClassVar[tuple[str, ...]] = ("operand", "key")


class FunctionCall(Node, frozen=True):
    """A call of a function or method; a method's first argument is its target."""

    function: str
    arguments: tuple[Node, ...]
    method: bool = False
    parts: ClassVar[tuple[str, ...]] = ("arguments",)


class Macro(Node, frozen=True):
    """`range.name(variable, body)`, or `range.map(variable, condition, body)`."""

    name: str
    range: Node
    variable: Variable
    body: Node
    condition: Node | None = None
    parts: ClassVar[tuple[str, ...]] = ("range", "body", "condition")


class ListOf(Node, frozen=True):
    """`[a, b]`."""

    items: tuple[Node, ...]
    parts: ClassVar[tuple[str, ...]] = ("items",)


class MapOf(Node, frozen=True):
    """`{"a": b}`."""

    keys: tuple[Node, ...]
    values: tuple[Node, ...]
    parts: ClassVar[tuple[str, ...]] = ("keys", "values")


class Unary(Node, frozen=True):
    """`!a` or `-a`."""

    operator: str
    operand: Node
    parts: ClassVar[tuple[str, ...]] = ("operand",)


class Binary(Node, frozen=True):
    """A comparison, `in`, or arithmetic."""

    operator: str
    left: Node
    right: Node
    parts: ClassVar[tuple[str, ...]] = ("left", "right")


class Logic(Node, frozen=True):
    """`a && b && c`, or the same with `||`."""

    operator: str
    operands: tuple[Node, ...]
    parts: ClassVar[tuple[str, ...]] = ("operands",)


class Ternary(Node, frozen=True):
    """`condition ? yes : no`."""

    condition: Node
    yes: Node
    no: Node
    parts: ClassVar[tuple[str, ...]] = ("condition", "yes", "no")


def children(node: Node) -> list[Node]:
    """Return the child nodes."""
    found: list[Node] = []
    for part in node.parts:
        value = getattr(node, part)
        if isinstance(value, tuple):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found
