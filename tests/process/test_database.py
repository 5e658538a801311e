"""The database killed, frozen and cut off under a running server: the server reports it, waits and
recovers."""

import os
import signal
import threading
from collections.abc import Sequence
from functools import partial

from tests.process import verdict
from tests.process.house import House, until
from tests.process.posting import Poster, posting
from tests.process.receiver import Receiver

HOT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name IN ('angarium intake', 'angarium settle', 'angarium listener')"""


def killed(house: House) -> None:
    """Kill the postmaster and thereby its children. The server starts the postmaster again."""
    before = house.database_pid()
    os.kill(before, signal.SIGKILL)
    until(lambda: _readiness(house) == 503, "/readyz tells")
    assert _status(house, "/livez") == 200
    until(lambda: _readiness(house) == 200, "it is back")
    assert house.database_pid() != before


def frozen(house: House, posters: Sequence[Poster]) -> None:
    """Stop all database processes until every poster has got an answer."""
    house.database(signal.SIGSTOP)
    try:
        before = [poster.answers.total() for poster in posters]
        until(lambda: _readiness(house) == 503, "/readyz tells")
        assert _status(house, "/livez") == 200
        told = house.ask("GET", "/deliveries")
        assert told.status in (200, 503), told
        until(
            lambda: all(
                poster.answers.total() > count + 1  # one request may already have been under way
                for poster, count in zip(posters, before, strict=True)
            ),
            "no request waits for the database",
        )
    finally:
        house.database(signal.SIGCONT)
    until(lambda: _readiness(house) == 200, "it is back")


def cut_off(house: House) -> None:
    """Repeatedly end the sessions that write events and outcomes."""
    pause = threading.Event()
    for _ in range(10):
        house.rows(HOT)
        pause.wait(0.1)
    until(lambda: _readiness(house) == 200, "it is well")


def _status(house: House, path: str) -> int:
    return house.ask("GET", path).status


def _readiness(house: House) -> int:
    return _status(house, "/readyz")


def test_all_goes_on_after_trouble_with_the_database(house: House, receiver: Receiver) -> None:
    path = "/troubled"
    kind = "troubled.one"
    destination = house.made(receiver.url + path, kind, ordering="KEY", concurrency=16)
    posters = [Poster(house, f"troubled{k}", kind=kind) for k in range(3)]
    posters.append(Poster(house, "troubled-many", batch=20, kind=kind))
    with posting(*posters):
        for trouble in (killed, partial(frozen, posters=posters), cut_off):
            seen = len(receiver.arrivals(path))
            receiver.wait_count(path, seen + 50)
            trouble(house)
        seen = len(receiver.arrivals(path))
        receiver.wait_count(path, seen + 50)
    house.until_settled()

    there = verdict.nothing_lost_or_invented(house, posters, kind)
    arrivals = receiver.arrivals(path)
    verdict.all_arrived(there, arrivals)
    assert len(arrivals) == len(there), "the server never ended: nothing comes twice"
    verdict.in_order(house, destination, receiver.firsts(path), lanes=True)
    verdict.in_order_of_posting(posters, receiver.firsts(path))
    verdict.sums_equal_rows(house)
    assert house.health(destination)["queue"]["pending"] == 0
    assert house.health(destination)["actor"]["restarts"] == 0
    for poster in posters:
        assert set(poster.answers) <= {202, 500, 503}, poster.answers
        assert poster.broken == 0, "every request gets an answer"
