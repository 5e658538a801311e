"""The oracle finds each breach in a history written by hand, and finds nothing in a history without
one."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sim import told, told_waits
from tests.sim.oracle import promises, violations
from tests.sim.oracle.promises import PROMISES
from tests.sim.telling import Telling
from tests.sim.told import LATE

OURS = ("engine", "storage", "api", "angarium")

FINE: dict[str, Callable[[], Telling]] = {
    "all is well": told.well,
    "a batch of unknown fate is whole": lambda: told.torn(("a", "b")),
    "a batch of unknown fate is not there": lambda: told.torn(()),
    "an answer that was lost on its way": lambda: told.not_answered(0.1),
    "an answer that a killed process owed": lambda: told.not_answered(20.0, LATE + 30),
    "a key again after a day": lambda: told.two_of_a_key(90_000),
    "twins are told one id": told.twins,
    "a rule that ended just now": lambda: told.rule_of_late(5),
    "sent by two that began side by side": told.side_by_side,
    "sent again by a successor": lambda: told.sent_twice(2),
    "announced at the end": lambda: told.announced(LATE + 9.5),
    "waits while disabled": told.waits_while_disabled,
    "dead by its schedule": lambda: told.dead(3),
    "discarded by wish": lambda: told.discarded("discard"),
    "no order": lambda: told.overtaken("NONE", ("c:1", "c:1")),
    "heard late by who was replaced": lambda: told.heard_late(0.2),
    "sent before it was given up by a successor": lambda: told.given_up(-0.5),
    "sent late by who was replaced": lambda: told.given_up(1.5),
    "requeued after a success that was not durable": lambda: told.requeued_behind(20),
    "two lanes": lambda: told.overtaken("KEY", ("c:1", "c:2")),
    "an order that was given up": lambda: told.overtaken("STRICT", ("c:1", "c:2"), LATE + 1),
    "retried in time": lambda: told.retried(8.1),
    "retried early by a clock that jumped": lambda: told.retried(4, 100.0),
    "retried early after a clock that was set": lambda: told.retried(4, 0.0, [-100.0]),
    "made due between two steps of the clock": lambda: told.retried(4, steps_s=[7, -90]),
    "made due by a clock that was set forward, then back": lambda: told.retried(
        4, steps_s=[90, -90]
    ),
    "retried by a clock that was set back": lambda: told.retried(8.1, -100.0),
    "under way when it was disabled": lambda: told.held("DISABLED", LATE + 1.5),
    "sent before the archiving was told": lambda: told.archived_meanwhile("discard"),
    "under way at a 410": lambda: told.after_a_410(LATE + 3.15),
    "after the pause": lambda: told.paused(20.2),
    "a replay": lambda: told.replayed(told.a_job()),
    "a replay of what a list showed": lambda: told.asked_for_a_replay("a-d1"),
    "ended as another took over": lambda: told.former_owner(-0.2),
    "relayed to the node that has the environment": told.two_nodes,
    "ended as nodes of other parts took over": lambda: told.regrouped(-0.2),
    "as many as are allowed": lambda: told.crowd(2),
    "at its rate": lambda: told.rated(12, 0.5),
    "probes of an open circuit": lambda: told.through_open_circuit((1.2, 2.2, 4.2, 8.2)),
    "failures of actors that left in between": lambda: told.through_open_circuit((0.5, 0.5), 0.2),
    "a row of failures that a crash cut": lambda: told.crashed_in_a_row(LATE + 30.05),
    "requeued": lambda: told.requeued(again=True),
    "dead after the queue was requeued": lambda: told.left_behind(LATE + 400),
    "judged late after a crash": lambda: told.judged_late(LATE + 4.5),
    "stopped in order": told.stopped,
    "handed over without a store": lambda: told.stopped(recorded=False, hand_over_s=7.5),
    "stopped after a quarantine": lambda: told.quarantined(3),
    "sent again after a quarantine": lambda: told.quarantined(3, again=True),
    "a row of who is disabled": told.row_of_who_is_disabled,
    "a token that is good": lambda: told_waits.with_tokens("Bearer a", "Bearer a", after_s=20),
    "a token that was renewed": lambda: told_waits.fetched(20),
    "a token that was refused": lambda: told_waits.refused("Bearer b", "Bearer b"),
    "a fetch after one that failed": lambda: told_waits.fetched(1.2, token=""),
    "disabled while it waited for a token": lambda: told_waits.sent_to_who_was_disabled(43.5),
    "disabled after its patience": lambda: told_waits.failing(told_waits.PATIENCE_S + 3),
    "failing without a bound": lambda: told_waits.failing(None, None),
}
BROKEN: list[tuple[str, Callable[[], Telling]]] = [
    ("accepted is durable", told.lost),
    ("accepted is durable", told.refused_and_there),
    ("accepted is durable", told.invented),
    ("accepted is durable", lambda: told.torn(("a",))),
    ("accepted is durable", lambda: told.not_answered(20.0)),
    ("one event a key", lambda: told.two_of_a_key(100)),
    ("routed by the rules", told.forgotten_destination),
    ("routed by the rules", told.without_a_rule),
    ("routed by the rules", told.in_another_lane),
    ("routed by the rules", lambda: told.rule_of_late(50)),
    ("sent what is there", told.another_body),
    ("sent what is there", told.unsigned),
    ("sent what is there", lambda: told.sent_twice(1)),
    ("sent what is there", told.sent_though_recorded),
    ("sent what is there", lambda: told.quarantined(2, again=True)),
    ("all comes to its end", told.not_ended),
    ("all comes to its end", lambda: told.announced(LATE + 2)),
    ("all comes to its end", told.delivered_by_nobody),
    ("all comes to its end", lambda: told.dead(2)),
    ("all comes to its end", lambda: told.discarded("patch")),
    ("all comes to its end", lambda: told.judged_late(LATE + 2)),
    ("in order", lambda: told.overtaken("STRICT", ("c:1", "c:2"))),
    ("in order", lambda: told.overtaken("KEY", ("c:1", "c:1"))),
    ("in order", lambda: told.heard_late(0.05)),
    ("in order", lambda: told.requeued_behind(62)),
    ("in order", told.accepted_out_of_order),
    ("attempts by schedule", told.a_gap),
    ("attempts by schedule", told.after_success),
    ("attempts by schedule", lambda: told.retried(7.9)),
    ("attempts by schedule", lambda: told.retried(4, -100.0)),
    ("attempts by schedule", lambda: told.retried(4, steps_s=[3, -90])),
    ("attempts by schedule", lambda: told.retried(4, 3.0)),
    ("attempts by schedule", lambda: told.retried(4, 0.0, [0.0])),
    ("attempts by schedule", told.too_many),
    ("nothing to who is held", lambda: told.held("DISABLED", LATE + 40)),
    ("nothing to who is held", lambda: told.held("ARCHIVED", LATE + 40)),
    ("nothing to who is held", lambda: told.archived_meanwhile("rotate")),
    ("nothing to who is held", lambda: told.after_a_410(LATE + 9)),
    ("Retry-After", lambda: told.paused(15)),
    ("sums equal rows", told.counted_twice),
    ("replays", lambda: told.replayed(told.a_job(enqueued=2))),
    ("replays", lambda: told.replayed(told.a_job(done=0))),
    ("replays", lambda: told.replayed(told.a_job(status="RUNNING"))),
    ("replays", lambda: told.replayed(told.a_job(matched=2, enqueued=2, done=2), times=2)),
    ("replays", lambda: told.asked_for_a_replay("a-d1", "b-d1")),
    ("one writer", lambda: told.former_owner(5)),
    ("one writer", lambda: told.two_nodes(relayed=None)),
    ("one writer", lambda: told.two_nodes(sender=1)),
    ("one writer", lambda: told.regrouped(5)),
    ("backlog rows", told.row_left_over),
    ("backlog rows", told.no_row),
    ("concurrency and rate", lambda: told.crowd(3)),
    ("concurrency and rate", lambda: told.rated(12, 0.1)),
    ("circuit", lambda: told.through_open_circuit((1.2, 2.2, 0.5))),
    ("circuit", lambda: told.through_open_circuit((1.2, 2.2, 4.2, 1.5))),
    ("circuit", lambda: told.crashed_in_a_row(LATE + 29)),
    ("operators' work", lambda: told.requeued(again=False)),
    ("operators' work", lambda: told.requeued(again=True, asked=False)),
    ("operators' work", lambda: told.left_behind(LATE + 50)),
    ("operators' work", told.discarded_and_sent),
    ("states", told.impossible),
    ("stopped in order", lambda: told.stopped(recorded=False)),
    ("stopped in order", lambda: told.stopped(late=True)),
    ("stopped in order", lambda: told.stopped(recorded=False, hand_over_s=3.5)),
    ("stopped in order", lambda: told.quarantined(2)),
    ("tokens", lambda: told_waits.with_tokens("Bearer a", "Bearer a", after_s=40)),
    ("tokens", lambda: told_waits.with_tokens("Bearer x")),
    ("tokens", lambda: told_waits.with_tokens("")),
    ("tokens", lambda: told_waits.fetched(0.5, lasts_s=2.0)),
    ("tokens", lambda: told_waits.fetched(0.5, token="")),
    ("tokens", lambda: told_waits.refused("Bearer a")),
    ("tokens", lambda: told_waits.refused("Bearer b", "Bearer a")),
    ("tokens", lambda: told_waits.refused("Bearer b", status=401)),
    ("nothing to who is held", lambda: told_waits.sent_to_who_was_disabled(1.0)),
    ("patience with failures", lambda: told_waits.failing(20)),
    ("patience with failures", lambda: told_waits.failing(None)),
    ("patience with failures", lambda: told_waits.failing(20, None)),
    ("patience with failures", told_waits.recovered_and_disabled),
]


@pytest.mark.parametrize("name", FINE)
def test_nothing_is_found_where_all_is_well(name: str) -> None:
    assert violations(FINE[name]().history()) == []


@pytest.mark.parametrize(("promise", "telling"), BROKEN)
def test_each_breach_is_found(promise: str, telling: Callable[[], Telling]) -> None:
    found = {sentence.split(":")[0] for sentence in violations(telling().history())}
    assert promise in found


def test_every_promise_has_a_history_that_breaks_it() -> None:
    assert PROMISES.keys() == {promise for promise, _ in BROKEN}


def test_it_shares_no_code_with_what_it_judges() -> None:
    own = Path(promises.__file__).parent
    for path in own.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules.append(node.module or "")
            for module in modules:
                top, _, rest = module.partition(".")
                assert top not in OURS, f"{path.name} imports {module}"
                judges = rest.startswith(("sim.oracle", "sim.trace"))
                assert top != "tests" or judges, f"{path.name} imports {module}"
