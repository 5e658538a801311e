"""Filters compared with the CEL library over generated expressions and payloads, including errors."""

import re
from typing import Any

import cel
import orjson
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st

from engine.filters import EvaluationError, Facts, FilterError, compile_filter
from engine.filters.compiler import FilterCompiler
from engine.filters.parser import MACROS_MOST, parse

FAILED = object()
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
# Most values have types that the operators accept. If the types were random, the evaluation of almost
# every expression would fail.
payloads = st.one_of(
    st.fixed_dictionaries(
        {"a": numbers, "b": texts, "c": st.booleans(), "l": st.lists(scalars, max_size=3)}
    ),
    st.fixed_dictionaries(
        {"a": st.integers(-3, 3), "b": st.integers(-3, 3), "c": values, "l": st.lists(integers)}
    ),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=4),
)


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
shallow = st.sampled_from([f"event.payload.{key}" for key in KEYS])
deeper = st.tuples(shallow, st.sampled_from(KEYS)).map(".".join)
paths = st.one_of(shallow, shallow, shallow, deeper)
relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in"])
METHODS = st.sampled_from(["contains", "startsWith", "endsWith"])
MACROS = st.sampled_from(["all", "exists", "exists_one"])


def expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
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
            lambda p: f"({p[0]}.map(x, x, [x]).filter(x, x[0] {p[1]} {p[2]}) == [])"
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


def of_library(source: str, payload: Any) -> Any:
    try:
        return cel.evaluate(source, {"event": {"payload": payload}})
    except (ValueError, TypeError, KeyError, IndexError, ArithmeticError, RuntimeError):
        return FAILED


def of_filter(source: str, payload: Any) -> Any:
    evaluate = FilterCompiler(source).compile(parse(source))
    try:
        return evaluate(Facts({"payload": payload}))
    except EvaluationError:
        return FAILED


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one is other or one == other or (one != one and other != other)


def differs_by_intent(source: str, payload: bytes, mine: Any) -> bool:
    """Return True if our filter may give another result than the library (see docs/api/filters.md).

    Our `size` of a text counts code points, and the library's `size` counts bytes. In our filters, but
    not in the library, arithmetic with unsigned integers fails, and so does adding a map to a list.
    """
    if mine is FAILED and "+" in source and ("{" in source or b":{" in payload):
        return True
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
@example("(event.payload.l + event.payload.c)", {"l": [], "c": {}})
def test_every_expression_gives_what_the_library_gives(source: str, payload: Any) -> None:
    document = orjson.dumps(payload)
    decoded = orjson.loads(document)
    try:
        compile_filter(source)
    except FilterError:
        assume(False)
    mine, its = of_filter(source, decoded), of_library(source, decoded)
    assume(not differs_by_intent(source, document, mine))
    event("failed" if mine is FAILED else type(mine).__name__)
    assert same(mine, its), (source, payload, mine, its)


def test_a_list_plus_a_map_fails() -> None:
    """The library appends the map's keys."""
    source, payload = "[1] + event.payload.m", {"m": {"a": 2}}
    assert of_library(source, payload) == [1, "a"]
    assert of_filter(source, payload) is FAILED


@settings(max_examples=600, deadline=None)
@given(paths, relations, literals, payloads)
def test_every_plain_comparison_gives_what_the_library_gives(
    path: str, relation: str, constant: str, payload: Any
) -> None:
    decoded = orjson.loads(orjson.dumps(payload))
    for source in (f"{path} {relation} {constant}", f"{constant} {relation} {path}"):
        assert same(of_filter(source, decoded), of_library(source, decoded)), source


typed_payloads = st.fixed_dictionaries(
    {
        "n": st.one_of(st.integers(-3, 3), st.sampled_from([2**53, 2**63 - 1, -(2**63)])),
        "f": st.floats(allow_nan=False, allow_infinity=False),
        "s": texts,
        "t": texts,
        "o": st.booleans(),
        "l": st.lists(st.integers(-3, 3), max_size=4),
    }
)
whole = st.recursive(
    st.one_of(st.just("event.payload.n"), st.integers(-3, 3).map(str)),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map(lambda p: f"({' '.join(p)})"),
        st.just("size(event.payload.l)"),
        st.just("event.payload.l[0]"),
        inner.map(lambda e: f"int(string({e}))"),
    ),
    max_leaves=4,
)
fractions = st.one_of(
    st.just("event.payload.f"),
    st.just("1.5"),
    whole.map(lambda e: f"double({e})"),
    whole.map(lambda e: f"(event.payload.f / double({e}))"),
    st.sampled_from("+-*/").map(lambda sign: f"(event.payload.f {sign} -2.5)"),
)
words = st.one_of(
    st.just("event.payload.s"),
    texts.map(literal),
    st.just("(event.payload.s + event.payload.t)"),
    whole.map(lambda e: f"string({e})"),
)
orders = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
typed = st.recursive(
    st.one_of(
        st.just("event.payload.o"),
        st.tuples(whole, orders, whole).map(lambda p: f"({' '.join(p)})"),
        st.tuples(fractions, orders, whole).map(lambda p: f"({' '.join(p)})"),
        st.tuples(fractions, orders, fractions).map(lambda p: f"({' '.join(p)})"),
        st.tuples(words, orders, words).map(lambda p: f"({' '.join(p)})"),
        st.tuples(words, METHODS, words).map(lambda p: f"{p[0]}.{p[1]}({p[2]})"),
        st.tuples(whole, whole, whole).map(lambda p: f"({p[0]} in [{p[1]}, {p[2]}])"),
        st.tuples(words, texts, texts).map(
            lambda p: f"({p[0]} in [{literal(p[1])}, {literal(p[2])}])"
        ),
        whole.map(lambda e: f"({e} in event.payload.l)"),
        st.tuples(MACROS, orders, whole).map(
            lambda p: f"event.payload.l.{p[0]}(x, x {p[1]} {p[2]})"
        ),
        orders.map(lambda o: f"event.payload.l.filter(x, x {o} 0).map(x, x * 2) != [2, 4]"),
        st.just("has(event.payload.missing)"),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||", "==", "!="]), inner).map(
            lambda p: f"({' '.join(p)})"
        ),
        inner.map(lambda e: f"!{e}" if e[0] != "!" else f"!({e})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
    ),
    max_leaves=6,
)


@settings(max_examples=1000, deadline=None)
@given(typed, typed_payloads)
def test_well_typed_conditions_give_what_the_library_gives(source: str, payload: Any) -> None:
    decoded = orjson.loads(orjson.dumps(payload))
    assume(source.count("(x, ") <= MACROS_MOST)
    mine, its = of_filter(source, decoded), of_library(source, decoded)
    event("failed" if mine is FAILED else str(mine))
    assert same(mine, its), (source, payload, mine, its)
