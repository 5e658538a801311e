"""Subtrees of a filter that only the CEL library can evaluate.

All other parts of a filter are evaluated by Python closures (see `engine.filters.compiler`). If such a
subtree has operands that do not need the library, the closures of these operands are called first, and
their results are passed to the library as variables. All macros are evaluated by closures, so the library
never runs a loop. The library's time is bounded, because the filter's length and the total length of the
variables' values are limited.
"""

from collections.abc import Callable
from typing import Any

from engine.filters.functions import FUNCTIONS
from engine.filters.library import cel
from engine.filters.macros import Evaluate
from engine.filters.patterns import TEXT, translated
from engine.filters.scope import Facts
from engine.filters.syntax import (
    NO_OVERLOAD,
    Binary,
    EvaluationError,
    Expression,
    FilterError,
    FunctionCall,
    Index,
    ListOf,
    Literal,
    Opaque,
    Unary,
    children,
)
from engine.filters.values import CHARACTERS

STEPS = 20  # the price of one evaluation, which takes 2 to 5 us
# The price of one evaluation of a subtree with a pattern. The library compiles the pattern at each
# evaluation. This takes 300 us at most, and 30 us for usual patterns.
MATCH_STEPS = 1_000
_ARITHMETIC = frozenset("+-*/%")
_CAUSES = (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RuntimeError)


def is_opaque(node: Expression) -> bool:
    """Return True if a node's value can be of a kind that JSON does not have, such as a time or bytes.
    Only the library can handle such a value."""
    match node:
        case Opaque():
            return True
        case FunctionCall(function=function):
            known = FUNCTIONS.get(function)
            if known is None or function == "dyn":
                return any(map(is_opaque, node.arguments))
            return known.opaque
        case Binary(operator=operator):
            return operator in _ARITHMETIC and (is_opaque(node.left) or is_opaque(node.right))
        case Unary(operator=operator):
            return operator == "-" and is_opaque(node.operand)
        case ListOf():
            return any(map(is_opaque, node.items))
        case Index():
            return is_opaque(node.operand)
    return False


class _Writer:
    """A writer of the CEL source that the library compiles. If a node below the root does not need the
    library, the source has a variable in place of the node, and `operands` has the Python closure that
    evaluates the node."""

    def __init__(self, source: str, compile_: Callable[[Expression], Evaluate]) -> None:
        self._source = source
        self._compile = compile_
        self.operands: list[Evaluate] = []

    def write(self, node: Expression) -> str:
        if not is_opaque(node):
            return self._variable(node)
        match node:
            case Opaque(source=source):
                return source
            case FunctionCall():
                return self.call(node)
            case Unary():
                return f"-({self.write(node.operand)})"
            case Binary():
                return self.binary(node)
            case ListOf(items=items):
                return "[" + ", ".join(map(self.write, items)) + "]"
            case Index():
                return f"{self.write(node.operand)}[{self.write(node.key)}]"
        raise AssertionError("no such opaque node")

    def root(self, node: Expression) -> str:
        """Return the topmost node as source, never as a variable."""
        match node:
            case FunctionCall():
                return self.call(node)
            case Binary():
                return self.binary(node)
            case Index():
                return f"({self.write(node.operand)})[{self.write(node.key)}]"
        raise AssertionError("no such root")

    def binary(self, node: Binary) -> str:
        return f"({self.write(node.left)}) {node.operator} ({self.write(node.right)})"

    def call(self, node: FunctionCall) -> str:
        first, *others = node.arguments
        if node.function == "matches":
            pattern = others[0]
            assert isinstance(pattern, Literal)
            assert isinstance(pattern.value, str)
            written = translated(self._source, pattern.at, pattern.value)
            return f"({self.write(first)}).matches({_quoted(written)})"
        if node.function == "type" and not is_opaque(first):
            self.operands.append(_sample(self._compile(first)))
            return f"type(v{len(self.operands) - 1})"
        if node.method:
            rest = ", ".join(map(self.write, others))
            return f"({self.write(first)}).{node.function}({rest})"
        return f"{node.function}({', '.join(map(self.write, node.arguments))})"

    def _variable(self, node: Expression) -> str:
        self.operands.append(self._compile(node))
        return f"v{len(self.operands) - 1}"


def library_call(
    source: str, node: Expression, compile_: Callable[[Expression], Evaluate]
) -> Evaluate:
    """Return a closure in which the CEL library evaluates the expression `node` of a filter. Raises
    FilterError."""
    writer = _Writer(source, compile_)
    text = writer.root(node)
    try:
        program = cel.compile(text)
    except (
        ValueError
    ) as error:  # faults that the parser lets pass, such as a malformed bytes literal
        raise FilterError(
            source, node.at, "malformed: " + str(error).splitlines()[-3][:100]
        ) from None
    operands = writer.operands
    price = MATCH_STEPS if _matches(node) else STEPS

    def call(facts: Facts) -> Any:
        given = {}
        size = 0
        for number, operand in enumerate(operands):
            value = operand(facts)
            size += _characters(value, facts)
            given[f"v{number}"] = value
        if size > TEXT:
            raise EvaluationError(f"texts of more than {TEXT} characters")
        facts.spend(price + size // CHARACTERS)
        try:
            return program.execute(given)
        except _CAUSES as error:
            raise EvaluationError(_words(error)) from None
        except (
            BaseException
        ) as error:  # a panic of the library is no Exception, and must not end this process
            if type(error).__module__ != "pyo3_runtime":
                raise
            raise EvaluationError("a fault of the evaluation") from None

    return call


def _characters(value: Any, facts: Facts) -> int:
    """Return the number of characters in all strings of a value. Also spend the steps for the value's
    lists and maps, which are converted into values of the library."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is list:
        facts.spend(2 * len(value))
        return sum(_characters(each, facts) for each in value)
    if kind is dict:
        facts.spend(4 * len(value))
        return sum(len(key) + _characters(each, facts) for key, each in value.items())
    return 0


def _sample(operand: Evaluate) -> Evaluate:
    def sample(facts: Facts) -> Any:
        value = operand(facts)
        return type(value)() if type(value) in (str, list, dict) else value

    return sample


def _matches(node: Expression) -> bool:
    if isinstance(node, FunctionCall) and node.function == "matches":
        return True
    return any(_matches(child) for child in children(node))


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\U{ord(each):08x}" for each in text) + '"'


def _words(error: Exception) -> str:
    """Return the message for an error of the library. The error's own text is not used, because it holds
    values of the event."""
    if isinstance(error, TypeError):
        return NO_OVERLOAD
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    if isinstance(error, KeyError):
        return "no such key"
    if isinstance(error, IndexError):
        return "index out of bounds"
    if isinstance(error, OverflowError):
        return "out of range"
    return "a value that cannot be converted, or a function of other kinds"
