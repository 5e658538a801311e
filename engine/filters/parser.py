"""The parser of the filter language: CEL source into a tree, by recursive descent along CEL's grammar.

An expression whose cost has no bound is refused.
"""

from collections.abc import Callable, Sequence

from engine.filters.syntax import (
    Binary,
    Expression,
    Field,
    FilterError,
    FunctionCall,
    Has,
    Index,
    ListOf,
    Literal,
    Logic,
    Macro,
    MapOf,
    Opaque,
    Select,
    Ternary,
    Unary,
    Variable,
)
from engine.filters.tokens import Token, tokens

FIELDS = ("eventType", "payload", "metadata", "source", "customerExternalId", "occurredAt")
MACROS = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
TYPES = frozenset(
    {"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"}
)
DEPTH = 32  # of the tree: its evaluation takes up to five Python frames for each level
MACRO_DEPTH = 2  # one macro inside another; three levels would take the cube of a list's length
MACROS_MOST = 8  # in all; each goes through a list
INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_RELATIONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "in"})
_RESERVED = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
        "namespace", "package", "return", "var", "void", "while",
    }
)  # fmt: skip


def parse(source: str) -> Expression:
    """Return the tree of an expression. Raises FilterError."""
    return _Parser(source).whole()


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = tokens(source)
        self._index = 0
        self._next: Token = self._tokens[0]
        self._bound: list[str] = []  # variables of the macros around, the innermost last
        self._macros = 0
        self._open = 0  # expressions that are being read, one within another

    def whole(self) -> Expression:
        node = self._expression()
        if self._next.kind != "end":
            raise self._unexpected()
        return node

    # --- tokens

    def _advance(self) -> Token:
        token = self._next
        self._index += 1
        self._next = self._tokens[min(self._index, len(self._tokens) - 1)]
        return token

    def _is(self, text: str) -> bool:
        return self._next.text == text and self._next.kind in ("sign", "name")

    def _take(self, text: str) -> bool:
        if self._is(text):
            self._advance()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._unexpected(f", {text!r} is expected")

    def _unexpected(self, wanted: str = "") -> FilterError:
        token = self._next
        what = "the end" if token.kind == "end" else repr(token.text)
        return self._refused(token.position, f"unexpected {what}{wanted}")

    def _refused(self, at: int, message: str) -> FilterError:
        return FilterError(self._source, at, message)

    def _depth(self, at: int, below: Sequence[Expression]) -> int:
        depth = 1 + max((node.depth for node in below), default=0)
        if depth > DEPTH:
            raise self._refused(at, f"nested more than {DEPTH} deep")
        return depth

    # --- operators, the loosest first

    def _expression(self) -> Expression:
        at = self._next.position
        self._open += 1
        if self._open > DEPTH:
            raise self._refused(at, f"nested more than {DEPTH} deep")
        node = self._logic("||", lambda: self._logic("&&", self._relation))
        if self._take("?"):
            yes = self._logic("||", lambda: self._logic("&&", self._relation))
            self._expect(":")
            no = self._expression()
            depth = self._depth(at, (node, yes, no))
            node = Ternary(condition=node, yes=yes, no=no, at=at, depth=depth)
        self._open -= 1
        return node

    def _logic(self, operator: str, below: Callable[[], Expression]) -> Expression:
        at = self._next.position
        operands = [below()]
        while self._take(operator):
            operands.append(below())
        if len(operands) == 1:
            return operands[0]
        depth = self._depth(at, operands)
        return Logic(operator=operator, operands=tuple(operands), at=at, depth=depth)

    def _relation(self) -> Expression:
        return self._binary(_RELATIONS, self._sum)

    def _sum(self) -> Expression:
        return self._binary({"+", "-"}, self._product)

    def _product(self) -> Expression:
        return self._binary({"*", "/", "%"}, self._unary)

    def _binary(
        self, operators: frozenset[str] | set[str], below: Callable[[], Expression]
    ) -> Expression:
        node = below()
        while self._next.text in operators and self._next.kind in ("sign", "name"):
            token = self._advance()
            right = below()
            depth = self._depth(token.position, (node, right))
            node = Binary(
                operator=token.text, left=node, right=right, at=token.position, depth=depth
            )
        return node

    def _unary(self) -> Expression:
        token = self._next
        if token.kind == "sign" and token.text in "!-":
            self._advance()
            if token.text == "-" and self._next.kind in ("int", "float"):
                number = self._number(self._advance(), "-")
                return self._members(number)
            self._open += 1
            if self._open > DEPTH:
                raise self._refused(token.position, f"nested more than {DEPTH} deep")
            operand = self._unary()
            self._open -= 1
            depth = self._depth(token.position, (operand,))
            return Unary(operator=token.text, operand=operand, at=token.position, depth=depth)
        return self._members(self._primary())

    # --- members and calls

    def _members(self, node: Expression) -> Expression:
        while True:
            at = self._next.position
            if self._take("."):
                name = self._identifier()
                node = self._call(name, node, at) if self._is("(") else self._select(node, name, at)
            elif self._take("["):
                key = self._expression()
                self._expect("]")
                depth = self._depth(at, (node, key))
                node = Index(operand=node, key=key, at=at, depth=depth)
            else:
                return node

    def _select(self, node: Expression, name: str, at: int) -> Expression:
        return Select(operand=node, name=name, at=at, depth=self._depth(at, (node,)))

    def _identifier(self) -> str:
        if self._next.kind != "name" or self._next.text in ("in", "true", "false", "null"):
            raise self._unexpected(", a name is expected")
        return self._advance().text

    def _call(self, name: str, target: Expression | None, at: int) -> Expression:
        if target is not None and name in MACROS:
            return self._macro(name, target, at)
        if target is None and name == "has":
            return self._has(at)
        arguments = [] if target is None else [target]
        arguments += self._arguments()
        depth = self._depth(at, arguments)
        method = target is not None
        return FunctionCall(
            function=name, arguments=tuple(arguments), method=method, at=at, depth=depth
        )

    def _arguments(self) -> list[Expression]:
        self._expect("(")
        return self._list(")")

    def _list(self, closing: str, trailing: bool = False) -> list[Expression]:
        found: list[Expression] = []
        while not self._take(closing):
            if found:
                self._expect(",")
                if trailing and self._take(closing):
                    break
            found.append(self._expression())
        return found

    def _has(self, at: int) -> Expression:
        self._expect("(")
        if self._is("event") and "event" not in self._bound:
            field = self._field(self._advance(), testing=True)
            node = self._members(field) if not self._is(")") else field
        else:
            node = self._members(self._primary())
        self._expect(")")
        if isinstance(node, Field):
            return Has(operand=None, name=node.name, at=at)
        if not isinstance(node, Select):
            raise self._refused(at, "has() takes a field, as in has(event.payload.name)")
        return Has(operand=node.operand, name=node.name, at=at, depth=node.depth)

    def _macro(self, name: str, target: Expression, at: int) -> Expression:
        self._macros += 1
        if self._macros > MACROS_MOST:
            raise self._refused(at, f"more than {MACROS_MOST} macros")
        if len(self._bound) >= MACRO_DEPTH:
            raise self._refused(at, "more than one nested macro")
        self._expect("(")
        variable = self._next
        bound = self._identifier()
        if bound in _RESERVED:
            raise self._refused(variable.position, f"{bound!r} is a reserved word")
        self._bound.append(bound)
        bodies: list[Expression] = []
        while self._take(","):
            bodies.append(self._expression())
        self._bound.pop()
        self._expect(")")
        if len(bodies) + 1 not in MACROS[name]:
            raise self._refused(at, f"{name}() takes a variable and an expression")
        return Macro(
            name=name,
            range=target,
            variable=Variable(name=bound, slot=len(self._bound), at=variable.position),
            body=bodies[-1],
            condition=bodies[0] if len(bodies) == 2 else None,
            at=at,
            depth=self._depth(at, (target, *bodies)),
        )

    # --- literals, names, lists and maps

    def _primary(self) -> Expression:
        token = self._advance()
        kind, text, at = token.kind, token.text, token.position
        if kind == "string":
            return Literal(value=text, at=at)
        if kind in ("int", "float"):
            return self._number(token)
        if kind == "uint":
            if int(text[:-1], 0 if "x" in text else 10) > UINT_MAX:
                raise self._refused(at, "more than 64 bits")
            return Opaque(source=text, at=at)
        if kind == "bytes":
            return Opaque(source=text, at=at)
        if kind == "name":
            return self._named(token)
        if text == "(":
            node = self._expression()
            self._expect(")")
            return node
        if text == "[":
            items = tuple(self._list("]", trailing=True))
            return ListOf(items=items, at=at, depth=self._depth(at, items))
        if text == "{":
            return self._map(at)
        self._index -= 1
        self._next = token
        raise self._unexpected()

    def _number(self, token: Token, sign: str = "") -> Expression:
        text = sign + token.text
        if token.kind == "float":
            value = float(text)
            if value in (float("inf"), float("-inf")):
                raise self._refused(token.position, "more than a double holds")
            return Literal(value=value, at=token.position)
        number = int(text, 16 if "x" in text else 10)
        if not INT_MIN <= number <= INT_MAX:
            raise self._refused(token.position, "more than 64 bits")
        return Literal(value=number, at=token.position)

    def _named(self, token: Token) -> Expression:
        text, at = token.text, token.position
        if text in ("true", "false"):
            return Literal(value=text == "true", at=at)
        if text == "null":
            return Literal(value=None, at=at)
        if self._is("("):
            return self._call(text, None, at)
        for slot in range(len(self._bound) - 1, -1, -1):
            if self._bound[slot] == text:
                return Variable(name=text, slot=slot, at=at)
        if text == "event":
            return self._field(token)
        if text in TYPES:
            return Opaque(source=text, at=at)
        raise self._refused(at, f"unknown name {text!r}: a filter can only use event")

    def _field(self, token: Token, testing: bool = False) -> Expression:
        """`.name` or `["name"]`"""
        at = self._next.position
        name = ""
        if self._take("."):
            at = self._next.position
            name = self._identifier()
        elif not testing and self._take("["):
            at = self._next.position
            name = self._advance().text if self._next.kind == "string" else ""
            self._expect("]")
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise self._refused(at, f"unknown name: an event has {known}")
        return Field(name=name, at=token.position)

    def _map(self, at: int) -> Expression:
        keys: list[Expression] = []
        values: list[Expression] = []
        while not self._take("}"):
            if keys:
                self._expect(",")
                if self._take("}"):
                    break
            key = self._expression()
            if not (isinstance(key, Literal) and isinstance(key.value, str)):
                raise self._refused(key.at, "the keys of a map must be strings")
            self._expect(":")
            keys.append(key)
            values.append(self._expression())
        depth = self._depth(at, values)
        return MapOf(keys=tuple(keys), values=tuple(values), at=at, depth=depth)
