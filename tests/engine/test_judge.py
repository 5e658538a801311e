"""Expensive filters: they run for one event at a time, and environments take turns. The time that a
filter uses is charged to the event's environment."""

import gc
import json
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.vocabulary import Environment
from engine.filters import EvaluationError, compile_filter
from engine.filters.scope import SLICE_STEPS, Facts, facts_of
from engine.ingest.ingest import Ingest
from engine.intake.intake import Intake
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.model.read_models import EnvironmentModel, Models
from engine.routing.judge import HALF_WAY_EACH, REST, SLOW_S
from engine.routing.judging_time import JudgingTime
from engine.routing.router import Router
from engine.runtime.slices import Slices, no_pause
from engine.settings import Settings
from engine.submission.receipts import Reply
from engine.submission.recent_senders import LATELY_S, RecentSenders
from tests.engine.fakes import FakeDestinations, FakeIntakeStore
from tests.engine.test_router import destination, rule

DEAR = "event.payload.items.all(a, event.payload.items.exists(b, b == a + 1000) || a >= 0)"
ITEMS = list(range(35))  # some 7,500 steps
TICK_S = 0.0001  # the CPU time that passes at each look at the clock


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Senders(RecentSenders):
    """`RecentSenders` that always, or never, say that another environment has sent lately."""

    __slots__ = ("_shared",)

    def __init__(self, shared: bool) -> None:
        super().__init__(lambda: 0.0)
        self._shared = shared

    def others_than(self, environment: int) -> bool:
        return self._shared


class Place:
    """An `Ingest` with its intake, and two environments. Each environment has a rule with an expensive
    filter for the event type `dear`."""

    def __init__(self, nursery: trio.Nursery, *, shared: bool) -> None:
        self.used_s, self.tick_s = 0.0, TICK_S
        models = self.models = Models()
        for number in (1, 2):
            models.put_destination(destination(f"d{number}-00", environment=number))
            models.put_rule(
                rule(f"r{number}", f"d{number}-00", "dear", environment=number, filter=DEAR)
            )
            models.put_rule(rule(f"q{number}", f"d{number}-00", "quick", environment=number))
        self.judging = JudgingTime(trio.current_time, self._cpu)
        self.store = FakeIntakeStore()
        identity = Identity()
        intake = Intake(self.store, FakeDestinations(), identity, Settings(), trio.current_time)
        nursery.start_soon(intake.run)
        self.ingest = Ingest(
            Router(models, judging=self.judging),
            intake.submit,
            identity,
            nursery.start_soon,
            senders=Senders(shared),
        )
        self.replies: list[tuple[str, Reply]] = []

    def _cpu(self) -> float:
        self.used_s += self.tick_s
        return self.used_s

    def post(
        self, name: str, environment: int, *types: str, items: Any = ITEMS, key: str = ""
    ) -> None:
        """Post an event, or several as a batch. The reply is recorded with `name`."""
        more = {"idempotencyKey": key} if key else {}
        events = [{"eventType": each, "payload": {"items": items}, **more} for each in types]
        body: Any = events[0] if len(events) == 1 else {"events": events}
        place = EnvironmentModel(environment, f"w{environment}", Environment.DEVELOPMENT)
        self.ingest.submit(
            place,
            json.dumps(body).encode(),
            len(events) > 1,
            lambda reply: self.replies.append((name, reply)),
        )


@asynccontextmanager
async def opened(*, shared: bool = True) -> AsyncIterator[Place]:
    async with trio.open_nursery() as nursery:
        yield Place(nursery, shared=shared)
        nursery.cancel_scope.cancel()


async def test_a_dear_event_waits_for_others_and_nobody_for_it(autojump_clock: MockClock) -> None:
    async with opened() as place:
        place.post("dear", 1, "dear")
        place.post("quick", 2, "quick")
        await trio.sleep(1)
        assert [name for name, _ in place.replies] == ["quick", "dear"]
        assert [reply.status for _, reply in place.replies] == [202, 202]
        assert json.loads(place.replies[1][1].body)["deliveries"] == 1


async def test_what_is_short_is_judged_at_once(autojump_clock: MockClock) -> None:
    async with opened() as place:
        place.post("short", 1, "dear", items=[1, 2, 3])
        place.post("quick", 2, "quick")
        await trio.sleep(1)
        assert [name for name, _ in place.replies] == ["short", "quick"]


async def test_environments_take_turns_one_event_each(autojump_clock: MockClock) -> None:
    async with opened() as place:
        for _ in range(6):
            place.post("many", 1, "dear")
        place.post("one", 2, "dear")
        await trio.sleep(1)
        names = [name for name, _ in place.replies]
        assert names.count("many") == 6
        assert names.index("one") <= 2  # the order of the first turns is not defined


async def test_who_works_for_long_keeps_another_environment_waiting_for_one_slice(
    autojump_clock: MockClock,
) -> None:
    slices = seen = 0

    def work(pause: Callable[[], None]) -> str:
        nonlocal slices
        while slices < 1_000:
            slices += 1
            pause()
        return "done"

    async with opened() as place, trio.open_nursery() as nursery:

        async def working() -> None:
            assert await place.ingest.judge.work(1, 0, work) == "done"

        nursery.start_soon(working)
        await trio.sleep(10 * TICK_S * REST)
        before = slices
        place.post("dear", 2, "dear")
        await trio.sleep(30 * TICK_S * REST)
        seen, replied = slices, list(place.replies)
    assert (slices, [name for name, _ in replied]) == (1_000, ["dear"])
    assert before < seen <= before + 30  # the event had four or five of these slices


async def test_work_is_charged_as_an_event_is_and_refused_to_who_owes(
    autojump_clock: MockClock,
) -> None:
    async with opened() as place:
        judge = place.ingest.judge
        place.tick_s = 0.3
        for _ in range(2):
            assert await judge.work(1, 0, lambda pause: "done") == "done"
        with pytest.raises(Refusal) as refusal:
            await judge.work(1, 0, lambda pause: "done")
        assert refusal.value.code == "overloaded"
        assert await judge.work(2, 0, lambda pause: "done") == "done"


async def test_work_that_waited_is_refused_for_what_was_charged_meanwhile(
    autojump_clock: MockClock,
) -> None:
    """When work ends, its time is charged to its workspace. If the workspace then owes too much, the work
    that still waits is refused. Without the refusal, a customer could start a hundred previews: all
    would run, and the workspace's events would wait behind them."""
    said: list[str] = []

    async def ask() -> None:
        try:
            said.append(await place.ingest.judge.work(1, 0, lambda _: "done", "customer"))
        except Refusal as refusal:
            said.append(refusal.code)

    async with opened() as place:
        place.tick_s = 0.3
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
    assert said == ["done", "overloaded", "overloaded", "overloaded", "overloaded"]


async def test_a_slice_rests_only_where_others_are(autojump_clock: MockClock) -> None:
    ended: list[float] = []
    for shared in (False, True):
        async with opened(shared=shared) as place:
            began = trio.current_time()
            place.post("dear", 1, "dear")
            while not place.replies:
                await wait_all_tasks_blocked()
                await trio.sleep(TICK_S / 10)
            ended.append(trio.current_time() - began)
    assert ended[0] < TICK_S
    assert ended[1] >= (7_500 // SLICE_STEPS - 1) * TICK_S * REST


async def test_a_dear_event_in_a_batch_gives_way_too_and_keeps_its_place(
    autojump_clock: MockClock,
) -> None:
    async with opened() as place:
        place.post("batch", 1, "quick", "dear", "quick", "dear")
        place.post("quick", 2, "quick")
        await trio.sleep(1)
        assert [name for name, _ in place.replies] == ["quick", "batch"]
        results = json.loads(place.replies[1][1].body)["results"]
        assert [each["status"] for each in results] == ["ACCEPTED"] * 4
        events = [each.type for group in place.store.groups for each in group.events]
        assert events == ["quick", "quick", "dear", "quick", "dear"]


async def test_who_was_slow_is_judged_in_turn_from_the_start_until_it_is_quick_again(
    autojump_clock: MockClock,
) -> None:
    async with opened() as place:
        place.tick_s = 2 * SLOW_S
        place.post("slow", 1, "dear", items=[1])
        assert [name for name, _ in place.replies] == []
        await trio.sleep(1)
        steps = place.used_s
        place.tick_s = 0.0
        place.post("in turn", 1, "dear", items=[1])
        assert place.used_s == steps  # no time is charged yet
        await trio.sleep(1)
        place.post("at once", 1, "dear", items=[1])
        place.post("quick", 2, "quick")
        await trio.sleep(1)
        assert [name for name, _ in place.replies] == ["slow", "in turn", "at once", "quick"]


async def test_a_repetition_that_its_schema_refuses_in_turn_is_told_of_the_first(
    autojump_clock: MockClock,
) -> None:
    class Refusing:
        def check(self, payload: bytes, pause: Callable[[], None] = no_pause) -> None:
            raise Refusal("schema_violation", "no")

    async with opened() as place:
        place.models.put_check(1, "dear", Refusing())
        place.tick_s = 2 * SLOW_S
        for name in ("first", "second"):
            place.post(name, 1, "dear", key="k")
            await trio.sleep(1)
        assert [reply.code for _, reply in place.replies] == ["schema_violation"] * 2


async def test_of_many_that_give_way_few_are_begun_before_their_turn(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    def counted(event: Any, *more: Any) -> Facts:
        begun.append(event.id)
        return facts_of(event, *more)

    monkeypatch.setattr("engine.routing.router.facts_of", counted)
    async with opened(shared=False) as place:
        for _ in range(3 * HALF_WAY_EACH):
            place.post("dear", 1, "dear")
        assert len(begun) == HALF_WAY_EACH
        await trio.sleep(1)
        assert [reply.status for _, reply in place.replies] == [202] * 3 * HALF_WAY_EACH
        place.post("at once", 1, "dear", items=[1])
        assert len(begun) == 3 * HALF_WAY_EACH + 1


async def test_an_event_that_waited_is_refused_for_what_was_charged_meanwhile(
    autojump_clock: MockClock,
) -> None:
    """All these events arrive before any CPU time is charged to their environment. After the charge, the
    environment has used up its CPU time. The events that still wait are then refused at their turn."""
    async with opened() as place:
        for _ in range(3 * HALF_WAY_EACH):
            place.post("dear", 1, "dear")
        place.judging.charge(1, 10.0, 0)  # before their turns, in whatever order
        await trio.sleep(1)
        codes = [reply.code for _, reply in place.replies]
        assert codes.count(None) == HALF_WAY_EACH  # these had already started
        assert codes.count("overloaded") == 2 * HALF_WAY_EACH


async def test_who_is_refused_a_turn_is_refused_and_is_no_quicker_for_it(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.routing.judge.WAITING", 1)
    async with opened() as place:
        place.tick_s = 2 * SLOW_S
        for _ in range(4):
            place.post("dear", 1, "dear")
        await trio.sleep(1)
        assert sorted(reply.code or "" for _, reply in place.replies) == [
            "", "", "overloaded", "overloaded",
        ]  # fmt: skip
        used_s = place.used_s
        for _ in range(4):
            place.post("in turn", 1, "dear", items=[1])
        # Four looks at the clock, and no slice.
        assert place.used_s == pytest.approx(used_s + 4 * place.tick_s)
        await trio.sleep(1)
        assert [reply.code for name, reply in place.replies if name == "in turn"].count(
            "overloaded"
        ) == 2


async def test_all_slices_are_paid_for_together(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.routing.judging_time.FREE_S", 0.0)
    monkeypatch.setattr("engine.routing.judging_time.FREE_S_A_BYTE", 0.0)
    charged: list[float] = []
    async with opened() as place:
        monkeypatch.setattr(
            place.judging, "charge", lambda _env, seconds, _size: charged.append(seconds)
        )
        place.post("dear", 1, "dear")
        await trio.sleep(1)
    assert max(charged) == pytest.approx((7_500 // SLICE_STEPS + 1) * TICK_S)


def test_a_filter_says_the_same_in_slices_as_at_once() -> None:
    pauses = 0

    def paused() -> None:
        nonlocal pauses
        pauses += 1

    for items in (ITEMS, list(range(300)), []):
        said: list[bool | str] = []
        for pause in (None, paused):
            facts = Facts({"payload": {"items": items}}, pause)
            try:
                said.append(compile_filter(DEAR).matches(facts))
            except EvaluationError as error:
                said.append(str(error))
            said.append(facts.steps == 0)
        assert said[:2] == said[2:]
    assert pauses >= 3 + 4


def test_work_in_slices_gives_way_raises_and_returns() -> None:
    seen: list[int] = []

    def deep(pause: Any, depth: int) -> int:
        seen.append(depth)
        pause()
        return depth if depth == 3 else deep(pause, depth + 1)

    slices = Slices(lambda pause: deep(pause, 1))
    assert [slices.go_on() for _ in range(4)] == [False, False, False, True]
    assert (slices.result, seen) == (3, [1, 2, 3])

    def breaks(pause: Any) -> None:
        pause()
        raise KeyError("broken")

    broken = Slices(breaks)
    assert not broken.go_on()
    with pytest.raises(KeyError, match="broken"):
        broken.go_on()


def test_work_that_is_given_up_lets_go_of_what_it_holds_at_once() -> None:
    class Held:
        pass

    def holds(pause: Any) -> None:
        mine = Held()
        known.append(weakref.ref(mine))
        pause()

    known: list[weakref.ref[Held]] = []
    gc.disable()  # the objects must go without the collector
    try:
        half_way = Slices(holds)
        assert not half_way.go_on()
        assert known[0]() is not None
        half_way.give_up()
        assert known[0]() is None
        unbegun = Held()
        known.append(weakref.ref(unbegun))
        slices = Slices(lambda _, held=unbegun: held)  # type: ignore[misc]  # binds it
        del unbegun
        assert known[1]() is not None
        del slices
        assert known[1]() is None
    finally:
        gc.enable()


def test_an_environment_that_sent_lately_is_another_for_everybody_else() -> None:
    now = 0.0
    senders = RecentSenders(lambda: now)
    assert not senders.others_than(1)
    senders.sent(1)
    assert not senders.others_than(1)
    assert senders.others_than(2)
    senders.sent(2)
    assert senders.others_than(1)
    now = LATELY_S / 2
    senders.sent(2)
    assert senders.others_than(1)
    assert senders.others_than(2)
    now = LATELY_S
    assert senders.others_than(1)
    assert not senders.others_than(2)
