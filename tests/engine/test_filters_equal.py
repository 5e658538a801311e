"""Filters give what the CEL library gives: over generated expressions and payloads, errors included."""

import re
from typing import Any

import cel
import orjson
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from engine.filters import EvaluationError, Facts, compile_filter

KEYS = ("a", "b", "c", "l")
texts = st.text(alphabet="aAb0é\U0001f600", max_size=3)
integers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]),
)
numbers = st.one_of(integers, st.sampled_from([0.0, -0.0, 1.0, 1.5, -2.5, 2.0**53, 1e300, -1e300]))
scalars = st.one_of(st.none(), st.booleans(), texts, numbers)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    ),
    max_leaves=6,
)
payloads = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)


def literal(value: Any) -> str:
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(each):08x}" for each in value) + '"'
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else repr(value)
    )


literals = st.one_of(
    st.none(), st.booleans(), texts, st.integers(-3, 3),
    st.sampled_from([2**53, 2**63 - 1, -(2**63), 0.0, 1.0, 1.5, -2.5, 2.0**53]),
).map(literal)  # fmt: skip
paths = st.lists(st.sampled_from(KEYS), min_size=1, max_size=2).map(
    lambda keys: "event.payload." + ".".join(keys)
)
relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in"])
METHODS = st.sampled_from(["contains", "startsWith", "endsWith"])
MACROS = st.sampled_from(["all", "exists", "exists_one"])


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """What may be built of expressions."""
    return st.one_of(
        st.tuples(inner, relations, inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda p: f"({' '.join(p)})"),
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda p: f"({' '.join(p)})"),
        inner.map(lambda e: f"!({e})"),
        st.tuples(inner, inner).map(lambda p: f"-({p[0]} + {p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
        paths.map(lambda p: f"has({p})"),
        st.tuples(inner, METHODS, inner).map(lambda p: f"({p[0]}).{p[1]}({p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})[{p[1]}]"),
        inner.map(lambda e: f"size({e})"),
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        inner.map(lambda e: '{"a": ' + e + "}"),
        st.tuples(paths, MACROS, relations, inner).map(
            lambda p: f"{p[0]}.{p[1]}(x, x {p[2]} {p[3]})"
        ),
        st.tuples(paths, relations, inner).map(
            lambda p: f"{p[0]}.map(x, x, [x]).filter(x, x[0] {p[1]} {p[2]}) == []"
        ),
        st.tuples(paths, relations).map(
            lambda p: f"{p[0]}.exists(x, {p[0]}.exists(y, x {p[1]} y))"
        ),
        st.sampled_from(["int", "double", "string", "uint", "type", "dyn"]).flatmap(
            lambda name: st.tuples(inner, inner).map(lambda p: f"({name}({p[0]}) == {p[1]})")
        ),
        inner.map(lambda e: f"({e} == 1u)"),
    )


anything = st.recursive(st.one_of(literals, paths, paths), expressions, max_leaves=6)


def of_library(source: str, payload: Any) -> bool | str:
    try:
        value = cel.evaluate(source, {"event": {"payload": payload}})
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RuntimeError):
        return "failed"
    return value if isinstance(value, bool) else "failed"


def of_filter(source: str, payload: Any) -> bool | str:
    try:
        return compile_filter(source).matches(Facts({"payload": payload}))
    except EvaluationError:
        return "failed"


def differs_by_intent(source: str, payload: bytes) -> bool:
    """What is decided otherwise, see docs/filters.md: sizes count code points, where the library counts
    bytes; unsigned integers take no part in arithmetic; a map's keys have an order."""
    if "size" in source and not payload.isascii():
        return True
    if "size" in source and re.search(r"\\U0001f600|\\U000000e9", source):
        return True
    huge = re.search(rb"\d{19}", payload) is not None
    return huge and any(
        sign in source for sign in (" + ", " - ", " * ", " / ", " % ", "uint", "type")
    )


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(anything, payloads)
@example("(event.payload.a == 1)", {"a": True})
@example("(event.payload.a == 9007199254740993)", {"a": 2.0**53})
@example("(1.0 in event.payload.a)", {"a": {"a": 1}})
def test_every_expression_gives_what_the_library_gives(source: str, payload: Any) -> None:
    document = orjson.dumps(payload)
    assume(not differs_by_intent(source, document))
    decoded = orjson.loads(document)
    try:
        compile_filter(source)
    except ValueError:
        assume(False)
    mine, its = of_filter(source, decoded), of_library(source, decoded)
    assert mine == its, (source, payload)


@settings(max_examples=600, deadline=None)
@given(paths, relations, literals, payloads)
def test_every_plain_comparison_gives_what_the_library_gives(
    path: str, relation: str, constant: str, payload: Any
) -> None:
    decoded = orjson.loads(orjson.dumps(payload))
    for source in (f"{path} {relation} {constant}", f"{constant} {relation} {path}"):
        assert of_filter(source, decoded) == of_library(source, decoded), source
