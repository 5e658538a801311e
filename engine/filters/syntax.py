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


class Expression(Struct, frozen=True, kw_only=True):
    """A node of the syntax tree. `at`: the node's place in the source. `depth`: how many nodes the
    longest path from this node down to a leaf has."""

    at: int
    depth: int = 1
    parts: ClassVar[tuple[str, ...]] = ()  # fields that hold nodes


class Literal(Expression, frozen=True):
    """A null, bool, int, double or string."""

    value: bool | int | float | str | None


class Opaque(Expression, frozen=True):
    """A literal or type that only the library knows: `1u`, `b"x"`, `int` in `type(x) == int`."""

    source: str


class Field(Expression, frozen=True):
    """A field of the event: `event.payload`."""

    name: str


class Variable(Expression, frozen=True):
    """The variable of a macro; `slot` is its place in the scope."""

    name: str
    slot: int


class Select(Expression, frozen=True):
    """`operand.name`."""

    operand: Expression
    name: str
    parts: ClassVar[tuple[str, ...]] = ("operand",)


class Has(Expression, frozen=True):
    """`has(operand.name)`; for `has(event.name)`, `operand` is None."""

    operand: Expression | None
    name: str
    parts: ClassVar[tuple[str, ...]] = ("operand",)


class Index(Expression, frozen=True):
    """`operand[key]`."""

    operand: Expression
    key: Expression
    parts: ClassVar[tuple[str, ...]] = ("operand", "key")


class FunctionCall(Expression, frozen=True):
    """A call of a function or method; a method's first argument is its target."""

    function: str
    arguments: tuple[Expression, ...]
    method: bool = False
    parts: ClassVar[tuple[str, ...]] = ("arguments",)


class Macro(Expression, frozen=True):
    """`range.name(variable, body)`, or `range.map(variable, condition, body)`."""

    name: str
    range: Expression
    variable: Variable
    body: Expression
    condition: Expression | None = None
    parts: ClassVar[tuple[str, ...]] = ("range", "body", "condition")


class ListOf(Expression, frozen=True):
    """`[a, b]`."""

    items: tuple[Expression, ...]
    parts: ClassVar[tuple[str, ...]] = ("items",)


class MapOf(Expression, frozen=True):
    """`{"a": b}`."""

    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]
    parts: ClassVar[tuple[str, ...]] = ("keys", "values")


class Unary(Expression, frozen=True):
    """`!a` or `-a`."""

    operator: str
    operand: Expression
    parts: ClassVar[tuple[str, ...]] = ("operand",)


class Binary(Expression, frozen=True):
    """A comparison, `in`, or arithmetic."""

    operator: str
    left: Expression
    right: Expression
    parts: ClassVar[tuple[str, ...]] = ("left", "right")


class Logic(Expression, frozen=True):
    """`a && b && c`, or the same with `||`."""

    operator: str
    operands: tuple[Expression, ...]
    parts: ClassVar[tuple[str, ...]] = ("operands",)


class Ternary(Expression, frozen=True):
    """`condition ? yes : no`."""

    condition: Expression
    yes: Expression
    no: Expression
    parts: ClassVar[tuple[str, ...]] = ("condition", "yes", "no")


def children(node: Expression) -> list[Expression]:
    """Return the child nodes."""
    found: list[Expression] = []
    for part in node.parts:
        value = getattr(node, part)
        if isinstance(value, tuple):
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found
