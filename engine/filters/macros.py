"""The macros of the filter language: loops over a list or a map's keys.

Before a macro evaluates its body for an element, it spends the steps for that element (see
`engine.filters.scope.STEPS`).

If the body fails for an element, the macro fails at once. The CEL library, which evaluates other parts
of filters, also fails at once. CEL's specification is different: the evaluation goes on, because a later
element can still decide the result.
"""

from collections.abc import Callable
from typing import Any

from engine.filters.scope import Facts
from engine.filters.syntax import NO_OVERLOAD, EvaluationError, Expression, Macro, children

Evaluate = Callable[[Facts], Any]
Make = Callable[[Evaluate, int, Evaluate, Evaluate | None, int], Evaluate]


def cost_of(macro: Macro) -> int:
    """Return how many steps the macro spends for each element: one for the element, and one for each node
    of the macro's condition and body.

    The body of an inner macro is not counted: the inner macro spends steps for its own elements.
    """
    bodies = (macro.body,) if macro.condition is None else (macro.condition, macro.body)
    return 1 + sum(_nodes(body) for body in bodies)


def _nodes(node: Expression) -> int:
    below = (node.range,) if isinstance(node, Macro) else children(node)
    return 1 + sum(_nodes(child) for child in below)


def _rounds(value: Any) -> list[Any]:
    if type(value) is list:
        return value
    if type(value) is dict:
        return list(value)
    raise EvaluationError(NO_OVERLOAD)


def _holds(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise EvaluationError(NO_OVERLOAD)


def _all(over: Evaluate, slot: int, body: Evaluate, _: Evaluate | None, cost: int) -> Evaluate:
    def every(facts: Facts) -> bool:
        for value in _rounds(over(facts)):
            facts.spend(cost)
            facts.variables[slot] = value
            if not _holds(body(facts)):
                return False
        return True

    return every


def _exists(over: Evaluate, slot: int, body: Evaluate, _: Evaluate | None, cost: int) -> Evaluate:
    def some(facts: Facts) -> bool:
        for value in _rounds(over(facts)):
            facts.spend(cost)
            facts.variables[slot] = value
            if _holds(body(facts)):
                return True
        return False

    return some


def _exists_one(
    over: Evaluate, slot: int, body: Evaluate, _: Evaluate | None, cost: int
) -> Evaluate:
    def one(facts: Facts) -> bool:
        found = 0
        for value in _rounds(over(facts)):
            facts.spend(cost)
            facts.variables[slot] = value
            found += _holds(body(facts))
        return found == 1

    return one


def _filter(over: Evaluate, slot: int, body: Evaluate, _: Evaluate | None, cost: int) -> Evaluate:
    def those(facts: Facts) -> list[Any]:
        found = []
        for value in _rounds(over(facts)):
            facts.spend(cost)
            facts.variables[slot] = value
            if _holds(body(facts)):
                found.append(value)
        return found

    return those


def _map(
    over: Evaluate, slot: int, body: Evaluate, condition: Evaluate | None, cost: int
) -> Evaluate:
    def each(facts: Facts) -> list[Any]:
        made = []
        for value in _rounds(over(facts)):
            facts.spend(cost)
            facts.variables[slot] = value
            if condition is None or _holds(condition(facts)):
                made.append(body(facts))
        return made

    return each


MACROS: dict[str, Make] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
}
