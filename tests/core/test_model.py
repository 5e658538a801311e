"""The random histories of test_histories.py as a hypothesis model. The model searches more slowly than
test_histories.py, but it shrinks a history that fails to a short one.
"""

from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    Ordering,
)
from tests.core.test_histories import LANES, SCHEDULES
from tests.core.world import OUTCOMES, World, a_world


class Destination(RuleBasedStateMachine):
    """The world of one destination. The steps below (`rule`) run in random order. After the last step,
    every delivery must end.
    """

    world: World | None = None

    @initialize(
        ordering=st.sampled_from(Ordering),
        deliveries=st.sampled_from([1, 3, 20]),
        concurrency=st.sampled_from([1, 2, 50]),
        schedule=st.sampled_from(SCHEDULES),
    )
    def begin(
        self, ordering: Ordering, deliveries: int, concurrency: int, schedule: tuple[int, ...]
    ) -> None:
        self.world = a_world(
            ordering,
            deliveries,
            Random(1).random,
            concurrency=concurrency,
            retry_schedule_s=schedule,
        )

    @property
    def here(self) -> World:
        assert self.world is not None
        return self.world

    @rule(
        kinds=st.lists(
            st.tuples(st.sampled_from(DeliveryClass), st.sampled_from(LANES)),
            min_size=1,
            max_size=8,
        ),
        told=st.booleans(),
    )
    def accept(self, kinds: list[tuple[DeliveryClass, str | None]], told: bool) -> None:
        self.here.accept(kinds)
        if told:
            self.here.tell(1000, spill=False)

    @rule(index=st.integers(0, 5))
    def requeue(self, index: int) -> None:
        self.here.requeue(index)

    @rule(count=st.integers(1, 10), spill=st.booleans())
    def tell(self, count: int, spill: bool) -> None:
        self.here.tell(count, spill=spill)

    @rule(may_send=st.sampled_from([0, 1, 1000]))
    def turn(self, may_send: int) -> None:
        self.here.turn(may_send)

    @precondition(lambda self: self.world is not None and self.world.reading is not None)
    @rule(fail=st.booleans(), late=st.booleans())
    def read(self, fail: bool, late: bool) -> None:
        if late:
            self.here.run_read()
        else:
            self.here.answer_read(fail=fail)

    @precondition(lambda self: self.world is not None and bool(self.world.in_flight))
    @rule(index=st.integers(0, 50), end=st.sampled_from(sorted(OUTCOMES)))
    def judge(self, index: int, end: str) -> None:
        self.here.judge(index, OUTCOMES[end](self.here.now))

    @precondition(lambda self: self.world is not None and bool(self.world.recording))
    @rule(count=st.integers(1, 5))
    def record(self, count: int) -> None:
        self.here.record(count)

    @precondition(lambda self: self.world is not None and bool(self.world.durable))
    @rule(count=st.integers(1, 5))
    def hear(self, count: int) -> None:
        self.here.hear(count)

    @rule(seconds=st.sampled_from([0.01, 1, 5, 300, 90_000]))
    def advance(self, seconds: float) -> None:
        self.here.advance(seconds)

    @rule()
    def passivate(self) -> None:
        self.here.passivate()

    @rule(
        change=st.sampled_from(
            [
                {"status": DestinationStatus.DISABLED},
                {"status": DestinationStatus.ACTIVE},
                {"concurrency": 1, "adapts": False},
                {"concurrency": 20, "adapts": True},
                {"rate_per_second": 0.5},
                {"rate_per_second": None},
                {"dry_run": True},
                {"dry_run": False},
                {"url": "http://elsewhere.test/"},
                *({"ordering": ordering} for ordering in Ordering),
                *({"retry_schedule_s": schedule} for schedule in SCHEDULES),
            ]
        )
    )
    def configure(self, change: dict[str, object]) -> None:
        self.here.configure(**change)

    @rule(clock_step=st.sampled_from([0, 60, -3600, 4e7, -4e7]), keep=st.integers(0, 3))
    def crash(self, clock_step: float, keep: int) -> None:
        self.here.crash(clock_step, keep)

    @rule(end=st.sampled_from(sorted(OUTCOMES)), culprit=st.none() | st.integers(0, 100))
    def crash_actor(self, end: str, culprit: int | None) -> None:
        self.here.crash_actor([OUTCOMES[end](self.here.now)], culprit)

    def teardown(self) -> None:
        if self.world is not None:
            self.world.drain()


class ArchivedDestination(Destination):
    def teardown(self) -> None:
        if self.world is not None:
            self.world.configure(status=DestinationStatus.ARCHIVED)
            sent = self.world.sent
            self.world.drain()
            assert self.world.sent == sent, "an archived destination was sent to"


TestDestination = Destination.TestCase
TestArchivedDestination = ArchivedDestination.TestCase
SEARCH = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,  # the same search on every machine
    suppress_health_check=list(HealthCheck),
)
TestDestination.settings = TestArchivedDestination.settings = SEARCH


def test_a_delivery_that_was_put_by_during_a_read_can_be_quarantined() -> None:
    world = a_world(Ordering.NONE, 1, Random(1).random, concurrency=1, retry_schedule_s=())
    world.passivate()
    world.accept([(DeliveryClass.CRITICAL, None)])
    world.tell(1000, spill=False)
    world.turn(0)
    world.accept([(DeliveryClass.CRITICAL, None)])
    world.tell(1, spill=False)
    outstanding = world.machine._backlog.reader.outstanding
    assert outstanding is not None
    (put_by,) = outstanding.ahead
    world.crash_actor([], culprit=1)
    row = world.store.rows[put_by.id]
    assert (row.status, row.dlq) == (DeliveryStatus.FAILED, DlqStatus.IN_DLQ)
    world.drain()
    assert world.sent == 1


def test_a_410_and_a_change_of_ordering_in_one_flight_disable_and_drain() -> None:
    world = a_world(Ordering.KEY, 1, Random(1).random, concurrency=1, retry_schedule_s=())
    world.accept([(DeliveryClass.CRITICAL, None)])
    world.tell(1000, spill=False)
    world.turn(1)
    world.configure(ordering=Ordering.NONE)
    world.judge(0, OUTCOMES["gone"](world.now))
    version = world.config.version
    world.drain()
    assert world.config.version == version + 2, "disabled by the 410, then enabled by the drain"
    assert world.sent == 1
