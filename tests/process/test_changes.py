"""Destinations that change while events arrive and receivers fail: no delivery is lost or reordered."""

import random
import threading

from tests.process import verdict
from tests.process.house import House, until
from tests.process.posting import Poster, posting
from tests.process.receiver import OK, Answer, Receiver

CHANGES = 25
SCHEDULE = [1] * 10
STATUSES = (500, 404, 302, 503)


def test_changes_under_load_lose_repeat_and_reorder_nothing(
    house: House, receiver: Receiver
) -> None:
    chance = random.Random(5)

    def flaky(n: str, before: int) -> Answer:
        draw = random.Random(n)
        return Answer(draw.choice(STATUSES)) if not before and draw.random() < 0.008 else OK

    receiver.behave("/changed", flaky)
    receiver.behave("/loose", flaky)
    changed = house.made(
        receiver.url + "/changed", "changes.*", ordering="KEY", retrySchedule=SCHEDULE
    )
    loose = house.made(receiver.url + "/loose", "changes.*", retrySchedule=SCHEDULE)
    posters = [Poster(house, f"c{k}", most=250, kind="changes.one") for k in range(3)]
    posters.append(Poster(house, "c-many", batch=50, most=500, kind="changes.one"))
    pause = threading.Event()
    with posting(*posters):
        for _ in range(CHANGES):
            pause.wait(chance.uniform(0.01, 0.15))  # at a random moment
            if chance.random() < 0.5:
                ordering = chance.choice(("KEY", "STRICT"))
                house.patch(
                    changed, delivery={"ordering": ordering, "concurrency": chance.randint(1, 20)}
                )
            else:
                destination = chance.choice((changed, loose))
                house.api("POST", f"/destinations/{destination}/disable", {})
                pause.wait(chance.uniform(0.0, 0.1))
                house.api("POST", f"/destinations/{destination}/enable", {})
        until(lambda: not any(poster.is_alive() for poster in posters), "all is posted")
    house.until_settled()

    there = verdict.nothing_lost_or_invented(house, posters, "changes.one")
    assert len(there) == 3 * 250 + 500
    for path, destination in (("/changed", changed), ("/loose", loose)):
        arrivals = receiver.arrivals(path)
        verdict.all_arrived(there, arrivals)
        verdict.repeated_only_by_crashes(house, destination, arrivals, crashes=0)
        verdict.attempts_by_schedule(house, destination, SCHEDULE)
        assert house.health(destination)["queue"]["pending"] == 0
        assert house.health(destination)["actor"]["restarts"] == 0
    verdict.in_order(house, changed, receiver.firsts("/changed"), lanes=True)
    verdict.in_order_of_posting(posters, receiver.firsts("/changed"))
    verdict.sums_equal_rows(house)
