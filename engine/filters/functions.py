"""The functions of the filter language, and how each is written: `f(x)`, or as a method `x.f(y)`."""

from msgspec import Struct

from engine.filters.syntax import Expression, FilterError, FunctionCall, Literal, children


class Function(Struct, frozen=True):
    """A function. `arguments`: how many it can have, counting the `x` of `x.f(y)`. `method`: `x.f(y)` is
    allowed. `function`: `f(x)` is allowed."""

    arguments: tuple[int, ...]
    method: bool = False
    function: bool = False
    native: bool = False  # evaluated by closures, not by the library
    opaque: bool = False  # its result is of a kind that JSON does not have


_GETTERS = (
    "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear",
    "getHours", "getMinutes", "getSeconds", "getMilliseconds",
)  # fmt: skip
FUNCTIONS = {
    "size": Function((1,), method=True, function=True, native=True),
    "contains": Function((2,), method=True, native=True),
    "startsWith": Function((2,), method=True, native=True),
    "endsWith": Function((2,), method=True, native=True),
    "matches": Function((2,), method=True, function=True),
    "dyn": Function((1,), function=True, native=True),
    "int": Function((1,), function=True),
    "double": Function((1,), function=True),
    "string": Function((1,), function=True),
    "uint": Function((1,), function=True, opaque=True),
    "bytes": Function((1,), function=True, opaque=True),
    "timestamp": Function((1,), function=True, opaque=True),
    "duration": Function((1,), function=True, opaque=True),
    "type": Function((1,), function=True, opaque=True),
    **{name: Function((1,), method=True) for name in _GETTERS},
}


def check(source: str, node: Expression) -> None:
    """Raise FilterError for a call of an unknown function, or a call that is written wrongly."""
    for child in children(node):
        check(source, child)
    if not isinstance(node, FunctionCall):
        return
    known = FUNCTIONS.get(node.function)
    if known is None:
        raise FilterError(source, node.at, f"unknown function {node.function}()")
    if not (known.method if node.method else known.function):
        form = "x.f(y)" if known.method else "f(x)"
        raise FilterError(source, node.at, f"{node.function}() is written as {form}")
    if len(node.arguments) not in known.arguments:
        given = len(node.arguments) - node.method
        raise FilterError(source, node.at, f"{node.function}() does not take {given} arguments")
    if node.function == "matches":
        pattern = node.arguments[1]
        if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)):
            raise FilterError(source, pattern.at, "the pattern of matches() must be written out")
