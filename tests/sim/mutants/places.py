"""Places in a function: syntax nodes, found by a short description.

A description consists of the kind of the node and of names. The node must contain each name. But the node
must not contain a name that is written with a `-` before it. For example, `if retry_after_s` is the `if`
statement whose condition contains `retry_after_s`. `if _lines -add` is the `if` statement whose condition
contains `_lines` but not `add`. If matching nodes are nested, only the innermost node matches. A
description must match exactly one node.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

HERE = "HERE"  # in new code: what is at the place
KINDS: dict[str, tuple[type[ast.AST], ...]] = {
    "if": (ast.If,),
    "while": (ast.While,),
    "for": (ast.For, ast.AsyncFor),
    "try": (ast.Try,),
    "return": (ast.Return,),
    "set": (ast.Assign, ast.AnnAssign),
    "add": (ast.AugAssign,),
    "call": (ast.Call,),
    "compare": (ast.Compare,),
    "either": (ast.BoolOp,),
    "not": (ast.UnaryOp,),
    "choice": (ast.IfExp,),
    "sum": (ast.BinOp,),
    "item": (ast.Subscript,),
    "tuple": (ast.Tuple,),
    "list": (ast.List, ast.ListComp, ast.GeneratorExp),
    "name": (ast.Name,),
    "member": (ast.Attribute,),
}
_BELOW = ("body", "orelse", "finalbody", "handlers")  # of a statement: not part of its names


class Place(Struct):
    """The place of a syntax node in its parent. `node`: the parent. `field`: the name of the parent's
    field that holds the syntax node. `at`: if this field is a list, the index of the syntax node in it,
    else None."""

    node: ast.AST
    field: str
    at: int | None

    def get(self) -> ast.AST:
        held: Any = getattr(self.node, self.field)
        found: ast.AST = held if self.at is None else held[self.at]
        return found

    def replace(self, new: list[ast.stmt]) -> None:
        there, value = self.get(), expression(new)
        if value is not None and isinstance(there, ast.If | ast.While):
            return Place(there, "test", None).replace(new)
        made: Sequence[ast.AST] = new
        if isinstance(there, ast.Expr):
            made = [_Here(there, there.value).visit(each) for each in new]
        elif isinstance(there, ast.stmt):
            made = [_Here(there, there).visit(each) for each in new]
        else:
            assert value is not None, "statements cannot be where an expression is"
            made = [_Here(there, there).visit(value)]
        if self.at is None:
            return setattr(self.node, self.field, made[0])
        getattr(self.node, self.field)[self.at : self.at + 1] = made
        return None


def places(tree: ast.AST, words: str) -> list[Place]:
    """Return the innermost places in a function that match `words`. The place of a call includes its
    `await`. If a statement consists only of the call, the place is the whole statement."""
    kind, *names = words.split()
    everywhere = [*_all(tree)]
    found = [each for each in everywhere if _is(each.get(), kind, names)]
    nodes = {id(each.get()) for each in found}
    found = [each for each in found if nodes.isdisjoint(map(id, _within(each.get())))]
    for wider in (ast.Await, ast.Expr) if kind == "call" else ():
        around = {
            id(getattr(each.get(), "value", None)): each
            for each in everywhere
            if isinstance(each.get(), wider)
        }
        found = [around.get(id(each.get()), each) for each in found]
    return found


def parsed(words: str) -> list[ast.stmt]:
    """Empty code is `pass`."""
    return ast.parse(words or "pass").body


def expression(code: list[ast.stmt]) -> ast.expr | None:
    return code[0].value if len(code) == 1 and isinstance(code[0], ast.Expr) else None


def _all(tree: ast.AST) -> Iterator[Place]:
    for node in ast.walk(tree):
        for field, held in ast.iter_fields(node):
            if isinstance(held, ast.AST):
                yield Place(node, field, None)
            elif isinstance(held, list):
                yield from (
                    Place(node, field, at)
                    for at, each in enumerate(held)
                    if isinstance(each, ast.AST)
                )


def _is(node: ast.AST, kind: str, names: list[str]) -> bool:
    """Return True if a syntax node matches a description, which consists of a kind and names. If the kind
    is a call, the first name must be that of the called function or method. The target of an assignment
    never matches."""
    if not isinstance(node, KINDS[kind]) or isinstance(getattr(node, "ctx", None), ast.Store):
        return False
    if isinstance(node, ast.Call) and {*names[:1]}.isdisjoint(_names_of(node.func)):
        return False
    said = {name for each in (node, *_within(node)) for name in _names_of(each)}
    absent = {name[1:] for name in names if name.startswith("-")}
    return said.isdisjoint(absent) and said.issuperset(
        name for name in names if not name.startswith("-")
    )


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the syntax nodes below a syntax node. The bodies of compound statements (such as `if`) are
    left out."""
    for field, held in ast.iter_fields(node):
        if field in _BELOW and isinstance(node, ast.stmt):
            continue
        for each in held if isinstance(held, list) else [held]:
            if isinstance(each, ast.AST):
                yield each
                yield from _within(each)


def _names_of(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "arg"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name


class _Here(ast.NodeTransformer):
    """Replaces `HERE` in new code by the code at the place."""

    def __init__(self, there: ast.AST, value: ast.AST) -> None:
        self._there = there
        self._value = value

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == HERE:
            return self._there
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value if node.id == HERE else node
