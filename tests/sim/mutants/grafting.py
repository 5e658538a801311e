"""Pieces of a function's syntax: found by what they say, however it is laid out, and replaced.

A piece is an expression, statements, or the head of a statement, such as `if twins:`. The statement `...`
below a head stands for whatever is below it. A name that the function does not know stands for one of its
locals, which has another name by now.
"""

import ast
from collections.abc import Iterator, Set
from typing import Any

from msgspec import Struct

Names = dict[str, str]  # what a piece calls a local -> what the function calls it
_BELOW = ("body", "orelse", "finalbody", "handlers")


class Place(Struct):
    """A place of a piece: a field of a node, or `at` in the list that the field holds."""

    node: ast.AST
    field: str
    at: int | None
    names: Names


class Piece:
    """A piece that is to be replaced, and what replaces it."""

    def __init__(self, old: str, new: str) -> None:
        self._new = new
        self._old: Any = parsed(old)
        # An expression that gives way to statements is one itself: a call by which nothing is returned.
        if expression(parsed(new)) is not None:
            self._old = expression(self._old) or self._old

    @property
    def names(self) -> set[str]:
        """The names that are read in the piece."""
        nodes = self._old if isinstance(self._old, list) else [self._old]
        return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}

    def places(self, function: ast.AST, strange: Set[str] = frozenset()) -> list[Place]:
        """Return the piece's places; `strange` names stand for locals."""
        return [*self._places(function, strange)]

    def _places(self, function: ast.AST, strange: Set[str]) -> Iterator[Place]:
        local = bound(function)
        for node in ast.walk(function):
            for field, held in ast.iter_fields(node):
                at: int | None
                for at, part in enumerate(held) if isinstance(held, list) else [(None, held)]:
                    if isinstance(self._old, list):
                        part = held[at : at + len(self._old)] if at is not None else part
                    names: Names = {}
                    if _same(self._old, part, names, strange, local):
                        yield Place(node, field, at, names)

    def replace(self, place: Place) -> None:
        """Have the new piece at the place."""
        new = [_Renaming(place.names).visit(each) for each in parsed(self._new)]
        held = getattr(place.node, place.field)
        if not isinstance(self._old, list):
            if place.at is None:
                setattr(place.node, place.field, expression(new))
            else:
                held[place.at] = expression(new)
            return
        assert place.at is not None
        end = place.at + len(self._old)
        last = held[end - 1]
        for statement in new:
            if _is_head(statement):
                _keep_below(statement, last)
        held[place.at : end] = new


def parsed(words: str) -> list[ast.stmt]:
    """Return the statements that words are; no words are `pass`."""
    return ast.parse(f"{words} ..." if words.endswith(":") else words or "pass").body


def expression(piece: list[ast.stmt]) -> ast.expr | None:
    """Return the expression that a piece is, if it is nothing more."""
    return piece[0].value if len(piece) == 1 and isinstance(piece[0], ast.Expr) else None


def bound(function: ast.AST) -> set[str]:
    """Return a function's own names: its arguments, and whatever is bound in it."""
    own = set()
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                own.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                own.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                own.add(name)
            case _:
                pass
    return own


def _same(piece: Any, part: Any, names: Names, strange: Set[str], local: Set[str]) -> bool:
    """Return whether a part of a function is a piece; learn what its strange names stand for."""
    if type(piece) is not type(part):
        return False
    if isinstance(piece, list):
        return len(piece) == len(part) and all(
            _same(*pair, names, strange, local) for pair in zip(piece, part, strict=True)
        )
    if isinstance(piece, ast.Name) and piece.id in strange:
        return part.id in local and names.setdefault(piece.id, part.id) == part.id
    if isinstance(piece, ast.AST):
        left_out = _BELOW if _is_head(piece) else ()
        return all(
            _same(getattr(piece, field, None), getattr(part, field, None), names, strange, local)
            for field in piece._fields
            if field not in left_out
        )
    return bool(piece == part)


def _is_head(node: ast.AST) -> bool:
    """Return whether below a statement there is `...` only."""
    match getattr(node, "body", None):
        case [ast.Expr(value=ast.Constant(value=value))]:
            return value is ...
        case _:
            return False


def _keep_below(statement: ast.AST, found: ast.AST) -> None:
    for field in _BELOW:
        if hasattr(found, field):
            setattr(statement, field, getattr(found, field))


class _Renaming(ast.NodeTransformer):
    """Calls locals as the function does."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)
