"""The pure parts of replay jobs: their window, pace, progress and selection."""

from typing import Any

import pytest

from engine.control.replay_drafts import ReplayDraft
from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, ReplayStatus
from engine.model.documents import read
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.replay.admission import PARKED, fitting, waits
from engine.replay.job import Leg, ReplayJob, ReplaySelection, shifted
from engine.replay.pace import Meter, allowed, paced_until
from engine.replay.ports import ReadRange, WaitingReplay
from engine.replay.queued import (
    CONGESTION,
    COUNT_AGAIN_S,
    LANE,
    LEAST,
    REFILL,
    STUCK,
    STUCK_S,
    WINDOW,
    QueuedReplays,
)
from engine.replay.views import progress
from tests.core.making import a_delivery

ID = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"


def some(count: int, first: int = 1, destination: str = "d0", **more: Any) -> list[Delivery]:
    made = [a_delivery(seq, **more) for seq in range(first, first + count)]
    for each in made:
        each.destination = destination
    return made


# --- the window


def test_a_destination_may_have_a_window_and_is_refilled_when_it_is_worth_it() -> None:
    queued = QueuedReplays()
    assert queued.room("d0", WINDOW, congested=False) == WINDOW
    waiting = some(WINDOW)
    queued.add(waiting, 0.0)
    assert queued.room("d0", WINDOW, congested=False) == 0
    part = WINDOW // REFILL
    queued.remove([each.id for each in waiting[: part - 1]], 0.0)
    assert queued.room("d0", WINDOW, congested=False) == 0
    queued.remove([waiting[part].id], 0.0)
    assert queued.room("d0", WINDOW, congested=False) == part


def test_in_a_crowd_each_destination_has_the_least_and_those_that_are_stuck_make_none() -> None:
    queued = QueuedReplays()
    queued.add(some(CONGESTION), 0.0)
    assert queued.congested(0.0)
    assert queued.room("d1", WINDOW, congested=True) == LEAST
    assert not queued.congested(STUCK_S)


def test_what_is_told_twice_counts_once() -> None:
    queued = QueuedReplays()
    waiting = some(3)
    queued.add(waiting, 0.0)
    queued.restore("j", "d0", [WaitingReplay(waiting[0].id, None, 10)], 0.0)
    assert queued.waiting("d0") == 3
    for _ in range(2):
        queued.remove([each.id for each in waiting], 0.0)
    assert (queued.waiting("d0"), len(queued)) == (0, 0)


def test_a_lane_takes_so_many_and_opens_again_when_half_of_them_are_gone() -> None:
    queued = QueuedReplays()
    waiting = some(LANE, lane="c:a")
    queued.add(waiting, 0.0)
    assert not queued.lane_open("d0", "c:a", 0.0)
    queued.remove([each.id for each in waiting[: LANE // 2]], 0.0)
    assert queued.lane_open("d0", "c:a", 0.0)


def ends(deliveries: list[Delivery], status: DeliveryStatus) -> list[Settlement]:
    return [Settlement(each, status, None, 0) for each in deliveries]


def test_a_lane_is_stuck_while_what_was_attempted_of_it_last_is_to_be_attempted_again() -> None:
    queued = QueuedReplays()
    waiting = some(3, lane="c:a")
    queued.add(waiting, 0.0)
    assert not queued.stuck("d0", "c:a", 0.0)
    queued.settled(ends(waiting[:1], DeliveryStatus.RETRYING), 0.0)
    assert queued.stuck("d0", "c:a", 0.0)
    assert not queued.lane_open("d0", "c:a", 0.0)
    queued.settled(ends(waiting[1:2], DeliveryStatus.DELIVERED), 0.0)
    assert not queued.stuck("d0", "c:a", 0.0)
    assert queued.lane_open("d0", "c:a", 0.0)


def test_a_lane_that_others_overtake_is_stuck_and_one_that_waits_its_turn_is_not() -> None:
    queued = QueuedReplays()
    first, second, third = some(1, lane="c:a"), some(2, 10, lane="c:b"), some(1, 20, lane="c:c")
    queued.add([*first, *second, *third], 0.0)
    queued.settled(ends(second[:1], DeliveryStatus.DELIVERED), STUCK_S)
    found = {lane: queued.stuck("d0", lane, STUCK_S) for lane in ("c:a", "c:b", "c:c")}
    assert found == {"c:a": True, "c:b": False, "c:c": False}
    assert queued.stuck("d0", "c:c", 2 * STUCK_S)  # no replay moves at all


def test_lanes_that_are_stuck_leave_the_window_to_the_others_up_to_a_bound() -> None:
    queued = QueuedReplays()
    for n in range((STUCK + WINDOW) // LANE):
        lane = some(LANE + 1, 1_000 * n + 1, lane=f"c:{n}")
        queued.add(lane, 0.0)
        queued.settled(ends(lane[:1], DeliveryStatus.RETRYING), 0.0)
        now = n * COUNT_AGAIN_S
        free = queued.room_by_key("d0", WINDOW, now, congested=False)
        waiting = queued.waiting("d0")
        assert (free > 0) == (waiting < STUCK + WINDOW), n
        assert queued.room("d0", WINDOW, congested=False) == max(0, WINDOW - waiting)


def test_where_nothing_moves_the_least_are_tried() -> None:
    queued = QueuedReplays()
    queued.add(some(WINDOW, lane="c:a"), 0.0)
    assert queued.room_by_key("d0", WINDOW, STUCK_S - 1, congested=False) == 0
    assert queued.room_by_key("d0", WINDOW, STUCK_S, congested=False) == LEAST
    queued.add(some(LEAST, 1_000, lane="c:b"), STUCK_S)
    assert queued.room_by_key("d0", WINDOW, STUCK_S + 1, congested=False) == 0


# --- the replays taken from a stretch


def a_leg(**fields: Any) -> Leg:
    fields = {"counted": ID, "cursor": ID, "enqueued": 0, "skipped": 0, "total": 0, **fields}
    return Leg(destination="d0", all_counted=True, exhausted=False, **fields)


def stuck_lane(queued: QueuedReplays, lane: str) -> None:
    waiting = some(2, 1 + len(queued) * 10, lane=lane)
    queued.add(waiting, 0.0)
    queued.settled(ends(waiting[:1], DeliveryStatus.RETRYING), 0.0)


def test_a_stuck_lane_is_passed_over_from_its_first_on_and_the_others_go() -> None:
    queued = QueuedReplays()
    stuck_lane(queued, "c:a")
    lanes = ["c:b", "c:a", None, "c:b", "c:a"]
    originals = [some(1, 1_000 + n, lane=lane)[0] for n, lane in enumerate(lanes)]
    ids = [each.id for each in originals]
    lost: dict[str, str | None] = {
        shifted(ids[0], 1): "c:a",
        shifted(ids[2], 1): "c:a",
        shifted(ids[3], 1): "c:b",
    }
    found = fitting(ReadRange(originals, ids[-1], lost, True), a_leg(), queued, 0.0)
    assert [each.id for each in found.span.originals] == [ids[0], ids[2], ids[3]]
    assert found.parks == {"c:a": shifted(ids[1], -1)}
    # The originals in `lost` cannot be replayed, because their event is gone. Lane c:a is parked: the
    # runner will read the lane again from ids[1] on. The runner will then find the lost original of lane
    # c:a that comes after ids[1], so `span.lost` does not contain it.
    assert list(found.span.lost) == [shifted(ids[0], 1), shifted(ids[3], 1)]
    assert (found.span.through, found.span.end, found.blocked) == (ids[-1], True, None)


def test_a_lane_that_moves_and_is_full_is_waited_for() -> None:
    queued = QueuedReplays()
    queued.add(some(LANE - 1, lane="c:a"), 0.0)
    originals = [some(1, 1_000 + n, lane="c:a")[0] for n in range(3)]
    leg, through = a_leg(), originals[1].id
    found = fitting(ReadRange(originals, "z", {originals[2].id: None}, True), leg, queued, 0.0)
    assert [each.id for each in found.span.originals] == [originals[0].id]
    assert (found.span.through, found.span.lost) == (shifted(through, -1), {})
    assert (found.span.end, found.blocked, found.parks) == (False, "c:a", {})
    assert waits("c:a", leg, queued, 0.0)
    assert not waits("c:a", leg, queued, STUCK_S)  # then it is parked


def test_past_so_many_parked_lanes_a_leg_waits() -> None:
    queued = QueuedReplays()
    for lane in ("c:a", "c:b"):
        stuck_lane(queued, lane)
    leg = a_leg(parked={f"c:{n}": ID for n in range(PARKED - 1)})
    originals = [some(1, 1_000 + n, lane=lane)[0] for n, lane in enumerate(("c:a", "c:b", None))]
    found = fitting(ReadRange(originals, originals[2].id, {}, True), leg, queued, 0.0)
    assert (list(found.parks), found.blocked) == (["c:a"], "c:b")
    assert found.span.originals == []
    assert found.span.through == shifted(originals[1].id, -1)
    leg.parked |= found.parks
    assert waits("c:b", leg, queued, 1_000.0)
    del leg.parked["c:0"]
    assert not waits("c:b", leg, queued, 1_000.0)


# --- the pace


@pytest.mark.parametrize(
    ("rate", "paced_until_ms", "most"),
    [
        (None, 0, 128),
        (1_000.0, 0, 100),
        (5.0, 0, 1),
        (0.01, 0, 1),
        (5.0, 1_001, 0),
        (5.0, 1_000, 1),
        (5.0, 1_201, 0),
        (5.0, 90_000_000, 1),  # set by a clock that was a day ahead
        (0.01, 101_000, 0),  # a hundred seconds for each replay
    ],
)
def test_a_rate_allows_what_a_span_is_worth(
    rate: float | None, paced_until_ms: int, most: int
) -> None:
    assert allowed(rate, paced_until_ms, 1_000, 128) == most


def test_a_clock_that_was_set_back_holds_no_job() -> None:
    assert paced_until(5.0, 90_000_000, 1_000, 1) == 1_200
    assert paced_until(5.0, 1_200, 1_000, 1) == 1_400


@pytest.mark.parametrize("rate", [0.5, 7.0, 150.0, 5_000.0])
def test_the_rate_holds_over_time_and_a_pause_is_not_made_up_for(rate: float) -> None:
    until_ms, sent, sent_at = 0, 0, []
    for now_ms in range(0, 20_000, 25):
        if 5_000 <= now_ms < 10_000:
            continue
        count = allowed(rate, until_ms, now_ms, 128)
        if count:
            until_ms = paced_until(rate, until_ms, now_ms, count)
            sent += count
            sent_at.append((now_ms, count))
    possible = min(rate, 128 * 40)
    assert sent <= possible * 15 + 2 + possible * 0.3
    assert sent >= possible * 15 * 0.8 - 1
    after = sum(count for at, count in sent_at if 10_000 <= at < 11_000)
    assert after <= rate * 1.25 + 1


def test_a_meter_follows_what_ends() -> None:
    meter = Meter(0.0)
    assert Meter(0.0).per_second is None
    for second in range(1, 40):
        meter.add(50)
        meter.tick(float(second))
    assert meter.per_second == pytest.approx(50)
    for second in range(40, 80):
        meter.tick(float(second))
    assert meter.per_second is not None
    assert meter.per_second < 1


# --- the progress


def a_job(status: ReplayStatus = ReplayStatus.RUNNING, **fields: Any) -> ReplayJob:
    fields = {
        "id": ID,
        "environment": 1,
        "dry_run": False,
        "selection": ReplaySelection(),
        **fields,
    }
    return ReplayJob(status=status, started_at_ms=0, **fields)


@pytest.mark.parametrize(
    ("job", "remaining", "percent", "eta_s"),
    [
        (a_job(ReplayStatus.PENDING, total=10), 10, 0.0, None),
        (a_job(total=1_000, enqueued=400, delivered=200, failed=50, skipped=50), 700, 30.0, 28),
        (a_job(total=3, delivered=2), 1, 66.6, 5),
        (a_job(total=0), 0, 0.0, 0),
        (a_job(ReplayStatus.PAUSED, total=4, delivered=1), 3, 25.0, None),
        (a_job(ReplayStatus.COMPLETED, total=4, delivered=3, failed=1), 0, 100.0, 0),
        (a_job(ReplayStatus.COMPLETED, dry_run=True, total=4), 4, 100.0, 0),
        (a_job(ReplayStatus.CANCELLED, total=4, delivered=1), 3, 25.0, None),
        (a_job(total=1_000, rate_per_second=1.0), 1_000, 0.0, None),
    ],
)
def test_progress_is_what_the_counts_say(
    job: ReplayJob, remaining: int, percent: float, eta_s: int | None
) -> None:
    found = progress(job, None, 10_000)
    assert (found.remaining, found.percent) == (remaining, percent)
    if job.total and job.settled:
        assert found.eta_s == eta_s


def test_an_estimate_minds_the_rate_that_was_asked_for() -> None:
    job = a_job(total=1_000, enqueued=100, delivered=100, rate_per_second=10.0)
    assert progress(job, 500.0, 10_000).eta_s == 90


@pytest.mark.parametrize("status", [ReplayStatus.RUNNING, ReplayStatus.PAUSED])
def test_the_rate_is_told_in_tenths(status: ReplayStatus) -> None:
    assert progress(a_job(status, total=10, delivered=1), 119.3666, 10_000).per_second == 119.4


# --- the selection


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"to": "2026-11-21T00:00:00Z"},
        {"eventTypes": ["*"], "statuses": ["FAILED"]},
        {"from": "2026-11-21T00:00:00Z", "to": "2026-11-20T00:00:00Z"},
        {"destinationId": ID, "statuses": ["PENDING"]},
        {"destinationId": ID, "statuses": []},
        {"destinationId": ID, "eventTypes": []},
        {"destinationId": ID, "eventTypes": ["a*"]},
        {"destinationId": ID, "ratePerSecond": 0},
        {"destinationId": ID, "ratePerSecond": 2_000_000},
        {"destinationId": ID, "ratePerSecond": "5"},
        {"destinationId": "x"},
        {"deliveryIds": []},
        {"deliveryIds": [ID] * 1_001},
        {"from": "yesterday"},
        {"from": "2026-11-21T00:00:00"},
        {"from": 5},
        {"destinationId": ID, "dryRun": "yes"},
        {"destinationId": ID, "nothing": 1},
    ],
)
def test_a_selection_that_says_too_little_or_nonsense_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as caught:
        read(ReplayDraft, document).selection()
    assert caught.value.status == 400


def test_a_selection_is_read_as_it_was_meant() -> None:
    document = {
        "destinationId": ID.upper(),
        "deliveryIds": [ID, ID],
        "statuses": ["FAILED", "DELIVERED", "FAILED"],
        "from": "2026-11-21T01:00:00+01:00",
        "dryRun": None,
        "ratePerSecond": 5,
    }
    selection = read(ReplayDraft, document).selection()
    assert (selection.destination, selection.deliveries) == (ID, (ID,))
    assert selection.statuses == (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED)
    assert selection.from_ms == 1_795_219_200_000
    assert DeliveryOrigin.INSPECTION not in selection.origins


def test_a_replay_is_replayed_only_where_it_is_named() -> None:
    assert DeliveryOrigin.REPLAY not in ReplaySelection(destination=ID).origins
    assert DeliveryOrigin.REPLAY in ReplaySelection(deliveries=(ID,)).origins
    assert Identity().other() > ID
