"""An operator's changes while deliveries wait: they take effect on a real server without a restart."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.processes import rss_mb
from tests.process import verdict
from tests.process.house import House, until
from tests.process.receiver import OK, Answer, Receiver, always, failing

BEGUN = """SELECT a.started_at_ms FROM attempts a
    JOIN deliveries d ON (d.environment, d.id) = (a.environment, a.delivery)
    WHERE d.destination = $1::text::uuid ORDER BY 1"""
MEMORY_EVENTS = 20_000
MEMORY_MB = 40.0  # the growth while they wait: payloads alone are 3 MB, rows as objects 20 MB


def numbers(count: int, prefix: str = "") -> list[str]:
    return [f"{prefix}{k}" for k in range(count)]


def names(receiver: Receiver, path: str) -> list[str]:
    return [arrival.n for arrival in receiver.arrivals(path)]


def test_a_disabled_destination_holds_its_backlog_and_sends_it_on_in_order(
    shared: House, receiver: Receiver
) -> None:
    held = shared.made(receiver.url + "/held", "held.*", ordering="STRICT")
    shared.api("POST", f"/destinations/{held}/disable", {})
    shared.post(*numbers(5), kind="held.one")
    shared.post_batch(numbers(700, "b"), kind="held.one")
    assert {each["status"] for each in shared.deliveries(held)} == {"PENDING"}
    health = shared.health(held)
    assert (health["state"], health["queue"]["pending"]) == ("DISABLED", 705)
    assert not receiver.arrivals("/held")

    shared.api("POST", f"/destinations/{held}/enable", {})
    shared.until_settled(held)
    assert names(receiver, "/held") == [*numbers(5), *numbers(700, "b")]
    health = shared.health(held)
    assert (health["state"], health["successRate"]) == ("HEALTHY", 1.0)
    assert (health["queue"]["pending"], health["queue"]["inFlight"]) == (0, 0)
    verdict.sums_equal_rows(shared)


def test_an_archived_destination_discards_what_waits_and_records_what_is_in_flight(
    shared: House, receiver: Receiver
) -> None:
    gate = threading.Event()
    receiver.behave("/archive", lambda n, before: Answer(200 if n == "0" else 500, gate=gate))
    archived = shared.made(receiver.url + "/archive", "archive.*", concurrency=2)
    shared.post(*numbers(2), kind="archive.one")
    shared.post_batch(numbers(600, "b"), kind="archive.one")
    receiver.wait_count("/archive", 2)
    shared.api("DELETE", f"/destinations/{archived}", {})
    sql = """SELECT status, dlq_status, count(*) FROM deliveries
        WHERE destination = $1::text::uuid GROUP BY 1, 2 ORDER BY 1, 2"""
    until(
        lambda: (
            shared.value(
                "SELECT count(*) FROM deliveries WHERE destination = $1::text::uuid AND status = 3",
                archived,
            )
            == 600
        ),
        "what waits is discarded",
    )
    gate.set()
    shared.until_settled(archived)
    assert [tuple(row) for row in shared.rows(sql, archived)] == [(2, None, 1), (3, 3, 601)]
    assert len(receiver.arrivals("/archive")) == 2, "nothing is begun, nothing is tried again"
    listed = shared.deliveries(archived, status="FAILED")
    assert {each["dlqStatus"] for each in listed} == {"DISCARDED"}
    assert shared.ask("POST", f"/destinations/{archived}/enable", {}).status == 409
    until(
        lambda: (
            not shared.value(
                "SELECT count(*) FROM destination_backlog WHERE destination = $1::text::uuid",
                archived,
            )
        ),
        "its backlog row is gone",
    )
    verdict.sums_equal_rows(shared)


def test_a_new_url_is_used_by_what_waits_already(shared: House, receiver: Receiver) -> None:
    receiver.behave("/old", always(Answer(500)))
    moved = shared.made(receiver.url + "/old", "url.*", ordering="STRICT", retrySchedule=[1] * 5)
    shared.post(*numbers(20), kind="url.one")
    receiver.wait_count("/old", 1)
    shared.patch(moved, url=receiver.url + "/new")
    shared.until_settled(moved)
    assert names(receiver, "/new") == numbers(20)
    assert set(names(receiver, "/old")) == {"0"}
    verdict.attempts_by_schedule(shared, moved, [1] * 5)


def test_concurrency_is_kept_and_a_new_one_acts_at_once(shared: House, receiver: Receiver) -> None:
    gate = threading.Event()
    receiver.behave("/width", always(Answer(gate=gate)))
    width = shared.made(receiver.url + "/width", "width.*", concurrency=3)
    shared.post_batch(numbers(40), kind="width.one")
    receiver.wait_count("/width", 3)
    until(lambda: shared.health(width)["queue"]["inFlight"] == 3, "three are in flight")
    assert len(shared.deliveries(width, status="DELIVERING")) == 3
    shared.patch(width, delivery={"concurrency": 9})
    receiver.wait_count("/width", 9)
    shared.patch(width, delivery={"concurrency": 1})
    gate.set()
    shared.until_settled(width)
    assert receiver.most_open("/width") == 9
    assert sorted(names(receiver, "/width"), key=int) == numbers(40), "each came once"


def test_a_new_ordering_takes_what_waits_by_its_acceptance(
    shared: House, receiver: Receiver
) -> None:
    gate = threading.Event()
    receiver.behave("/lanes", lambda n, before: Answer(gate=gate) if n == "x" else OK)
    lanes = shared.made(receiver.url + "/lanes", "lanes.*", concurrency=1)
    shared.post("x", lane="a", kind="lanes.one")
    receiver.wait_count("/lanes", 1)
    for lane in "abc":
        shared.post_batch(numbers(300, lane), lane=lane, kind="lanes.one")
    shared.patch(lanes, delivery={"ordering": "KEY", "concurrency": 32})
    gate.set()
    receiver.wait_count("/lanes", 300)
    shared.patch(lanes, delivery={"ordering": "STRICT"})
    shared.until_settled(lanes)
    arrivals = receiver.arrivals("/lanes")
    assert len(arrivals) == 901
    verdict.in_order(shared, lanes, receiver.firsts("/lanes"), lanes=True)
    assert shared.health(lanes)["queue"]["pending"] == 0


def test_a_shorter_schedule_ends_what_waits_and_a_longer_one_gives_it_time(
    shared: House, receiver: Receiver
) -> None:
    receiver.behave("/schedule", always(Answer(500)))
    options = {"timeoutMs": 5000, "retrySchedule": [86_400, 86_400]}
    schedule = shared.made(receiver.url + "/schedule", "schedule.*", **options)
    shared.post(*numbers(8), kind="schedule.one")
    until(lambda: len(shared.deliveries(schedule, status="RETRYING")) == 8, "all wait for a day")
    receiver.behave("/schedule", always(OK))
    shared.patch(schedule, delivery={"retrySchedule": [1]})
    shared.until_settled(schedule)
    statuses = {each["status"] for each in shared.deliveries(schedule)}
    assert statuses == {"DELIVERED"}, "a day became a second"

    receiver.behave("/schedule", always(Answer(500)))
    shared.patch(schedule, delivery={"retrySchedule": [86_400]})
    shared.post(*numbers(3, "d"), kind="schedule.one")
    until(lambda: len(shared.deliveries(schedule, status="RETRYING")) == 3, "they wait for a day")
    shared.patch(schedule, delivery={"retrySchedule": []})
    shared.until_settled(schedule)
    dead = shared.deliveries(schedule, dlqStatus="IN_DLQ")
    assert [(each["status"], each["attemptCount"]) for each in dead] == [("FAILED", 1)] * 3
    verdict.sums_equal_rows(shared)


def test_a_410_disables_the_destination_and_holds_the_others(
    shared: House, receiver: Receiver
) -> None:
    receiver.behave("/gone", lambda n, before: Answer(410 if n == "0" else 200))
    gone = shared.made(receiver.url + "/gone", "gone.*", ordering="STRICT")
    shared.post_batch(numbers(20), kind="gone.one")
    until(lambda: shared.api("GET", f"/destinations/{gone}")["status"] == "DISABLED", "disabled")
    until(lambda: shared.deliveries(gone, dlqStatus="IN_DLQ"), "the delivery is recorded as dead")
    dead = shared.deliveries(gone, dlqStatus="IN_DLQ")
    assert [(each["status"], each["errorCategory"], each["responseStatus"]) for each in dead] == [
        ("FAILED", "DESTINATION_GONE", 410)
    ]
    assert shared.health(gone)["queue"]["pending"] == 19
    assert names(receiver, "/gone") == ["0"], "one attempt, and none after it"
    shared.api("POST", f"/destinations/{gone}/enable", {})
    shared.until_settled(gone)
    assert names(receiver, "/gone") == numbers(20)


def test_a_retry_after_holds_the_whole_destination(shared: House, receiver: Receiver) -> None:
    wanted = Answer(429, (("retry-after", "2"),))
    receiver.behave("/busy", lambda n, before: wanted if n == "0" and not before else OK)
    busy = shared.made(receiver.url + "/busy", "busy.*", concurrency=1, retrySchedule=[1, 5])
    shared.post_batch(numbers(10), kind="busy.one")
    shared.until_settled(busy)
    first, *others = receiver.arrivals("/busy")
    assert len(others) == 10
    assert min(arrival.at for arrival in others) >= first.at + 2
    (limited,) = shared.deliveries(busy, status="DELIVERED")[-1:]
    attempts = shared.api("GET", f"/deliveries/{limited['id']}")["attempts"]
    assert [each["errorCategory"] for each in attempts] == ["RATE_LIMITED", None]

    # A date, limited to the schedule's longest delay: 1 s.
    far = datetime.now(UTC) + timedelta(hours=9)
    dated = Answer(503, (("retry-after", far.strftime("%a, %d %b %Y %H:%M:%S GMT")),))
    receiver.behave("/dated", lambda n, before: Answer() if before else dated)
    capped = shared.made(receiver.url + "/dated", "dated.*", retrySchedule=[1])
    shared.post("a", kind="dated.one")
    shared.until_settled(capped)
    first, second = receiver.arrivals("/dated")
    assert first.at + 1 <= second.at < first.at + 3_600


def test_the_circuit_opens_probes_and_closes(shared: House, receiver: Receiver) -> None:
    receiver.behave("/sick", always(Answer(500)))
    options = {"concurrency": 8, "retrySchedule": [1] * 20}
    sick = shared.made(receiver.url + "/sick", "sick.*", **options)
    shared.post_batch(numbers(30), kind="sick.one")
    seen: list[Any] = []

    def opens() -> bool:
        seen.append(shared.health(sick))
        return bool(seen[-1]["circuit"]["state"] == "OPEN")  # between two probes

    until(opens, "it opens")
    health = seen[-1]
    assert health["state"] == "FAILING"
    assert health["circuit"]["nextProbeAt"]
    opened_ms = datetime.fromisoformat(health["circuit"]["openedAt"]).timestamp() * 1000

    def begun_ms() -> list[int]:
        return [row[0] for row in shared.rows(BEGUN, sick)]

    until(lambda: sum(ms > opened_ms for ms in begun_ms()) >= 2, "it is probed twice")
    begun = begun_ms()
    earlier = [ms for ms in begun if ms <= opened_ms]
    assert 10 <= len(earlier) <= 10 + 8, "nothing is sent once it is open"
    first, second = begun[len(earlier) :][:2]
    assert first - opened_ms >= 999, "probes come after 1, 2, 4 ... s"
    assert second - first >= 1999
    receiver.behave("/sick", always(OK))
    shared.until_settled(sick)
    assert shared.health(sick)["circuit"]["state"] == "CLOSED"
    assert {each["status"] for each in shared.deliveries(sick)} == {"DELIVERED"}
    verdict.attempts_by_schedule(shared, sick, [1] * 20)
    verdict.sums_equal_rows(shared)


def test_a_receiver_that_never_answers_delays_no_other(shared: House, receiver: Receiver) -> None:
    gate = threading.Event()
    receiver.behave("/never", always(Answer(gate=gate)))
    never = shared.made(receiver.url + "/never", "never.*", concurrency=256, timeoutMs=60_000)
    quick = shared.made(receiver.url + "/quick", "quick.*")
    shared.post_batch(numbers(1000), kind="never.one")
    receiver.wait_count("/never", 256)
    for number in numbers(20):
        shared.post(number, kind="quick.one")
        receiver.wait_count("/quick", int(number) + 1)
    assert len(receiver.arrivals("/never")) == 256, "none has been given up meanwhile"
    assert shared.health(quick)["state"] == "HEALTHY"
    assert shared.health(never)["queue"]["inFlight"] == 256
    shared.api("DELETE", f"/destinations/{never}", {})
    gate.set()
    shared.until_settled(never)


def test_a_large_backlog_of_a_disabled_destination_costs_no_memory(shared: House) -> None:
    piled = shared.made("http://127.0.0.1:9/", "pile.*")
    shared.api("POST", f"/destinations/{piled}/disable", {})
    assert shared.process is not None
    shared.post_batch(numbers(1000, "warm"), kind="pile.one")
    before = rss_mb(shared.process.pid)
    for k in range(MEMORY_EVENTS // 1000):
        shared.post_batch(numbers(1000, f"{k}-"), kind="pile.one")
    grown = rss_mb(shared.process.pid) - before
    assert shared.health(piled)["queue"]["pending"] == MEMORY_EVENTS + 1000
    assert grown < MEMORY_MB, f"{grown:.0f} MB for {MEMORY_EVENTS} events"
    shared.api("DELETE", f"/destinations/{piled}", {})
    shared.until_settled(piled)
    assert rss_mb(shared.process.pid) - before < 2 * MEMORY_MB, "discarding them neither"


def test_an_actor_that_left_memory_comes_back_with_its_retries(
    shared: House, receiver: Receiver
) -> None:
    receiver.behave("/rest", failing(1))
    rest = shared.made(receiver.url + "/rest", "rest.*", retrySchedule=[1])
    shared.post("a", kind="rest.one")
    shared.until_settled(rest)
    until(lambda: shared.health(rest)["actor"]["state"] == "AT_REST", "it leaves memory")
    until(
        lambda: (
            not shared.value(
                "SELECT count(*) FROM destination_backlog WHERE destination = $1::text::uuid", rest
            )
        ),
        "and its row goes",
    )
    shared.post("b", kind="rest.one")
    shared.until_settled(rest)
    assert names(receiver, "/rest") == ["a", "a", "b", "b"]
