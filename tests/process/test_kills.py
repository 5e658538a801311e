"""SIGKILL at random moments under load: no accepted event is lost, reordered or repeated
unnecessarily."""

import random
import threading

from tests.process import verdict
from tests.process.house import House, event, until
from tests.process.posting import Poster, posting
from tests.process.receiver import OK, Answer, Behaviour, Receiver, always

ROUNDS = 2  # one of them kills the embedded database too. tests/chaos kills at many more moments
LEAST = 100  # the number of events before the first kill
LOAD_S = (0.15, 0.7)
SCHEDULE = [1] * 8


def sometimes_failing(seed: int, share: float) -> Behaviour:
    """Fail some events' first attempts, the same ones in each run."""

    def behaviour(n: str, before: int) -> Answer:
        chance = random.Random(f"{seed}{n}").random()
        return Answer(500) if before == 0 and chance < share else OK

    return behaviour


def test_what_was_accepted_is_delivered_in_order_whenever_the_process_is_killed(
    house: House, receiver: Receiver
) -> None:
    for path, share in (("/strict", 0.004), ("/key", 0.02), ("/any", 0.05)):
        receiver.behave(path, sometimes_failing(3, share))
    strict = house.made(receiver.url + "/strict", ordering="STRICT", retrySchedule=SCHEDULE)
    key = house.made(receiver.url + "/key", ordering="KEY", concurrency=16, retrySchedule=SCHEDULE)
    free = house.made(receiver.url + "/any", concurrency=16, retrySchedule=SCHEDULE)
    posters = [Poster(house, f"one{k}") for k in range(3)]
    posters += [Poster(house, f"many{k}", batch=25, most=500) for k in range(2)]

    chance = random.Random(11)
    pause = threading.Event()
    with posting(*posters):
        # Wait for some accepted events before the first kill. While no server runs, the posters give up
        # each batch that they try. Without the wait, no batch might be left for a running server.
        until(lambda: sum(len(each.accepted) for each in posters) > LEAST, "events are accepted")
        for number in range(ROUNDS):
            # the random moment is the test's point: no condition is awaited
            pause.wait(chance.uniform(*LOAD_S))
            house.kill(database=number == 1)
            house.start()
    house.until_settled()

    there = verdict.nothing_lost_or_invented(house, posters)
    for path, destination in (("/strict", strict), ("/key", key), ("/any", free)):
        arrivals = receiver.arrivals(path)
        verdict.all_arrived(there, arrivals)
        verdict.repeated_only_by_crashes(house, destination, arrivals, ROUNDS)
        verdict.attempts_by_schedule(house, destination, SCHEDULE)
        assert {each["status"] for each in house.deliveries(destination)} == {"DELIVERED"}
        assert house.health(destination)["queue"]["pending"] == 0
    verdict.in_order(house, strict, receiver.firsts("/strict"), lanes=False)
    verdict.in_order(house, key, receiver.firsts("/key"), lanes=True)
    verdict.in_order_of_posting(posters, receiver.firsts("/strict"))
    verdict.in_order_of_posting(posters, receiver.firsts("/key"))
    verdict.sums_equal_rows(house)

    # The keys still belong to the first events after the crashes.
    for poster in posters:
        for n, identifier in list(poster.accepted.items())[-20:]:
            told = house.ask("POST", "/events", event(n, poster.name, idempotencyKey=n))
            assert (told.status, told.body["duplicate"]) == (202, True)
            assert (told.body["id"], told.body["deliveries"]) == (identifier, 3)


def test_what_an_operator_did_outlives_a_kill(house: House, receiver: Receiver) -> None:
    archived = house.made(receiver.url + "/archived", "left.*")
    disabled = house.made(receiver.url + "/disabled", "left.*", ordering="STRICT")
    for destination in (archived, disabled):
        house.api("POST", f"/destinations/{destination}/disable", {})
    for k in range(3):
        house.post_batch([f"{1000 * k + j}" for j in range(1000)], kind="left.one")
    house.patch(disabled, url=receiver.url + "/elsewhere")
    house.api("DELETE", f"/destinations/{archived}", {})
    house.kill()
    house.start()
    house.until_settled(archived)
    sql = """SELECT status, dlq_status, attempt_count, count(*) FROM deliveries
        WHERE destination = $1::text::uuid GROUP BY 1, 2, 3"""
    assert [tuple(row) for row in house.rows(sql, archived)] == [(3, 3, 0, 3000)]
    assert house.api("GET", f"/destinations/{disabled}")["status"] == "DISABLED"
    assert [tuple(row) for row in house.rows(sql, disabled)] == [(0, None, 0, 3000)]
    house.api("POST", f"/destinations/{disabled}/enable", {})
    arrivals = receiver.wait_count("/elsewhere", 3000)
    assert [arrival.n for arrival in arrivals] == [str(k) for k in range(3000)]
    assert not receiver.arrivals("/archived")
    assert not receiver.arrivals("/disabled")
    house.until_settled()


def test_what_a_receiver_asked_for_outlives_a_kill(house: House, receiver: Receiver) -> None:
    wait = Answer(429, (("retry-after", "4"),))
    receiver.behave("/wait", lambda n, before: wait if n == "a" and not before else OK)
    receiver.behave("/gone", always(Answer(410)))
    receiver.behave("/sick", always(Answer(500)))
    waiting = house.made(receiver.url + "/wait", "wait.*", retrySchedule=[1, 9])
    gone = house.made(receiver.url + "/gone", "gone.*", ordering="STRICT")
    sick = house.made(receiver.url + "/sick", "sick.*", retrySchedule=[1] * 20)
    house.post_batch([str(k) for k in range(12)], kind="sick.one")
    until(lambda: house.health(sick)["circuit"]["state"] == "OPEN", "the circuit opens")
    house.post("a", kind="wait.one")
    until(lambda: house.tried(waiting), "the 429 is recorded")
    house.post("a", "b", kind="gone.one")
    until(lambda: house.deliveries(gone, status="FAILED"), "the 410 is recorded")
    house.kill()
    tried = len(receiver.arrivals("/sick"))
    house.start()
    until(lambda: house.api("GET", f"/destinations/{gone}")["status"] == "DISABLED", "disabled")
    house.post("b", kind="wait.one")
    asked, *after = receiver.wait_count("/wait", 3)
    assert min(arrival.at for arrival in after) >= asked.at + 4
    assert [arrival.n for arrival in receiver.arrivals("/gone")] == ["a"]
    probes = receiver.wait_count("/sick", tried + 1)[tried:]
    assert len(probes) <= 4, "one at a time"
    receiver.behave("/sick", always(OK))
    house.until_settled(sick)
    verdict.attempts_by_schedule(house, sick, [1] * 20)
    house.api("DELETE", f"/destinations/{gone}", {})
    house.until_settled()
    verdict.sums_equal_rows(house)
