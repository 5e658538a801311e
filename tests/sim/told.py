"""Short histories written by hand. Some keep all promises. Each of the others breaks one promise."""

import json
from collections.abc import Sequence
from typing import Any

from tests.sim.telling import NOW, Telling, a_telling
from tests.sim.trace import Answered, Asked, Ended, Fault, Item, JobRow, Posted, Told

LATE = 60.0  # by then every process knows the first configuration


def events(telling: Telling, *marks: str) -> list[str]:
    """Post events one after another. Return the ids of their deliveries to destination d1."""
    for place, mark in enumerate(marks):
        telling.post(LATE + place, mark)
    return [telling.delivery(mark) for mark in marks]


def well() -> Telling:
    telling = a_telling()
    one, two = events(telling, "a", "b")
    telling.send(LATE + 2, one)
    telling.send(LATE + 2, two, 500)
    telling.send(LATE + 4, two)
    return telling


def lost() -> Telling:
    telling = well()
    del telling.events["a"], telling.deliveries["a-d1"]
    telling.attempts = [each for each in telling.attempts if each.delivery != "a-d1"]
    return telling


def refused_and_there() -> Telling:
    telling = a_telling()
    telling.post(LATE, "a", answer="overloaded")
    telling.event("a")
    telling.send(LATE + 1, telling.delivery("a"))
    return telling


def invented() -> Telling:
    telling = well()
    telling.event("x")
    telling.send(LATE + 9, telling.delivery("x"))
    return telling


def torn(there: tuple[str, ...]) -> Telling:
    telling = a_telling()
    telling.post(LATE, "a", "b", answer="internal")
    for mark in there:
        telling.event(mark)
        telling.send(LATE + 1, telling.delivery(mark))
    return telling


def not_answered(waited_s: float, killed_at: float | None = None) -> Telling:
    telling = well()
    item = Item("c", "order.created")
    telling.tell(Posted(NOW + LATE + 20, 9, 1, 1, (item,)))
    telling.tell(Answered(NOW + LATE + 20 + waited_s, 9, "lost"))
    if killed_at is not None:
        telling.kill(killed_at)
    return telling


def two_of_a_key(after_s: float) -> Telling:
    telling = a_telling()
    for mark, at in (("a", LATE), ("b", LATE + after_s)):
        telling.post(at, mark, key="k")
        telling.send(at + 1, telling.delivery(mark))
    return telling


def twins() -> Telling:
    telling = a_telling()
    telling.post(LATE, "a", key="k")
    telling.tell(Posted(NOW + LATE + 5, 9, 1, 1, (Item("a", "order.created", key="k"),)))
    telling.tell(Answered(NOW + LATE + 5.1, 9, "accepted", ("a",)))
    telling.send(LATE + 6, telling.delivery("a"))
    return telling


def forgotten_destination() -> Telling:
    telling = a_telling()
    telling.post(LATE, "a")
    return telling


def without_a_rule() -> Telling:
    telling = well()
    telling.destination(1, "d2")
    telling.send(LATE + 3, telling.delivery("a", "d2"))
    return telling


def rule_of_late(gone_s: float) -> Telling:
    """A rule that ends `gone_s` before the event is posted."""
    telling = a_telling()
    telling.rule(LATE - gone_s, live=False)
    telling.send(LATE + 1, events(telling, "a")[0])
    return telling


def another_body() -> Telling:
    telling = well()
    telling.post(LATE + 5, "c")
    delivery = telling.delivery("c")
    telling.send(LATE + 6, delivery, 500)
    telling.send(LATE + 9, delivery, body="other")
    return telling


def unsigned() -> Telling:
    telling = a_telling()
    telling.send(LATE + 1, events(telling, "a")[0], signed=False)
    return telling


def sent_twice(process: int) -> Telling:
    """Process 1 sends a delivery, and the outcome is not recorded. Then `process` sends the delivery
    again: process 1, or its successor, process 2."""
    telling = a_telling()
    [one] = events(telling, "a")
    telling.send(LATE + 1, one, judged=False, recorded=False)
    if process == 2:
        telling.kill(LATE + 2)
        telling.boot(LATE + 3, 2)
    telling.send(LATE + 4, one, process=process)
    return telling


def sent_though_recorded() -> Telling:
    telling = a_telling()
    [one] = events(telling, "a")
    telling.send(LATE + 1, one)
    telling.kill(LATE + 2)
    telling.boot(LATE + 3, 2)
    telling.send(LATE + 4, one, process=2, number=1, recorded=False)
    return telling


def side_by_side() -> Telling:
    """Two processes begin at once. One of them sends a delivery and records the outcome. Then the other
    process sends the same delivery."""
    telling = a_telling()
    [one] = events(telling, "a")
    telling.kill(LATE + 2)
    telling.boot(LATE + 3, 2)
    telling.boot(LATE + 3, 3)
    telling.send(LATE + 4, one, process=2)
    telling.send(LATE + 4.2, one, process=3, number=1, judged=False, recorded=False)
    return telling


def not_ended() -> Telling:
    telling = a_telling()
    events(telling, "a")
    telling.backlog.append("d1")
    return telling


def announced(at: float) -> Telling:
    """A process creates an event of the service's own (a system event) at the instant `at`. The process
    is told to end at the instant `LATE + 9` of the history. No other process begins."""
    telling = a_telling()
    made_at = f"{int((NOW + at) * 1000):012x}"
    own = f"{made_at[:8]}-{made_at[8:]}-7000-8000-000000000001"
    telling.event(own, type="angarium.delivery.dead_lettered")
    telling.delivery(own, lane="s:angarium")
    telling.backlog.append("d1")
    telling.tell(Fault(NOW + LATE + 9, "stop", "1"), Ended(NOW + LATE + 10, 1, "stopped"))
    return telling


def switch_off(telling: Telling, at: float, status: str = "DISABLED", **settings: Any) -> None:
    telling.ask(at, "patch", "lost", of="d1", wanted=json.dumps({"status": status}))
    telling.destination(at, status=status, **settings)


def waits_while_disabled() -> Telling:
    telling = not_ended()
    switch_off(telling, LATE + 1)
    return telling


def delivered_by_nobody() -> Telling:
    telling = a_telling()
    [one] = events(telling, "a")
    telling.change(one, status="DELIVERED", delivered_at=NOW + LATE)
    return telling


def dead(attempts: int) -> Telling:
    telling = a_telling()
    [one] = events(telling, "a")
    for number in range(attempts):
        telling.send(LATE + 10 * (number + 1), one, 500)
    telling.die(one, LATE + 50)
    return telling


def judged_late(crashed_at: float) -> Telling:
    """The attempt of delivery b lasts 15 s. Meanwhile the attempt of delivery a fails, and then the
    destination gets a schedule without retries. Both deliveries are dead at the end. The actor crashes at
    the instant `crashed_at`. If it crashes when delivery a fails, the death of a is right: the next actor
    begins only after the attempt of b, and judges the failure of a by the new schedule."""
    telling = a_telling()
    one, two = events(telling, "a", "b")
    telling.send(LATE + 3, two, None, lasts_s=15)
    telling.send(LATE + 4, one, 500, lasts_s=0.5)
    telling.tell(Fault(NOW + crashed_at, "crash", "d1"))
    telling.destination(LATE + 10, schedule_s=())
    telling.die(one, LATE + 4.5)
    telling.die(two, LATE + 18)
    return telling


def discarded(kind: str) -> Telling:
    telling = dead(3)
    telling.ask(LATE + 60, kind, deliveries=("a-d1",), ids=("a-d1",) if kind == "discard" else ())
    telling.change("a-d1", dlq_status="DISCARDED")
    return telling


def overtaken(ordering: str, lanes: tuple[str, str], changed_at: float | None = None) -> Telling:
    telling = a_telling(ordering=ordering)
    for place, (mark, lane) in enumerate(zip("ab", lanes, strict=True)):
        telling.post(LATE + place, mark, customer=lane.removeprefix("c:"))
        telling.delivery(mark, lane=lane)
    one, two = "a-d1", "b-d1"
    if changed_at is not None:
        telling.destination(changed_at, ordering="NONE")
    telling.send(LATE + 2, one, 500)
    telling.send(LATE + 3, two)
    telling.send(LATE + 4, one)
    return telling


def heard_late(after_s: float) -> Telling:
    """Process 1 sends the first delivery of a lane. Then process 2, its successor, sends the same
    delivery too. Both requests succeed, but process 1 gets its answer late. Process 2 sends the second
    delivery of the lane `after_s` seconds after it has sent the first."""
    telling = a_telling(ordering="STRICT")
    one, two = events(telling, "a", "b")
    telling.send(LATE + 2, one, lasts_s=20.0, recorded=False)
    telling.boot(LATE + 3, 2)
    telling.send(LATE + 4, one, process=2)
    telling.send(LATE + 4 + after_s, two, process=2)
    return telling


def given_up(late_by_s: float) -> Telling:
    """Process 2 takes over from process 1. It sends the first delivery of a lane and fails, so the
    delivery is dead. Process 2 then sends the second delivery of the lane. But process 1 sends the first
    delivery as well, `late_by_s` after process 2 began, and succeeds."""
    telling = a_telling(ordering="STRICT", schedule_s=())
    one, two = events(telling, "a", "b")
    telling.boot(LATE + 3, 2)
    telling.send(LATE + 4, one, 500, process=2)
    telling.die(one, LATE + 4.1)
    telling.send(LATE + 4.2, two, process=2)
    telling.send(LATE + 3 + late_by_s, one, lasts_s=20.0, number=1, recorded=False)
    return telling


def requeued_behind(second_at: float) -> Telling:
    """The first delivery of a lane fails. Its second attempt succeeds, but the process is killed before
    it records the success. The next process knows only of the failed attempt. A change of the schedule
    allows no more retries, so this process lets the delivery die. A caller requeues the delivery, which
    then comes after the lane's second delivery. The second delivery is sent at the instant
    `second_at`."""
    telling = a_telling(ordering="STRICT")
    one, two = events(telling, "a", "b")
    telling.send(LATE + 2, one, 500)
    telling.send(LATE + 10.5, one, recorded=False)
    telling.kill(LATE + 11)
    telling.boot(LATE + 12, 2)
    telling.destination(LATE + 13, ordering="STRICT", schedule_s=())
    telling.die(one, LATE + 13.1)
    telling.ask(LATE + 60, "requeue", deliveries=(one,), ids=(one,))
    telling.change(one, seq=9, schedule_start=1, dlq_status="RETRIED_FROM_DLQ")
    telling.send(LATE + second_at, two, process=2)
    telling.send(LATE + 61, one, process=2)
    return telling


def accepted_out_of_order() -> Telling:
    telling = well()
    telling.change("a-d1", seq=9)
    return telling


def a_gap() -> Telling:
    telling = well()
    telling.attempts = [each for each in telling.attempts if each.number != 1 or each.success]
    return telling


def after_success() -> Telling:
    telling = well()
    telling.send(LATE + 9, "a-d1", recorded=False)
    return telling


def retried(after_s: float, clock_s: float | None = None, steps_s: Sequence[float] = ()) -> Telling:
    """A delivery fails, and is attempted again `after_s` later. Between the attempts, the clock of the
    first process is set once for each number in `steps_s`. The number is by how many seconds the clock is
    then ahead. If `clock_s` is given, another process makes the second attempt, and its clock is ahead by
    `clock_s`."""
    telling = a_telling(schedule_s=(10,))
    [one] = events(telling, "a")
    telling.send(LATE + 1, one, 500)
    for number, ahead_s in enumerate(steps_s):
        telling.tell(Fault(NOW + LATE + 1.5 + number, "followed", "1", ahead_s))
        telling.clocks[1] = ahead_s
    process = 1
    if clock_s is not None:
        process = 2
        telling.kill(LATE + 2)
        telling.boot(LATE + 3, 2, clock_s)
    telling.send(LATE + 1.1 + after_s, one, process=process)
    return telling


def too_many() -> Telling:
    telling = a_telling(schedule_s=(1,))
    [one] = events(telling, "a")
    for number in range(3):
        telling.send(LATE + 10 * number + 1, one, 200 if number == 2 else 500)
    return telling


def held(status: str, at: float) -> Telling:
    telling = a_telling()
    [one] = events(telling, "a")
    switch_off(telling, LATE + 1, status)
    telling.send(at, one)
    return telling


def archived_meanwhile(kind: str) -> Telling:
    """Caller A archives a destination. At the same time, caller B makes a request of the kind `kind`
    about this destination. First caller B gets an answer. Then a delivery is sent. Then caller A gets an
    answer.
    """
    telling = a_telling()
    [one] = events(telling, "a")
    telling.tell(Asked(NOW + LATE + 1, 8, 1, "patch", 1, "d1"))
    telling.tell(Asked(NOW + LATE + 1, 9, 1, kind, 1, "d1"))
    telling.destination(LATE + 1.1, status="ARCHIVED")
    telling.tell(Told(NOW + LATE + 1.2, 9, "done"))
    telling.send(LATE + 1.5, one)
    telling.tell(Told(NOW + LATE + 1.6, 8, "done"))
    return telling


def after_a_410(at: float) -> Telling:
    telling = a_telling()
    one, two = events(telling, "a", "b")
    telling.send(LATE + 3, one, 410)
    telling.die(one, LATE + 3.1, error="DESTINATION_GONE")
    telling.send(at, two)
    return telling


def paused(after_s: float) -> Telling:
    telling = a_telling(schedule_s=(1, 30))
    one, two = events(telling, "a", "b")
    telling.send(LATE + 3, one, 429, retry_after_s=20.0)
    telling.send(LATE + 3 + after_s, two)
    telling.send(LATE + 30, one)
    return telling


def counted_twice() -> Telling:
    telling = well()
    telling.counted.append(("d1", LATE + 2.1, "delivered"))
    return telling


def replayed(job: JobRow, times: int = 1) -> Telling:
    telling = well()
    for number in range(times):
        replay = telling.delivery(
            "a", id=f"replay{number}", origin="REPLAY", replay_of="a-d1", replay_job=job.id
        )
        telling.send(LATE + 20 + number, replay)
    telling.jobs.append(job)
    return telling


def asked_for_a_replay(*shown: str) -> Telling:
    """A caller asks for a replay of all deliveries of `d1`, which has two: `a-d1` and `b-d1`. The service
    replays only `a-d1`. `shown`: the deliveries that a list had shown to the caller before."""
    telling = well()
    telling.ask(
        LATE + 15, "replay", of="d1", ids=("j",), wanted=json.dumps({"destinationId": "d1"}),
        deliveries=shown,
    )  # fmt: skip
    replay = telling.delivery("a", id="r", origin="REPLAY", replay_of="a-d1", replay_job="j")
    telling.send(LATE + 20, replay)
    telling.jobs.append(a_job())
    return telling


def a_job(status: str = "COMPLETED", matched: int = 1, enqueued: int = 1, done: int = 1) -> JobRow:
    return JobRow("j", 1, status, matched, enqueued, 0, done, 0)


def former_owner(at: float) -> Telling:
    """Process 2 takes over from process 1. Process 1 makes and records an attempt `at` seconds after this
    takeover. If `at` is negative, the attempt is before the takeover."""
    telling = a_telling()
    telling.boot(LATE + 10, 2)
    telling.send(LATE + 10 + at, events(telling, "a")[0])
    return telling


def two_nodes(relayed: int | None = 2, sender: int = 2) -> Telling:
    """A caller sends a request to node 1, but node 2 owns the request's environment. `relayed`: the node
    to which the request is relayed, or None if it is not relayed. `sender`: the node that sends the
    delivery."""
    telling = Telling()
    telling.boot(0, 1, part=0, parts=2)
    telling.boot(0, 2, part=1, parts=2)
    telling.destination(1)
    telling.rule(1)
    telling.post(LATE, "a", relayed=relayed)
    telling.send(LATE + 1, telling.delivery("a"), process=sender)
    return telling


def regrouped(at: float) -> Telling:
    """A database with two parts is divided anew, into three parts. Each part is a set of home slots.
    Process 2 works for one of the three parts, and takes some of the home slots of process 1, which works
    for one of the two parts. Process 1 makes and records an attempt `at` seconds after this takeover. If
    `at` is negative, the attempt is before the takeover."""
    telling = Telling()
    telling.boot(0, 1, part=1, parts=2)
    telling.destination(1)
    telling.rule(1)
    telling.boot(LATE + 10, 2, part=1, parts=3)
    telling.post(LATE, "a")
    telling.send(LATE + 10 + at, telling.delivery("a"))
    return telling


def row_of_who_is_disabled() -> Telling:
    telling = row_left_over()
    switch_off(telling, LATE + 9)
    return telling


def row_left_over() -> Telling:
    telling = well()
    telling.backlog.append("d1")
    return telling


def no_row() -> Telling:
    telling = waits_while_disabled()
    telling.backlog.clear()
    return telling


def crowd(requests: int) -> Telling:
    telling = a_telling()
    marks = [f"e{number}" for number in range(requests)]
    for delivery in events(telling, *marks):
        telling.send(LATE + 20, delivery, lasts_s=1.0)
    return telling


def rated(requests: int, every_s: float) -> Telling:
    telling = a_telling(rate_per_second=2.0)
    for number, delivery in enumerate(events(telling, *[f"e{n}" for n in range(requests)])):
        telling.send(LATE + 20 + every_s * number, delivery, lasts_s=0.01)
    return telling


def through_open_circuit(probes_s: tuple[float, ...], leaves_after_s: float = 30.0) -> Telling:
    """Ten deliveries fail, so the circuit opens. Then probes are sent, and all fail. `probes_s`: for each
    probe, the time since the probe before it, or since the last of the ten failures."""
    telling = a_telling(schedule_s=())
    telling.leaves_after_s = leaves_after_s
    deliveries = events(telling, *[f"e{number}" for number in range(10 + len(probes_s))])
    at = LATE + 30
    for delivery in deliveries[:10]:
        telling.send(at, delivery, 500)
        at += 0.2
    for delivery, after_s in zip(deliveries[10:], probes_s, strict=True):
        at += after_s
        telling.send(at, delivery, 500)
    for delivery in deliveries:
        telling.die(delivery, at)
    return telling


def crashed_in_a_row(at: float) -> Telling:
    """Twelve attempts fail quickly one after the other. The actor crashes at the instant `at`."""
    telling = a_telling(schedule_s=())
    deliveries = events(telling, *[f"e{number}" for number in range(12)])
    for place, delivery in enumerate(deliveries):
        telling.send(LATE + 30 + 0.2 * place, delivery, 500)
    telling.fault(at, "crash")
    for delivery in deliveries:
        telling.die(delivery, LATE + 40)
    return telling


def requeued(again: bool, asked: bool = True) -> Telling:
    telling = dead(3)
    if asked:
        telling.ask(LATE + 60, "requeue", deliveries=("a-d1",), ids=("a-d1",))
    if again:
        telling.send(LATE + 61, "a-d1")
        telling.change("a-d1", schedule_start=3, dlq_status="RETRIED_FROM_DLQ")
    return telling


def left_behind(died_at: float) -> Telling:
    """A caller requeues all dead letters of a destination. But at the end of the history a delivery that
    died at `died_at` is still dead. This breaks a promise if the delivery died before the requeue."""
    telling = dead(3)
    telling.change("a-d1", dead_lettered_at=NOW + died_at)
    telling.ask(LATE + 300, "requeue", of="d1")
    return telling


def discarded_and_sent() -> Telling:
    telling = discarded("discard")
    telling.send(LATE + 90, "a-d1", 500, recorded=False)
    return telling


def impossible() -> Telling:
    telling = well()
    telling.change("a-d1", dlq_status="IN_DLQ")
    return telling


def stopped(
    *, recorded: bool = True, late: bool = False, hand_over_s: float | None = None
) -> Telling:
    """A process is told to end. If `hand_over_s` is given, the process hands over its part and ends
    `hand_over_s` later. If `late` is True, the history breaks a promise: the process begins an attempt
    after it was told to end."""
    telling = a_telling()
    one, two = events(telling, "a", "b")
    telling.send(LATE + 1.5, one, recorded=recorded)
    if hand_over_s is not None:
        telling.tell(Fault(NOW + LATE + 2, "hand over", "1"))
    telling.tell(Fault(NOW + LATE + 2, "stop", "1"))
    ended = LATE + 2 + (hand_over_s or 1)
    telling.tell(Ended(NOW + ended, 1, "stopped"))
    telling.boot(ended + 1, 2)
    telling.send(LATE + 2.5 if late else ended + 2, two, process=1 if late else 2)
    if not recorded:
        telling.change(one, status="FAILED", dlq_status="DISCARDED")
        telling.destination(ended + 3, status="ARCHIVED")
    return telling


def quarantined(crashes: int, *, again: bool = False) -> Telling:
    """An actor crashes `crashes` times when it judges an attempt's outcome, and the delivery is
    quarantined. With `again`, a caller requeues the delivery, and it is sent once more."""
    telling = a_telling()
    [one] = events(telling, "a")
    telling.send(LATE + 1, one, recorded=False)
    for number in range(crashes):
        telling.tell(Fault(NOW + LATE + 1.1 + number, "crash", "d1"))
    telling.die(one, LATE + 10, error="INTERNAL")
    if again:
        telling.ask(LATE + 12, "requeue", deliveries=(one,), ids=(one,))
        telling.send(LATE + 13, one)
        telling.change(one, dlq_status="RETRIED_FROM_DLQ")
    telling.tell(Fault(NOW + LATE + 20, "stop", "1"), Ended(NOW + LATE + 21, 1, "stopped"))
    return telling


def in_another_lane() -> Telling:
    telling = well()
    telling.change("a-d1", lane="c:1")
    return telling
