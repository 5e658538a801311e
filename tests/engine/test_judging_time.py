"""The time that schemas and filters use: ordinary use is not counted, and excessive use is refused for a
while."""

import json
from collections.abc import Callable

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.core.vocabulary import Environment
from engine.ingest.ingest import Ingest, Reply
from engine.intake.intake import Intake
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.model.read_models import EnvironmentModel, Models
from engine.routing.judging_time import (
    BURST_S,
    CUSTOMER_PART,
    FREE_S,
    FREE_S_A_BYTE,
    KEPT,
    SHARE,
    JudgingTime,
)
from engine.routing.router import Router
from engine.runtime.slices import no_pause
from engine.settings import Settings
from tests.engine.fakes import FakeDestinations, FakeIntakeStore


class Clock:
    """The CPU time used, and the time passed."""

    def __init__(self) -> None:
        self.passed = self.used = 0.0


class Slow:
    def __init__(self, clock: Clock, takes_s: float) -> None:
        self.clock, self.takes_s, self.checked = clock, takes_s, 0

    def check(self, payload: bytes, pause: Callable[[], None] = no_pause) -> None:
        self.checked += 1
        self.clock.used += self.takes_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def judging(clock: Clock) -> JudgingTime:
    return JudgingTime(lambda: clock.passed, lambda: clock.used)


@pytest.mark.parametrize("size", [0, 1_000, 262_144])
def test_what_is_ordinary_is_free_however_often_it_comes(judging: JudgingTime, size: int) -> None:
    for _ in range(10_000):
        judging.admit(1)
        judging.charge(1, FREE_S + size * FREE_S_A_BYTE, size)
    judging.admit(1)


def test_what_takes_long_waits_until_it_has_its_share_and_nobody_else_does(
    clock: Clock, judging: JudgingTime
) -> None:
    for _ in range(int(BURST_S / 0.1) + 1):
        judging.admit(1)
        judging.charge(1, 0.1 + FREE_S, 0)
    with pytest.raises(Refusal) as refusal:
        judging.admit(1)
    assert (refusal.value.code, refusal.value.status) == ("overloaded", 503)
    judging.admit(2)
    wait = refusal.value.retry_after_s
    assert wait is not None
    clock.passed += wait
    judging.admit(1)


def test_what_a_customers_sessions_ask_for_is_owed_by_that_customer(
    clock: Clock, judging: JudgingTime
) -> None:
    for _ in range(int(BURST_S / CUSTOMER_PART / 0.05) + 1):
        judging.admit(1, "ada")
        judging.charge(1, 0.05 + FREE_S, 0, "ada")
    with pytest.raises(Refusal) as refusal:
        judging.admit(1, "ada")
    judging.admit(1, "bob")
    judging.admit(1)  # requests without a session: events, and the workspace's keys
    judging.admit(2, "ada")
    wait = refusal.value.retry_after_s
    assert wait is not None
    clock.passed += wait
    judging.admit(1, "ada")


def test_all_customers_sessions_together_take_nothing_from_events(judging: JudgingTime) -> None:
    for number in range(int(BURST_S / 0.05) + 1):
        judging.admit(1, f"customer {number}")
        judging.charge(1, 0.05 + FREE_S, 0, f"customer {number}")
    with pytest.raises(Refusal):
        judging.admit(1, "another")
    judging.admit(1)


def test_paid_debts_are_forgotten(clock: Clock, judging: JudgingTime) -> None:
    for number in range(3 * KEPT):
        judging.charge(number, 0.001 + FREE_S, 0, "somebody")
        clock.passed += 10.0
    assert len(judging._debts) <= KEPT + 1


def test_over_time_an_environment_has_no_more_than_its_share(
    clock: Clock, judging: JudgingTime
) -> None:
    taken = 0.0
    while clock.passed < 100:
        try:
            judging.admit(1)
        except Refusal:
            clock.passed += 0.01
        else:
            judging.charge(1, 0.05 + FREE_S, 0)
            taken += 0.05
    assert taken <= 100 * SHARE + BURST_S + 0.05
    assert taken >= 100 * SHARE


@pytest.fixture
def types(clock: Clock) -> Models:
    models = Models()
    models.put_check(1, "slow", Slow(clock, 0.3))
    return models


async def test_events_past_it_are_not_accepted_and_those_that_nothing_judges_are(
    clock: Clock, judging: JudgingTime, types: Models
) -> None:
    identity, store, replies = Identity(), FakeIntakeStore(), list[Reply]()
    intake = Intake(store, FakeDestinations(), identity, Settings(), trio.current_time)
    place = EnvironmentModel(1, "w", Environment.DEVELOPMENT)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(intake.run)
        router = Router(types, judging=judging)
        ingest = Ingest(router, intake.submit, identity, nursery.start_soon)

        async def post(*kinds: str) -> Reply:
            events = [{"eventType": kind, "payload": {}} for kind in kinds]
            body: object = events[0] if len(events) == 1 else {"events": events}
            ingest.submit(place, json.dumps(body).encode(), len(events) > 1, replies.append)
            await wait_all_tasks_blocked()
            return replies[-1]

        await post("quick")  # a type whose duration is known
        mixed = json.loads((await post("slow", "slow", "slow", "quick")).body)
        assert [each["status"] for each in mixed["results"]] == [
            "ACCEPTED",
            "ACCEPTED",
            "REJECTED",
            "ACCEPTED",
        ]
        assert mixed["results"][2]["error"]["code"] == "overloaded"
        for refused in (await post("slow"), await post("slow", "slow")):
            assert (refused.status, refused.code) == (503, "overloaded")
            assert refused.retry_after_s is not None
        assert (await post("quick")).status == 202
        clock.passed += 10
        assert (await post("slow")).status == 202
        nursery.cancel_scope.cancel()
