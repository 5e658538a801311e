"""Routing: patterns, priorities and customers. The next event sees a changed destination or rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.core.destination import Destination, Target
from engine.core.pattern_index import SLICE_STEPS, names
from engine.core.records import Event
from engine.core.split_table import PARTS, WHOLE
from engine.core.vocabulary import DestinationStatus, Priority
from engine.ingest.ingest import deliveries_of
from engine.model.errors import Refusal
from engine.model.identity import MAX_FANOUT
from engine.model.read_models import Models, RuleModel
from engine.routing.judge import EventJudge
from engine.routing.judging_time import JudgingTime
from engine.routing.preview import SHOWN, preview
from engine.routing.router import Router
from tests.engine.patterns import compile_pattern


def destination(identifier: str, version: int = 1, **changes: object) -> Destination:
    values: dict[str, object] = {
        "id": identifier,
        "environment": 1,
        "workspace": "w",
        "version": version,
        "status": DestinationStatus.ACTIVE,
        "name": identifier,
        "url": "http://127.0.0.1/",
        "target": Target(False, "127.0.0.1", 80, b"127.0.0.1", b"/"),
    }
    return Destination(**(values | changes))  # type: ignore[arg-type]  # a table of keywords


def rule(identifier: str, to: str, *patterns: str, **changes: object) -> RuleModel:
    values: dict[str, object] = {
        "id": identifier,
        "environment": 1,
        "destination": to,
        "name": identifier,
        "event_types": patterns,
        "priority": Priority.STANDARD,
        "enabled": True,
        "created_at_ms": 0,
        "updated_at_ms": 0,
    }
    return RuleModel(**(values | changes))  # type: ignore[arg-type]  # a table of keywords


def event(customer: str | None = None, payload: bytes = b"{}", type_: str = "t") -> Event:
    return Event("e", 1, type_, 0, payload, customer=customer)


@pytest.mark.parametrize(
    ("pattern", "matches", "not_"),
    [
        ("*", ["a", "a.b.c"], ["angarium.x"]),
        (
            "order.created",
            ["order.created"],
            ["order.createdx", "orderxcreated", "order.created.eu"],
        ),
        ("order.*", ["order.created", "order.created.eu"], ["order", "orders.created"]),
        ("*.created", ["order.created"], ["a.b.created", "angarium.created", "created"]),
        ("order.*.eu", ["order.created.eu"], ["order.eu", "order.a.b.eu"]),
        ("angarium.*", ["angarium.destination.disabled"], ["order.created"]),
        ("a+b", ["a+b"], ["aab"]),
    ],
)
def test_patterns_match_by_segment(pattern: str, matches: list[str], not_: list[str]) -> None:
    compiled = compile_pattern(pattern)
    assert [text for text in matches + not_ if compiled.fullmatch(text)] == matches


_segments = st.sampled_from(["", "a", "b", "ab", "angarium", "*"])
_dotted = st.lists(_segments, min_size=1, max_size=4).map(".".join)


@given(_dotted, _dotted.filter(lambda each: each and "*" not in each))
def test_a_pattern_names_what_its_expression_matches(pattern: str, event_type: str) -> None:
    assert names(pattern, event_type) is bool(compile_pattern(pattern).fullmatch(event_type))


def test_routing_by_very_many_patterns_compiles_no_expression(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr("re.compile", compiled.append)
    models = Models()
    models.put_destination(destination("d1"))
    for number in range(100):
        models.put_rule(rule(f"r{number}", "d1", *(f"a{number}.*.b{n}" for n in range(100))))
    assert Router(models).route(1, "a7.x.b7").choices(event())
    assert compiled == []


def test_who_sends_ever_new_types_to_very_many_patterns_has_to_wait() -> None:
    models, used = Models(), iter(range(1_000_000))
    judging = JudgingTime(lambda: 0.0, lambda: float(next(used)))  # a second for each route
    router = Router(models, judging=judging)
    judge = EventJudge(router)
    judge.choices(None, event(type_="first"))
    with pytest.raises(Refusal) as refusal:
        judge.choices(None, event(type_="second"))
    assert refusal.value.code == "overloaded"
    assert router.known(1, "first", None) is not None
    assert router.known(1, "second", None) is None
    judge.choices(None, replace(event(type_="second"), environment=2))
    router.own_route(1, "angarium.destination.disabled")


def test_a_slice_has_a_thousand_of_the_rules_that_name_one_type() -> None:
    """A route is compiled in slices: a million rules with one pattern would otherwise be one step of
    600 ms."""
    models = Models()
    for number in range(3):
        models.put_destination(destination(f"d{number}"))
    for number in range(30_000):
        to, urgent = f"d{number % 3}", number == 29_000
        priority = Priority.CRITICAL if urgent else Priority.STANDARD
        models.put_rule(rule(f"r{number}", to, "order.*", "*.created", priority=priority))
    pauses: list[None] = []
    choices = Router(models).route(1, "order.created", None, lambda: pauses.append(None)).plain
    # Both patterns match, so each rule is looked at twice.
    assert len(pauses) >= 4 * 30_000 // SLICE_STEPS
    assert {each.destination.id: each.priority for each in choices} == {
        "d0": Priority.STANDARD,
        "d1": Priority.STANDARD,
        "d2": Priority.CRITICAL,
    }
    pauses.clear()
    tried = preview(models, event(type_="order.created"), None, None, lambda: pauses.append(None))
    assert len(pauses) >= 2 * 30_000 // SLICE_STEPS
    assert {each.destination.id: each.priority for each in tried.reached} == {
        each.destination.id: each.priority for each in choices
    }
    assert (len(tried.judgements), tried.omitted, tried.others) == (SHOWN, 30_000 - SHOWN, 0)


def test_a_route_keeps_no_more_destinations_than_are_refused() -> None:
    """An event with more than MAX_FANOUT destinations is refused, so a route needs to keep at most
    MAX_FANOUT + 1 of them. A route with 100,000 destinations would not fit into the cache, and each event
    would compile the route again."""
    models = Models()
    for number in range(MAX_FANOUT + 10):
        models.put_destination(destination(f"d{number}"))
        models.put_rule(rule(f"r{number}", f"d{number}", "t"))
    router = Router(models)
    choices = router.route(1, "t").choices(event())
    assert len(choices) == MAX_FANOUT + 1
    with pytest.raises(Refusal, match="destinations match"):
        deliveries_of(event(), choices)
    for number in range(10):
        models.remove_rule(f"r{number}")
    assert len(deliveries_of(event(), router.route(1, "t").choices(event()))) == MAX_FANOUT


def test_several_rules_of_a_destination_make_one_choice_of_the_highest_priority() -> None:
    models = Models()
    models.put_destination(destination("d1"))
    models.put_rule(rule("r1", "d1", "order.*"))
    models.put_rule(rule("r2", "d1", "order.created", priority=Priority.CRITICAL))
    models.put_rule(rule("r3", "d1", "*", priority=Priority.HIGH, enabled=False))
    (choice,) = Router(models).route(1, "order.created").choices(event())
    assert choice.priority is Priority.CRITICAL


def test_a_customers_events_go_to_its_destinations_and_to_those_tied_to_none() -> None:
    models = Models()
    models.put_destination(destination("all"))
    models.put_destination(destination("mine", customer="c1"))
    models.put_destination(destination("other", customer="c2"))
    for each in ("all", "mine", "other"):
        models.put_rule(rule("r-" + each, each, "*"))
    router = Router(models)

    def chosen(customer: str | None) -> set[str]:
        route = router.route(1, "order.created", customer)
        return {choice.destination.id for choice in route.choices(event(customer))}

    assert chosen(None) == {"all"}
    assert chosen("c1") == {"all", "mine"}
    assert chosen("c3") == {"all"}
    assert router.known(1, "order.created", "c4") is router.known(1, "order.created", None)


def test_many_destinations_and_rules_are_kept_in_parts() -> None:
    """Many entries are kept in several small dicts. One dict with 700,000 entries would stop the event
    loop for 25 ms each time that the dict grows."""
    models = Models()
    for number in range(WHOLE + 1):
        models.put_destination(destination(f"d{number}"))
        models.put_rule(rule(f"r{number}", f"d{number}", "t"))
    assert len(models.destinations.parts()) == len(models.rules.parts()) == PARTS
    models.remove_rule("r7")
    assert "r7" not in models.rules
    assert models.destinations["d7"].id == "d7"


def test_a_change_is_seen_by_the_next_event_and_only_in_its_environment() -> None:
    models = Models()
    router = Router(models)
    assert router.route(1, "t").choices(event()) == ()
    models.put_destination(destination("d1"))
    models.put_rule(rule("r1", "d1", "t"))
    assert len(router.route(1, "t").choices(event())) == 1
    assert router.route(2, "t").choices(event()) == ()
    models.put_destination(destination("d1", version=2, status=DestinationStatus.DISABLED))
    assert len(router.route(1, "t").choices(event())) == 1
    models.put_destination(destination("d1", version=1))
    assert models.destinations["d1"].version == 2
    models.put_destination(destination("d1", version=3, status=DestinationStatus.ARCHIVED))
    assert router.route(1, "t").choices(event()) == ()
    models.remove_rule("r1")
    assert router.route(1, "t").choices(event()) == ()


def test_a_change_of_one_customers_rules_leaves_all_other_routes_as_they_are() -> None:
    models, router = Models(), None
    models.put_destination(destination("all"))
    models.put_destination(destination("mine", customer="c1"))
    models.put_destination(destination("other", customer="c2"))
    for each in ("all", "mine", "other"):
        models.put_rule(rule("r-" + each, each, "*"))
    router = Router(models)
    for customer in (None, "c1", "c2"):
        router.route(1, "t", customer)
    models.put_rule(rule("r-mine", "mine", "u"))
    assert router.known(1, "t", "c1") is None
    assert router.known(1, "t", None) is not None
    assert router.known(1, "t", "c2") is not None
    assert [each.destination.id for each in router.route(1, "t", "c1").choices(event("c1"))] == [
        "all"
    ]
    models.remove_rule("r-other")
    assert router.known(1, "t", "c2") is router.known(1, "t", None)
    models.put_rule(rule("r-all", "all", "u"))
    assert [router.known(1, "t", each) for each in (None, "c1", "c2")] == [None] * 3


def test_a_rule_follows_its_destination_when_that_comes_later_or_is_another_one() -> None:
    models = Models()
    router = Router(models)
    models.put_rule(rule("r", "mine", "t"))
    models.put_rule(rule("s", "never", "t"))
    models.remove_rule("s")
    assert router.route(1, "t", "c1").plain == ()
    models.put_destination(destination("mine", customer="c1"))
    assert len(router.route(1, "t", "c1").plain) == 1
    models.put_destination(destination("all"))
    models.put_rule(rule("r", "all", "t", version=2))
    assert [each.destination.id for each in router.route(1, "t").plain] == ["all"]
    assert models.index_of(1, "c1") is None
    models.put_rule(rule("r", "gone", "t", version=3))
    assert router.route(1, "t").plain == ()
