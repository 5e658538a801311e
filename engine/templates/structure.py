"""The structure of a template's body: JSON whose strings (the leaves) are in the template language.

All leaves are compiled into one program, which only computes the values of the leaves. These values are
put into the structure after the program has run. So no value of an event can change the structure.
"""

from collections.abc import Callable
from typing import Any

from jinja2 import Template, Undefined, nodes

from engine.templates.language import (
    ENVIRONMENT,
    OMIT,
    VARIABLES,
    LeafError,
    is_written,
    parsed,
    sole_expression,
)

EACH_LIMIT = 50  # elements of one `$each`; no reader wants more
_CONDITION, _EACH, _ITEM = "$if", "$each", "$item"
Values = dict[str, Any]
Place = Callable[[Values, Values], Any]  # (values of the leaves, variables) -> the value of a place


class Structure:
    """A compiled structure.

    An object `{"$if": condition, ...}` is left out if the condition is false. In a list, the object
    `{"$each": items, "$item": structure}` makes one element for each of `items`: the value of
    `structure`, in which the variable `item` is that item.
    """

    __slots__ = ("_program", "_root")

    def __init__(self, document: Any, names: frozenset[str] = VARIABLES) -> None:
        """Raises LeafError."""
        compiler = _Compiler(names)
        self._root = compiler.place(document)
        self._program = compiler.program()

    def value(self, variables: Values) -> Any:
        """Return the structure with each leaf replaced by its value. Raises jinja2.UndefinedError for a
        missing member, and ValueFault for a value that cannot be JSON."""
        return self._root(self._run(variables), variables)

    def _run(self, variables: Values) -> Values:
        program = self._program
        if program is None:
            return {}
        context = program.new_context(variables)
        for _ in program.root_render_func(context):
            pass
        return context.vars


class _Compiler:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._statements: list[nodes.Node] = []

    def program(self) -> Template | None:
        if not self._statements:
            return None
        tree = nodes.Template(self._statements, lineno=1)
        tree.set_environment(ENVIRONMENT)
        code = ENVIRONMENT.compile(tree)
        return Template.from_code(ENVIRONMENT, code, ENVIRONMENT.globals)

    def place(self, document: Any) -> Place:
        if isinstance(document, str):
            return self._leaf(document)
        if isinstance(document, list):
            return self._list(document)
        if isinstance(document, dict):
            return self._object(document)
        return lambda _leaves, _variables: document

    def _leaf(self, text: str) -> Place:
        if not is_written(text):
            return lambda _leaves, _variables: text
        tree = parsed(text, self._names)
        name = f"leaf_{len(self._statements)}"
        target = nodes.Name(name, "store", lineno=1)
        expression = sole_expression(tree)
        statement: nodes.Node
        if expression is not None:
            statement = nodes.Assign(target, expression, lineno=1)
        else:
            statement = nodes.AssignBlock(target, None, tree.body, lineno=1)
        self._statements.append(statement)

        def value(leaves: Values, _variables: Values) -> Any:
            found = leaves[name]
            if isinstance(found, Undefined):
                str(found)  # raises UndefinedError with the missing member's name
            return found

        return value

    def _list(self, document: list[Any]) -> Place:
        places = [
            self._each(element) if isinstance(element, dict) and _EACH in element
            else _single(self.place(element))
            for element in document
        ]  # fmt: skip

        def value(leaves: Values, variables: Values) -> Any:
            return [found for place in places for found in place(leaves, variables)]

        return value

    def _each(self, document: dict[str, Any]) -> Place:
        if set(document) != {_EACH, _ITEM}:
            raise LeafError(f"{_EACH} and {_ITEM} stand alone, together")
        items = self.place(document[_EACH])
        structure = Structure(document[_ITEM], self._names | {"item"})

        def value(leaves: Values, variables: Values) -> Any:
            found = items(leaves, variables)
            if not isinstance(found, list):
                return []
            values = [structure.value({**variables, "item": item}) for item in found[:EACH_LIMIT]]
            return [each for each in values if each is not OMIT]

        return value

    def _object(self, document: dict[str, Any]) -> Place:
        if _EACH in document:
            raise LeafError(f"{_EACH} stands for elements of a list")
        condition = self.place(document[_CONDITION]) if _CONDITION in document else None
        places = [(name, self.place(each)) for name, each in document.items() if name != _CONDITION]

        def value(leaves: Values, variables: Values) -> Any:
            if condition is not None and not condition(leaves, variables):
                return OMIT
            found = {name: place(leaves, variables) for name, place in places}
            return {name: each for name, each in found.items() if each is not OMIT}

        return value


def _single(place: Place) -> Place:
    def value(leaves: Values, variables: Values) -> Any:
        found = place(leaves, variables)
        return [] if found is OMIT else [found]

    return value
