"""A rolling upgrade: a node of the next release starts as a standby and migrates the database. It takes
over when the node of the earlier release is told to end."""

import json
import signal
from collections import Counter
from pathlib import Path

import pytest
import trio

from bench.service import free_port
from storage.migrations.migrate import known_migrations
from tests.patience import HANGS_S
from tests.process import verdict
from tests.process.house import House, until
from tests.process.posting import Poster, posting
from tests.process.receiver import Receiver
from tests.upgrade.house import ROOT, Balancer, Outside, next_release
from tests.upgrade.test_rolling import GOOD, accepted

# The delay before a retry. It is longer than the test, so every delivery must succeed at the first
# attempt.
NEVER_S = 3_600


class Counting(Poster):
    def __init__(self, house: House, name: str, batch: int = 1, *, most: int = 1_000_000) -> None:
        super().__init__(house, name, batch, most=most)
        self.tries: Counter[str] = Counter()

    def _posted(self, numbers: list[str]) -> bool:
        self.tries[numbers[0]] += 1
        return super()._posted(numbers)


async def test_the_next_release_joins_as_a_standby_and_takes_over(
    database_url: str, place: Path, receiver: Receiver
) -> None:
    await trio.to_thread.run_sync(_rolled, database_url, place, receiver)


def _rolled(url: str, place: Path, receiver: Receiver) -> None:
    new = _node(place / "new" / "data", url, next_release(place / "tree", GOOD))
    with _node(place / "old" / "data", url, ROOT) as old:
        key = old.made(
            receiver.url + "/key", ordering="KEY", concurrency=8, retrySchedule=[NEVER_S]
        )
        balancer = Balancer([new.port, old.port])  # to the standby once it accepts connections
        front = House(place / "front")
        front.port, front.key = balancer.port, old.key
        posters = [Counting(front, f"one{k}") for k in range(2)]
        posters.append(Counting(front, "many", batch=20, most=200))
        new.key = old.key
        try:
            with posting(*posters):
                until(lambda: accepted(_singles(posters), 20), "the old release takes events")
                new.start()
                until(lambda: "node.stood_by" in new.log_file.read_text(), "the new one stands by")
                assert old.value("SELECT to_regclass('of_next')") is not None
                _go_on(posters, "the old release works on the migrated database")
                assert old.process is not None
                assert old.process.poll() is None
                assert old.ended(signal.SIGTERM) == 0
                until(lambda: "server.started" in new.log_file.read_text(), "the new one works")
                _go_on(posters, "the new release takes events")
            # No delivery waited until a node counted as dead.
            assert taken_over(new) == [None], "the part was handed over"
            new.until_settled()
            there = verdict.nothing_lost_or_invented(new, posters)
            verdict.all_arrived(there, receiver.arrivals("/key"))
            verdict.in_order(new, key, receiver.firsts("/key"), lanes=True)
            verdict.in_order_of_posting(_singles(posters), receiver.firsts("/key"))
            verdict.sums_equal_rows(new)
            refused = [number for poster in posters for number in poster.refused]
            assert refused == [], "a request through the standby waits instead"
            assert max(max(poster.tries.values()) for poster in posters) <= 2
            assert new.value("SELECT max(attempt_count) FROM deliveries") == 1
            _refuse_to_go_back(old)
            assert new.ended() == 0
            for each in (old, new):
                each.search_log()
        finally:
            balancer.close()
            new.stop()


def _node(folder: Path, url: str, root: Path) -> Outside:
    return Outside(folder, url, root, ANGARIUM_PEER_BIND=f"127.0.0.1:{free_port()}")


def _refuse_to_go_back(old: Outside) -> None:
    with pytest.raises(RuntimeError):
        old.start()
    assert old.process is not None
    assert old.process.wait(HANGS_S) == 3
    newest = f"{len(known_migrations()) + 1:04}_next.sql"
    assert f"the database is newer than this program: it has {newest}" in old.log_file.read_text()


def taken_over(house: House) -> list[str | None]:
    """Return an entry for each takeover of a part: the node that had the part and died, or None if that
    node handed the part over."""
    lines = map(json.loads, house.log_file.read_text().splitlines())
    return [line["former"] for line in lines if line["event"] == "part.taken_over"]


def _singles(posters: list[Counting]) -> list[Poster]:
    return [poster for poster in posters if poster.batch == 1]


def _go_on(posters: list[Counting], what: str) -> None:
    before = sum(len(poster.accepted) for poster in _singles(posters))
    until(lambda: sum(len(poster.accepted) for poster in _singles(posters)) > before + 20, what)
