"""The automatic concurrency: it stays within bounds, settles near capacity, and recovers."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.counters import Counters, CounterState, Slot
from engine.core.destination import MOST_CONCURRENCY
from engine.core.limit import LEAST_ATTEMPTS as WINDOW
from engine.core.limit import OVERLOAD, START, AdaptiveLimit, LimitState
from engine.core.records import Outcome
from engine.core.report import LEAST_ATTEMPTS, suggested_concurrency
from engine.core.snapshot import Snapshot, decode, encode
from engine.core.vocabulary import ErrorCategory, Ordering
from tests.core.crowd import Crowd, Takes, always, heavy_tailed, varying, wavering
from tests.core.making import (
    NOW,
    a_delivery,
    a_destination,
    a_failure,
    a_machine,
    a_success,
    commit,
    step,
)

FIXED = always(0.2)
VARYING = varying(0.2, 0.5)

# Durations that hardly vary. If they were equal, all answers would always come at the same instant.
EVEN = varying(0.2, 0.03)

# A receiver's behaviour, and the best fixed concurrency for it.
RECEIVERS: dict[str, tuple[dict[str, Any], int]] = {
    "takes all, evenly": ({"takes": EVEN}, 256),
    "takes all, unevenly": ({"takes": VARYING}, 256),
    "takes all, heavy tail": ({"takes": heavy_tailed(0.05, 1.5)}, 256),
    "takes 16 at once": ({"takes": EVEN, "places": 16}, 16),
    "takes 16 at once, unevenly": ({"takes": VARYING, "places": 16}, 16),
    "takes 16 at once, heavy tail": ({"takes": heavy_tailed(0.05, 1.5), "places": 16}, 16),
    "takes 16 at once, now quicker and now slower": (
        {"takes": wavering(0.2, 0.3), "places": 16},
        16,
    ),
    "takes 100 at once": ({"takes": varying(0.05, 0.03), "places": 100}, 100),
    "takes 3 at once, unevenly": ({"takes": VARYING, "places": 3}, 3),
    "refuses more than 16": ({"takes": EVEN, "places": 16, "refuses": True}, 16),
    "fails a fifth, whatever is asked": ({"takes": EVEN, "fails": 0.2}, 256),
}


@pytest.mark.parametrize(("receiver", "width"), RECEIVERS.values(), ids=RECEIVERS)
def test_what_it_finds_is_near_the_best_that_could_be_set(
    receiver: dict[str, Any], width: int
) -> None:
    found, best = Crowd(**receiver), Crowd(**receiver)
    limit = AdaptiveLimit(MOST_CONCURRENCY, NOW)
    found.run(limit, 6_000)  # the limit settles
    # Both runs have the same number of attempts. If the durations have a heavy tail, a shorter run has
    # fewer of the slowest answers, and the comparison would be unfair.
    best.run(width, 6_000)
    assert found.throughput(limit, 6_000) >= 0.9 * best.throughput(width, 6_000)
    assert found.p99_ms(6_000) <= 1.6 * best.p99_ms(6_000)


def test_far_fewer_places_are_found_soon_and_so_are_those_that_come_back() -> None:
    crowd = Crowd(EVEN, places=64)
    limit = AdaptiveLimit(MOST_CONCURRENCY, NOW)
    crowd.run(limit, 4_000)
    assert 50 < limit.limit < 75
    crowd.places = 8
    crowd.run(limit, 1_500)
    assert 6 < limit.limit < 10
    crowd.places = 64
    crowd.run(limit, 8_000)
    assert 50 < limit.limit < 75


def test_of_a_receiver_that_takes_one_at_a_time_no_more_is_asked() -> None:
    crowd = Crowd(EVEN, places=1)
    crowd.run(AdaptiveLimit(MOST_CONCURRENCY, NOW), 3_000)
    late = crowd.limits[-1_500:]
    assert sum(late) / len(late) < 1.3


def test_a_limit_that_is_refused_stays_near_what_is_taken() -> None:
    crowd = Crowd(FIXED, places=20, refuses=True)
    limit = AdaptiveLimit(MOST_CONCURRENCY, NOW)
    crowd.run(limit, 5_000)
    well = crowd.well
    crowd.run(limit, 5_000)
    assert crowd.well - well >= 0.6 * 5_000  # a refusal takes a millisecond, an answer 200
    assert max(crowd.limits[-5_000:]) <= 30


def test_failures_whatever_the_limit_is_do_not_end_it_at_one() -> None:
    crowd = Crowd(FIXED, fails=0.1)
    crowd.run(AdaptiveLimit(MOST_CONCURRENCY, NOW), 4_000)
    assert min(crowd.limits[-2_000:]) >= 8


def test_a_receiver_that_only_fails_is_left_with_one_at_a_time() -> None:
    crowd = Crowd(FIXED, fails=1.0)
    limit = AdaptiveLimit(MOST_CONCURRENCY, NOW)
    crowd.run(limit, 200)
    assert limit.width == 1


def test_after_a_slow_spell_it_is_where_it_was() -> None:
    def takes(at: float, _chance: object) -> float:
        return 2.0 if 60 <= at - NOW < 120 else 0.1

    crowd = Crowd(takes)
    limit = AdaptiveLimit(64, NOW)
    while crowd.now < NOW + 55:
        crowd.run(limit, 100)
    assert limit.width == 64
    while crowd.now < NOW + 150:
        crowd.run(limit, 100)
    assert limit.limit >= 60


def test_a_receiver_that_became_slower_for_good_keeps_its_limit() -> None:
    def takes(at: float, _chance: object) -> float:
        return 0.3 if at > NOW + 30 else 0.1

    crowd = Crowd(takes)
    limit = AdaptiveLimit(64, NOW)
    while crowd.now < NOW + 60:
        crowd.run(limit, 100)
    assert limit.width >= 60


def test_a_limit_that_holds_nothing_back_does_not_grow() -> None:
    crowd = Crowd(FIXED, wants=5)
    limit = AdaptiveLimit(MOST_CONCURRENCY, NOW)
    crowd.run(limit, 2_000)
    assert limit.width == START


@settings(max_examples=60, deadline=None)
@given(
    most=st.integers(1, MOST_CONCURRENCY),
    start=st.integers(-5, 500),
    places=st.integers(1, 300),
    takes=st.sampled_from((always(0.0), always(0.001), FIXED, VARYING, varying(0.01, 2.0))),
    fails=st.sampled_from((0.0, 0.03, 0.3, 1.0)),
    refuses=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_it_never_leaves_its_bounds_and_survives_its_snapshot(
    most: int, start: int, places: int, takes: Takes, fails: float, refuses: bool, seed: int
) -> None:
    crowd = Crowd(takes, places=places, refuses=refuses, fails=fails, seed=seed)
    limit = AdaptiveLimit(most, NOW, start=start)
    crowd.run(limit, 600)
    state = limit.state()
    assert limit.limit >= 1
    assert all(1 <= width <= most for width in crowd.limits)
    assert math.isfinite(state.limit)
    heir = AdaptiveLimit(most, crowd.now, state)
    assert heir.width == int(state.limit + 0.5)
    assert heir.state() == state
    assert not heir.moved
    assert AdaptiveLimit(1, crowd.now, state).width == 1


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_state_that_cannot_be_is_none(wrong: float) -> None:
    assert AdaptiveLimit(64, NOW, LimitState(wrong)).width == START


@pytest.mark.parametrize("wrong", [LimitState(1e300), LimitState(-1e300), LimitState(0.0)])
def test_a_state_that_makes_no_sense_is_grown_out_of(wrong: LimitState) -> None:
    crowd = Crowd(EVEN, places=16)
    limit = AdaptiveLimit(64, NOW, wrong)
    assert limit.width in (1, 64)
    crowd.run(limit, 8_000)
    late = crowd.limits[-2_000:]
    assert 14 < sum(late) / len(late) < 20


def test_a_snapshot_of_before_is_read_and_the_version_before_reads_ours() -> None:
    # In the previous version's snapshots, further fields follow the limit. This version ignores them.
    before = b"[20.6,[5.3,0.01,210.0],4.0,3,2]"
    assert msgspec.json.decode(before, type=LimitState) == KEPT
    assert msgspec.json.encode(KEPT) == b"[20.6]"


def test_failures_that_say_nothing_of_load_are_not_counted() -> None:
    limit = AdaptiveLimit(64, NOW)
    before = limit.state()
    for category in set(ErrorCategory) - OVERLOAD:
        for _ in range(3 * WINDOW):
            assert not limit.ended(Outcome(NOW, 5, False, category=category), True, NOW + 1)
    assert limit.state() == before


def test_what_began_under_another_limit_is_not_counted() -> None:
    limit = AdaptiveLimit(64, NOW)
    for _ in range(3 * WINDOW):
        assert not limit.ended(a_success(NOW - 1), True, NOW)


# --- within the machine

KEPT = LimitState(20.6)


def test_a_destination_that_adapts_begins_at_eight_and_is_kept_in_snapshots() -> None:
    machine = a_machine(concurrency=64, adapts=True)
    machine.arrive([a_delivery(k) for k in range(1, 31)], NOW)
    assert len(step(machine).send) == START
    assert machine.health(NOW).concurrency == START
    kept = encode(Snapshot(taken_at=NOW, limit=KEPT))
    heir = a_machine(concurrency=64, adapts=True, snapshot=kept)
    assert heir.health(NOW).concurrency == 21
    found = decode(heir.snapshot())
    assert found is not None
    assert found.limit == KEPT
    heir.arrive([a_delivery(k) for k in range(31, 61)], NOW)
    assert len(step(heir).send) == 21
    lower = a_machine(concurrency=10, adapts=True, snapshot=kept)
    assert lower.health(NOW).concurrency == 10


def test_a_limit_that_moved_is_written() -> None:
    machine = a_machine(concurrency=64, adapts=True)
    written, seq, now = 0, 1, NOW
    for _ in range(12):
        width = machine.health(now).concurrency
        machine.arrive([a_delivery(seq + k) for k in range(width)], now)
        seq += width
        commands = step(machine, now)
        began, now = now, now + 0.2
        for delivery in list(machine.in_flight.values()):
            machine.judged(delivery, a_success(began, duration_ms=200), now)
        after = step(machine, now, 0)
        commit(machine, commands, now)
        commit(machine, after, now)
        written += commands.snapshot or after.snapshot
        if commands.snapshot or after.snapshot:
            machine.snapshot()
    assert machine.health(now).concurrency > START
    assert 1 <= written <= 4


def test_a_patch_switches_between_fixed_and_adapting() -> None:
    machine = a_machine(concurrency=3)
    adapting: dict[str, Any] = {"adapts": True, "concurrency": 64}
    machine.configure(a_destination(version=2, **adapting), NOW)
    assert machine.health(NOW).concurrency == 3  # the limit begins at its last value
    machine.configure(a_destination(version=3, concurrency=2, adapts=True), NOW)
    assert machine.health(NOW).concurrency == 2
    machine.configure(a_destination(version=4, url="http://other.test/", **adapting), NOW)
    assert machine.health(NOW).concurrency == START  # the receiver has changed
    machine.configure(a_destination(version=5, concurrency=3), NOW)
    assert machine.health(NOW).concurrency == 3
    # A later "auto" would begin with the old receiver's limit.
    assert step(machine).snapshot
    assert b"limit" not in machine.snapshot()


def test_of_strict_order_there_is_one_at_a_time_whatever_is_found() -> None:
    machine = a_machine(concurrency=64, adapts=True, ordering=Ordering.STRICT)
    machine.arrive([a_delivery(k) for k in range(1, 10)], NOW)
    assert len(step(machine).send) == 1
    assert machine.health(NOW).concurrency == 1


def test_failures_reach_the_limit() -> None:
    machine = a_machine(concurrency=64, adapts=True, retry_schedule_s=())
    machine.arrive([a_delivery(k) for k in range(1, 40)], NOW)
    for _ in range(4):
        commands = step(machine)
        for number, delivery in enumerate(list(machine.in_flight.values())):
            machine.judged(delivery, a_success() if number % 8 == 0 else a_failure(), NOW)
        commit(machine, commands)
    assert machine.health(NOW).concurrency < START


# --- advice


def test_advice_is_littles_law_with_room() -> None:
    assert suggested_concurrency(LEAST_ATTEMPTS - 1, 100, 0.2) is None
    assert suggested_concurrency(LEAST_ATTEMPTS, 100, 0.2) == 29  # 20, plus twice its square root
    assert suggested_concurrency(1000, 1.0, 0.001) == 1
    assert suggested_concurrency(1000, 0.0, 0.0) == 1
    assert suggested_concurrency(1000, 5_000, 10) == MOST_CONCURRENCY


@given(st.floats(0, 1e5), st.floats(0, 60), st.floats(1, 10))
def test_advice_is_in_bounds_and_grows_with_the_load(
    demand: float, service: float, more: float
) -> None:
    first = suggested_concurrency(100, demand, service)
    second = suggested_concurrency(100, demand * more, service)
    assert first is not None
    assert second is not None
    assert 1 <= first <= second <= MOST_CONCURRENCY
    assert first >= min(MOST_CONCURRENCY, demand * service)


def test_health_advises_by_what_came_in_the_busiest_ten_seconds() -> None:
    for ordering, advised in ((Ordering.NONE, 11), (Ordering.KEY, 5), (Ordering.STRICT, 1)):
        machine = a_machine(ordering=ordering, concurrency=2)
        deliveries = [a_delivery(k, lane=f"c:{k % 7}") for k in range(1, 57)]
        machine.arrive(deliveries, NOW)  # 5.6/s
        assert machine.health(NOW).suggested_concurrency is None
        now = NOW
        while now < NOW + 19:
            commands = step(machine, now)
            for delivery in list(machine.in_flight.values()):
                machine.judged(delivery, a_success(now, duration_ms=1000), now)
            commit(machine, commands, now)
            commit(machine, step(machine, now, 0), now)
            now += 1.0
        found = machine.health(now).suggested_concurrency
        if ordering is Ordering.STRICT:
            assert found in (None, 1)  # None if there were fewer than twenty attempts
        else:
            assert found == advised


def test_what_spilled_is_told_late_and_drops_nothing_that_was_counted_since() -> None:
    counters = Counters()
    counters.arrived(3, NOW)
    counters.succeeded(100, NOW + 10)
    counters.arrived(40, NOW + 9)  # at the time of the turn before
    load = counters.load(NOW + 10)
    assert (load.attempts, load.arrivals_per_s) == (1, 4.0)


def test_a_snapshot_of_before_is_read_with_what_its_histogram_says() -> None:
    latency = [0] * 24
    latency[10] = 30  # 68.7 to 109.9 ms
    state = CounterState([Slot(int(NOW // 10), 0, latency)], 0, NOW, None, None)
    load = Counters(state).load(NOW)
    assert (load.attempts, load.attempts_per_s, load.arrivals_per_s) == (30, 3.0, 0.0)
    assert 0.0687 < load.service_s < 0.11
