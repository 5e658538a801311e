"""The language of a template's strings (leaves): Jinja's expressions and conditions, no loops, no calls.

A leaf's cost is linear in the size of the values that it reads. No look-up reaches an attribute of a
Python object.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeVisitor

from engine.templates.filters import FILTERS
from engine.templates.values import Numeral, as_text


class LeafError(Exception):
    """A leaf is not written in the language."""


class Omitted:
    """The value `omit`: its member or item is left out."""

    def __bool__(self) -> bool:
        return False


OMIT: Final = Omitted()
VARIABLES = frozenset({"event", "body", "config", "omit"})
# The Jinja nodes that a leaf can contain. All other nodes are refused, because with nodes such as For,
# Call, Macro, Import, Mul or Pow a short leaf could make a large result.
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.Name, nodes.Const, nodes.List,
    nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.Getattr, nodes.Getitem, nodes.Filter,
    nodes.Test, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not, nodes.Compare, nodes.Operand,
    nodes.Concat,
)  # fmt: skip


class LeafSandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, limited to look-ups of members of objects and items of lists."""

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a member of an object or an item of a list. If there is none, return a value that raises
        an error as soon as the template uses it."""
        if isinstance(obj, Mapping):
            if isinstance(argument, str) and argument in obj:
                return obj[argument]
        elif (
            isinstance(obj, list) and isinstance(argument, int) and -len(obj) <= argument < len(obj)
        ):
            return obj[argument]
        return self.undefined(obj=obj, name=argument)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a member, never an attribute."""
        return self.getitem(obj, attribute)

    def is_safe_callable(self, obj: Any) -> bool:
        """Return False: nothing can be called."""
        return False


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | Numeral) and not isinstance(value, bool)


TESTS: dict[str, Callable[..., bool]] = {
    "text": _is_text,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
    "true": lambda value: value is True,
    "in": lambda value, values: value in values,  # `not in` and `in` need it
}


def _shown(value: Any) -> Any:
    return "" if value is OMIT else value if isinstance(value, StrictUndefined) else as_text(value)


def _made() -> LeafSandbox:
    environment = LeafSandbox(
        undefined=StrictUndefined, autoescape=False, finalize=_shown, keep_trailing_newline=True
    )
    environment.globals.clear()
    environment.globals["omit"] = OMIT
    environment.filters = dict(FILTERS)
    environment.tests = dict(TESTS)
    return environment


ENVIRONMENT = _made()


class _LeafJudge(NodeVisitor):
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> None:
        if not isinstance(node, _ALLOWED):
            raise LeafError(f"{type(node).__name__} is not in the language of templates")
        if isinstance(node, nodes.Name) and node.name not in self._names:
            raise LeafError(f"there is no {node.name}; there are {', '.join(sorted(self._names))}")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise LeafError(f"there is no filter {node.name}")
        if isinstance(node, nodes.Test) and node.name not in TESTS:
            raise LeafError(f"there is no test {node.name}")
        super().generic_visit(node, *args, **kwargs)


def parsed(leaf: str, names: frozenset[str] = VARIABLES) -> nodes.Template:
    """Return a leaf's syntax tree. Raises LeafError."""
    try:
        tree = ENVIRONMENT.parse(leaf)
        _LeafJudge(names).visit(tree)
    except TemplateSyntaxError as error:
        raise LeafError(f"{leaf!r}: {error.message}") from error
    except RecursionError:
        raise LeafError("a leaf is nested too deeply") from None
    return tree


def is_written(leaf: str) -> bool:
    """Return True if a text contains an expression or a condition."""
    return "{{" in leaf or "{%" in leaf


def sole_expression(tree: nodes.Template) -> nodes.Expr | None:
    """Return the expression that is the whole leaf, or None."""
    if len(tree.body) == 1 and isinstance(tree.body[0], nodes.Output):
        parts = tree.body[0].nodes
        if len(parts) == 1 and not isinstance(parts[0], nodes.TemplateData):
            return parts[0]
    return None
