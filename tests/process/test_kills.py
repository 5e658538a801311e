"""Kill -9 at random moments under load: nothing accepted is lost, repeated without need, or reordered."""

import random
import threading

from tests.process import verdict
from tests.process.house import House, event
from tests.process.posting import Poster, posting
from tests.process.receiver import OK, Answer, Behaviour, Receiver

ROUNDS = 6
LOAD_S = (0.15, 0.7)
SCHEDULE = [1] * 8


def sometimes_failing(seed: int, share: float) -> Behaviour:
    """Fail some of the first attempts, always the same ones of a run."""

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
        for number in range(ROUNDS):
            pause.wait(chance.uniform(*LOAD_S))  # the moment is the point: nothing is waited for
            house.kill(database=number % 3 == 2)
            house.start()
    house.until_settled(within_s=60)

    there = verdict.nothing_lost_or_invented(house, posters)
    assert len(there) > 100
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

    # Their keys still stand for the first events, whatever the crash was in the middle of.
    for poster in posters:
        for n, identifier in list(poster.accepted.items())[-20:]:
            told = house.ask("POST", "/events", event(n, poster.name, idempotencyKey=n))
            assert (told.status, told.body["duplicate"]) == (202, True)
            assert (told.body["id"], told.body["deliveries"]) == (identifier, 3)
