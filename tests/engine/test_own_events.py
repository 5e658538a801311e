"""The intake of the service's own events. Refused events are retried. An event whose fate is unknown is
not stored twice. The number of waiting events is bounded."""

from itertools import pairwise
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.vocabulary import Origin
from engine.ingest import own_events
from engine.ingest.event_json import read_event
from engine.ingest.own_events import OwnEvents
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.model.json_members import MAX_DEPTH
from engine.model.read_models import Models
from engine.routing.router import Router
from engine.submission.submission import DURABLE, OVERLOADED, UNKNOWN, Fate, Submission
from tests.engine.test_router import destination, rule

TYPE = "angarium.destination.disabled"


class Intake:
    """An intake that settles each submission at once. The submission's fate is the next element of
    `fates`, or DURABLE if `fates` is empty. While `hold` is True, no submission is settled."""

    def __init__(self) -> None:
        self.submitted: list[Submission] = []
        self.fates: list[Fate] = []
        self.hold = False

    def submit(self, submission: Submission) -> None:
        self.submitted.append(submission)
        if not self.hold:
            submission.settle(self.fates.pop(0) if self.fates else DURABLE)

    def payloads(self) -> list[Any]:
        return [orjson.loads(each.events[0].payload) for each in self.submitted]


@pytest.fixture
def intake() -> Intake:
    return Intake()


@pytest.fixture
async def own(intake: Intake, autojump_clock: MockClock, nursery: trio.Nursery) -> OwnEvents:
    models = Models()
    models.put_destination(destination("d"))
    models.put_rule(rule("r", "d", "angarium.*"))
    models.put_rule(rule("all", "d", "*"))
    made = OwnEvents(Router(models), Identity(), trio.current_time)
    nursery.start_soon(made.run, intake.submit)
    return made


async def test_it_enters_like_any_event_by_rules_that_name_it(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    own.announce(1, TYPE, {"a": 1}, "ada")
    await own.wait_empty()
    (submission,) = intake.submitted
    (event,) = submission.events
    assert (event.origin, event.type, event.customer) == (Origin.OWN, TYPE, "ada")
    assert orjson.loads(event.payload) == {"a": 1}
    assert [delivery.destination for delivery in submission.deliveries] == ["d"]
    assert own.statistics() == own_events.OwnEventStatistics(1, 0, 0)


async def test_no_client_can_claim_the_key_of_a_notice(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    own.announce_once(1, TYPE, {"a": 1}, None, "d:today")
    await own.wait_empty()
    (submission,) = intake.submitted
    shown = submission.events[0].idempotency_key
    assert shown == f"{TYPE}:d:today"
    (claim,) = submission.claims
    assert claim.key.rstrip() == shown
    body = {"eventType": "t", "payload": {}, "idempotencyKey": claim.key}
    with pytest.raises(Refusal, match="at most 256 characters"):
        read_event(orjson.dumps(body), MAX_DEPTH)


async def test_one_that_is_refused_waits_for_the_database_in_its_place(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    intake.fates = [DURABLE, OVERLOADED, OVERLOADED] + [OVERLOADED] * 100
    for number in range(3):
        own.announce(1, TYPE, {"n": number})
    await own.wait_empty()
    entered = [payload["n"] for payload in intake.payloads()][-2:]
    assert entered == [1, 2]
    assert own.statistics().entered == 3


async def test_one_of_unknown_fate_comes_again_under_its_key_and_another_id(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    intake.fates = [UNKNOWN]
    own.announce_once(1, TYPE, {}, None, "d:7")
    await own.wait_empty()
    first, second = (each.claims[0] for each in intake.submitted)
    assert first.key == second.key == f"{TYPE}:d:7".ljust(own_events.KEY_LENGTH)
    assert first.event != second.event


async def test_one_that_the_database_never_takes_is_given_up(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    intake.fates = [UNKNOWN] * 1_000
    own.announce(1, TYPE, {})
    await own.wait_empty()
    assert own.statistics() == own_events.OwnEventStatistics(0, 1, 0)
    assert len(intake.submitted) == own_events.DOUBTS_MOST + 1


async def test_what_does_not_fit_is_dropped_and_counted(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_events, "WAITING_MOST", 5)
    intake.hold = True
    for number in range(8):
        own.announce(1, TYPE, {"n": number})
    await wait_all_tasks_blocked()
    assert (own.statistics().waiting, own.statistics().dropped) == (5, 3)
    for submission in intake.submitted:
        submission.settle(DURABLE)
    await own.wait_empty()
    assert own.statistics() == own_events.OwnEventStatistics(5, 3, 0)


async def test_one_environments_many_drop_nobody_elses(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_events, "WAITING_EACH", 5)
    intake.hold = True
    for number in range(8):
        own.announce(1, TYPE, {"n": number})
    own.announce(2, TYPE, {"n": "another's"})
    await wait_all_tasks_blocked()
    assert (own.statistics().waiting, own.statistics().dropped) == (6, 3)
    intake.hold = False
    for submission in list(intake.submitted):
        submission.settle(DURABLE)
    await own.wait_empty()
    for number in range(5):
        own.announce(1, TYPE, {"n": number})
    await own.wait_empty()
    assert own.statistics() == own_events.OwnEventStatistics(11, 3, 0)


async def test_it_never_raises_into_whoever_announces(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    own.announce(1, TYPE, {"what": object()})
    await wait_all_tasks_blocked()
    assert not intake.submitted


async def test_a_thousand_enter_in_order(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    for number in range(1_000):
        own.announce(1, TYPE, {"n": number})
    await own.wait_empty()
    assert [payload["n"] for payload in intake.payloads()] == list(range(1_000))


async def test_many_enter_a_few_at_a_time_and_others_run_between(
    own: OwnEvents, intake: Intake, autojump_clock: MockClock
) -> None:
    count = 3 * own_events.SLICE
    for number in range(count):
        own.announce(1, TYPE, {"n": number})
    seen = [0]
    while len(intake.submitted) < count:
        seen.append(len(intake.submitted))
        await trio.lowlevel.checkpoint()
    steps = [after - before for before, after in pairwise([*seen, count])]
    assert max(steps) <= 2 * own_events.SLICE  # trio shuffles tasks, so two steps can be adjacent
    assert [payload["n"] for payload in intake.payloads()] == list(range(count))
    await own.wait_empty()
    assert own.statistics().entered == count
