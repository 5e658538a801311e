"""The template language, its filters, and the rules about answers."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.templates import filters
from engine.templates.answers import AnswerRules
from engine.templates.filters import ELLIPSIS, MEASURES
from engine.templates.language import LeafError
from engine.templates.message import event_of
from engine.templates.structure import EACH_LIMIT, Structure
from engine.templates.values import Numeral, ValueFault, decoded, encoded, indented


def value(document: Any, **event: Any) -> Any:
    return Structure(document).value({"event": event, "body": event, "config": {}})


# --- structures


def test_a_leaf_that_is_one_expression_gives_its_value_any_other_a_text() -> None:
    assert value("{{ event.n }}", n=[1, {"a": None}]) == [1, {"a": None}]
    assert value(" {{ event.n }}", n=[1, True]) == " [1,true]"
    assert value("{{ event.a }}{{ event.b }}", a=None, b=False) == "false"
    assert value("{% if event.a %}yes{% else %}no{% endif %}", a=0) == "no"
    assert value("plain") == "plain"
    assert value({"a": [1, None, "{{ event.n ~ 1 }}"]}, n="x") == {"a": [1, None, "x1"]}


def test_members_and_elements_are_left_out_where_they_say_so() -> None:
    document = {
        "a": "{{ event.a or omit }}",
        "b": {"$if": "{{ event.a }}", "c": 1},
        "d": ["{{ event.a or omit }}", {"$if": "{{ event.a }}", "e": 2}, 3],
    }
    assert value(document, a=None) == {"d": [3]}
    assert value(document, a="x") == {"a": "x", "b": {"c": 1}, "d": ["x", {"e": 2}, 3]}


def test_an_element_stands_for_each_of_a_list_up_to_a_bound() -> None:
    document = [
        {"$each": "{{ event.l }}", "$item": {"v": "{{ item }}", "t": "{{ event.t }}"}},
        "end",
    ]
    assert value(document, l=[1, "a"], t=0) == [{"v": 1, "t": 0}, {"v": "a", "t": 0}, "end"]
    assert value(document, l={"no": "list"}, t=0) == ["end"]
    assert len(value(document, l=list(range(1_000)), t=0)) == EACH_LIMIT + 1


@pytest.mark.parametrize(
    "document",
    [
        {"$each": "{{ event.l }}", "$item": 1},
        [{"$each": "{{ event.l }}"}],
        [{"$each": "{{ event.l }}", "$item": 1, "more": 2}],
        "{{ item }}",
        "{{ event.a",
        "{{ event.a() }}",
        "{{ 'a' * 9 }}",
        "{{ 2 ** 9 }}",
        "{% for a in event %}{% endfor %}",
        "{% set a = 1 %}",
        "{% macro a() %}{% endmacro %}",
        "{% include 'x' %}",
        "{% raw %}{{ x }}{% endraw %}{{ lipsum }}",
        "{{ event | map('upper') }}",
        "{{ event is callable }}",
        "{{ self }}",
        "{{ event.a | truncate(event.n * 9) }}",
    ],
)
def test_what_is_not_in_the_language_is_refused(document: Any) -> None:
    with pytest.raises(LeafError):
        Structure(document)


def test_members_alone_are_looked_up_never_attributes() -> None:
    for leaf in (
        "{{ event.items }}",
        "{{ event.__class__ }}",
        "{{ event['keys'] }}",
        "{{ event.t.upper }}",
    ):
        with pytest.raises(UndefinedError):
            value(leaf, t="x")
    assert value("{{ event.items }}", items=1) == 1
    assert value("{{ event.l[1] }}{{ event.l[0] }}", l=[1, 2]) == "21"
    for leaf in ("{{ event.l[2] }}", "{{ event.l.a }}", "{{ event.l['0'] }}", "{{ event.t[0] }}"):
        with pytest.raises(UndefinedError):
            value(leaf, l=[1, 2], t="x")


# --- values


def test_numbers_keep_every_digit_and_texts_what_can_be_kept() -> None:
    numbers = b'{"a":1.50,"b":12345678901234567890123,"c":-0.0,"d":1E+400,"e":7,"f":'
    text = numbers + b'"\\ud800\\u0000\\ud83d\\ude00"}'
    read = decoded(text)
    assert read["a"] == Numeral("1.50")
    assert read["e"] == 7
    assert read["f"] == "\ufffd\0\U0001f600"
    assert encoded(read) == numbers + b'"\xef\xbf\xbd\\u0000\xf0\x9f\x98\x80"}'
    assert indented([Numeral("1.50")]) == "[\n  1.50\n]"
    assert indented([]) == "[]"


@pytest.mark.parametrize(
    "text", [b"", b"{", b"NaN", b"[1,Infinity]", b"\xff", b'"\x00"', b"[" * 100_000]
)
def test_what_is_no_json_is_a_fault(text: bytes) -> None:
    with pytest.raises(ValueFault):
        decoded(text)


def test_what_is_too_deep_to_write_is_a_fault() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for write in (encoded, indented):
        with pytest.raises(ValueFault):
            write(deep)


# --- filters


@given(
    st.text(max_size=3_000),
    st.integers(min_value=3, max_value=900),
    st.sampled_from(sorted(MEASURES)),
    st.sampled_from(["slack_code", "html", "markdown", "markdown_v2", "quiet_code", "truncate"]),
)  # fmt: skip
def test_a_text_is_cut_to_its_limit_and_no_shorter(
    text: str, limit: int, unit: str, name: str
) -> None:
    escape = filters.FILTERS[name]
    cut = escape(text, limit, unit)
    assert MEASURES[unit](cut) <= limit
    whole = text if name == "truncate" else escape(text)
    if MEASURES[unit](whole) <= limit:
        assert cut == whole
    else:
        assert cut.endswith(ELLIPSIS)
        assert whole.startswith(cut[: -len(ELLIPSIS)])
        # one more character would exceed the limit
        assert MEASURES[unit](cut) > limit - 14


def test_a_limit_without_room_leaves_nothing() -> None:
    assert filters.truncate("abc", 2, "bytes") == ""
    assert filters.truncate("abc", 1) == ELLIPSIS


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (filters.path({"a": [{"b": 0}]}, "a.0.b"), 0),
        (filters.path({"a": None}, "a", "x"), "x"),
        (filters.path({"a": [1]}, "a.1", "x"), "x"),
        (filters.path({"a": [1]}, "a.-1", "x"), "x"),
        (filters.path("text", "a", "x"), "x"),
        (filters.path({"": 1}, ""), 1),
        (filters.first_text({"a": " ", "b": True, "c": 7}, "a", "b", "c"), "7"),
        (filters.first_text([], "a"), None),
        (filters.first_text("whole", "a"), "whole"),
        (filters.among(" HIGH ", {"high": 1}), 1),
        (filters.among({"a": 1}, {"high": 1}, 2), 2),
        (filters.among(None, {"null": 1}, 2), 2),
        (filters.facts({"a": {"b": None}, "d": 2}, 1), [{"name": "a", "value": '{"b":null}'}]),
        (filters.facts("no", 2), []),
        (filters.within({"a": 1}, 7), {"a": 1}),
        (filters.line(" a\r\n\u2028b\x00 "), "a b"),
        (filters.join([1, "a"], ", "), "1, a"),
        (filters.join("no", ", "), ""),
        (filters.identifier("a b\r\n/é", 4), "a_b_"),
        (filters.default(None, 1), 1),
        (filters.default(0, 1), 0),
    ],
)  # fmt: skip
def test_filters_are_total(made: Any, wanted: Any) -> None:
    assert made == wanted


@given(st.text(max_size=2_000), st.integers(min_value=400, max_value=3_000))
def test_data_that_is_too_large_says_so_within_its_limit(text: str, limit: int) -> None:
    made = filters.within({"text": text}, limit)
    assert len(encoded(made)) <= limit
    if "truncated" in made:
        assert made["bytes"] == len(encoded({"text": text})) > limit


def test_an_event_has_every_member_whatever_was_made_of_it() -> None:
    names = set(event_of({}, "t"))
    documents: list[Any] = [
        None,
        1,
        [],
        "x",
        {"data": 1},
        {"id": 5, "metadata": [], "timestamp": "now"},
    ]
    for document in documents:
        event = event_of(document, "t")
        assert set(event) == names
        assert event["type"] == "t"
        assert isinstance(event["id"], str)
        assert event["timestamp"] is None
        assert event["metadata"] == {}
    assert event_of([1], "t")["id"] == event_of([1], "other")["id"] != event_of([2], "t")["id"]
    assert event_of({"id": "a"}, "t", "b")["id"] == "b"


# --- answers


def judged(
    rules: dict[str, Any],
    status: int,
    body: bytes,
    *headers: tuple[str, str],
    truncated: bool = False,
) -> Outcome:
    category = (
        None
        if status < 300
        else ErrorCategory.RATE_LIMITED
        if status == 429
        else ErrorCategory.HTTP_4XX
    )
    outcome = Outcome(
        1_000.0, 0, category is None, status,
        tuple((name.encode(), value.encode()) for name, value in headers),
        body, truncated, category, None if category is None else f"the receiver answered {status}",
    )  # fmt: skip
    return AnswerRules.model_validate(rules).judge(outcome)


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        (b"1.5", 1.5), (b"0", 0.0), (b"-3", 0.0), (b'"2"', 2.0), (b"1e99", 366 * 86_400.0),
        (b"true", None),
        (b"null", None), (b'"soon"', None), (b"[1]", None), (b"NaN", None), (b"Infinity", None),
        (b"9" * 400, None), (b'"nan"', None),
    ],
)  # fmt: skip
def test_a_wait_is_taken_from_a_body_where_it_is_one(said: bytes, wait: float | None) -> None:
    outcome = judged({"wait": [{"json": "a.b"}]}, 429, b'{"a":{"b":' + said + b"}}")
    assert outcome.retry_after_s == wait
    assert outcome.retry_after_s is None or math.isfinite(outcome.retry_after_s)


def test_the_first_place_that_says_how_long_counts() -> None:
    rules = {"wait": [{"header": "retry-after"}, {"header": "reset", "epoch": True}, {"json": "s"}]}
    assert (
        judged(rules, 429, b'{"s":3}', ("Retry-After", "soon"), ("Reset", "1005")).retry_after_s
        == 5
    )
    assert judged(rules, 429, b'{"s":3}', ("Reset", "1")).retry_after_s == 0
    assert judged(rules, 429, b'{"s":3}').retry_after_s == 3
    date = ("Retry-After", "Thu, 01 Jan 1970 00:17:00 GMT")
    assert judged(rules, 429, b"", date).retry_after_s == 20


def test_a_success_asks_for_nothing_and_other_failures_neither() -> None:
    rules: dict[str, Any] = {"wait": [{"json": "s"}]}
    assert judged(rules, 200, b'{"s":3}').retry_after_s is None
    assert judged(rules, 400, b'{"s":3}').retry_after_s is None


@pytest.mark.parametrize(
    ("body", "success"),
    [
        (b'{"ok":true}', True), (b'{"ok":1}', False), (b'{"ok":"true"}', False), (b'{"ok":false}', False),
        (b"{}", False), (b"", False), (b"[]", False), (b"true", False), (b'{"ok":tr', False),
    ],
)  # fmt: skip
def test_a_sign_is_that_very_value(body: bytes, success: bool) -> None:
    assert judged({"ok": {"json": "ok", "among": [True]}}, 200, body).success is success


@pytest.mark.parametrize(
    ("body", "success"),
    [
        (b'{"ok":true,"x":"aaa', True), (b'{"ok":false,"x":"aaa', False), (b'{"x":"aaa', True),
        (b'{ "a" : 1 , "ok" : false , "x', False), (b'{"ok":tr', True), (b"", True), (b"<html>", True),
    ],
)  # fmt: skip
def test_a_body_that_breaks_off_is_judged_by_the_members_that_came(
    body: bytes, success: bool
) -> None:
    rules = {"ok": {"json": "ok", "among": [True]}}
    assert judged(rules, 200, body, truncated=True).success is success


def test_what_a_service_says_is_one_bounded_line() -> None:
    rules = {"message": ["error", "errors", "."]}
    assert (
        judged(rules, 400, b'{"errors":[1,"a\\n\\u0000 b"]}').message
        == "the receiver answered 400: a b"
    )
    assert judged(rules, 400, b'{"error":{}}').message == 'the receiver answered 400: {"error":{}}'
    long = judged(rules, 400, b"x" * 9_000).message
    assert long is not None
    assert len(long) < 250
    assert judged(rules, 400, b"").message == "the receiver answered 400"


def test_failures_that_are_not_of_an_answer_stay_as_they_are() -> None:
    rules = AnswerRules.model_validate({"ok": {"text": "ok"}, "message": ["."]})
    for outcome in (
        Outcome(0.0, 1, False, None, (), b"", False, ErrorCategory.TIMEOUT, "late"),
        Outcome(0.0, 1, False, 200, (), b"o", False, ErrorCategory.PROTOCOL, "broke off"),
        Outcome(0.0, 1, False, 302, (), b"x", False, ErrorCategory.REDIRECT, "redirect"),
        Outcome(0.0, 1, True, skipped=True),
    ):
        before = (outcome.success, outcome.category, outcome.message)
        rules.judge(outcome)
        assert (outcome.success, outcome.category, outcome.message) == before
