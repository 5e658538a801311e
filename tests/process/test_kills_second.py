"""Replays and retries while Angarium's process is killed or stopped, its database is killed, and
connections are lost. Each replay and each retry sends its delivery once. For each delivery, each kill of
the process can add one request."""

import random
import signal
import threading

from tests.process.house import House
from tests.process.receiver import Receiver
from tests.process.second import Scene
from tests.process.test_database import cut_off, killed

ROUNDS = 2  # one of them kills the embedded database too
LOAD_S = (0.15, 0.8)


def test_what_is_replayed_and_retried_goes_again_once_whenever_the_process_is_killed(
    house: House, receiver: Receiver
) -> None:
    scene = Scene(house, receiver, "again")
    chance, pause = random.Random(23), threading.Event()
    with scene.under_way(crashes=ROUNDS):
        for number in range(ROUNDS):
            # The random moment is the test's point: no condition is awaited.
            pause.wait(chance.uniform(*LOAD_S))
            house.kill(database=number == 1)
            house.start()
    scene.judge(crashes=ROUNDS)


def stopped(house: House) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        assert house.ended(number) == 0
        house.start()


def test_what_is_replayed_and_retried_goes_again_once_over_stops_and_troubles_of_the_database(
    house: House, receiver: Receiver
) -> None:
    scene = Scene(house, receiver, "again-troubles")
    pause = threading.Event()
    with scene.under_way():
        for trouble in (killed, cut_off, stopped):
            pause.wait(0.4)
            trouble(house)
        pause.wait(0.5)
    scene.judge(crashes=0)
