"""A new release replaces the old release under load. If the new release cannot migrate the database, the
old release continues."""

import signal
from pathlib import Path

import pytest
import trio

from storage.migrations.migrate import known_migrations
from tests.patience import HANGS_S
from tests.process import verdict
from tests.process.house import House, until
from tests.process.posting import Poster, posting
from tests.process.receiver import OK, Answer, Receiver
from tests.upgrade.house import Balancer, Outside, next_release

# A release's changes to tables that are being written.
GOOD = """
ALTER TABLE events ADD COLUMN of_next integer;
ALTER TABLE deliveries ADD COLUMN of_next integer NOT NULL DEFAULT 0;
ALTER TABLE destinations ADD COLUMN of_next text;
CREATE TABLE of_next (n integer);
"""
BAD = GOOD + "SELECT of_next FROM nowhere;"
STUCK = GOOD + "SELECT pg_sleep(600);"
SLEEPING = """SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%'
    AND pid <> pg_backend_pid() AND datname = current_database()"""


def first_fails(n: str, before: int) -> Answer:
    return Answer(500) if before == 0 and n.endswith("17") else OK


def accepted(posters: list[Poster], count: int) -> bool:
    return all(len(poster.accepted) >= count for poster in posters)


async def test_the_next_release_migrates_and_takes_over_while_events_come(
    database_url: str, place: Path, receiver: Receiver
) -> None:
    await trio.to_thread.run_sync(_rolled, database_url, place, receiver)


def _rolled(url: str, place: Path, receiver: Receiver) -> None:
    receiver.behave("/key", first_fails)
    new = Outside(place / "new" / "data", url, next_release(place / "tree", GOOD))
    with Outside(place / "old" / "data", url) as old:
        key = old.made(receiver.url + "/key", ordering="KEY", concurrency=8, retrySchedule=[1] * 8)
        balancer = Balancer([old.port, new.port])
        front = House(place / "front")
        front.port, front.key = balancer.port, old.key
        posters = [Poster(front, f"one{k}") for k in range(2)]
        posters.append(Poster(front, "many", batch=20, most=200))
        new.key = old.key
        try:
            with posting(*posters):
                until(lambda: accepted(posters, 20), "the old one takes events")
                new.start()
                assert old.process is not None
                assert old.process.wait(HANGS_S) == 1
                before = len(posters[0].accepted)
                until(lambda: len(posters[0].accepted) > before + 20, "the new one takes events")
            new.until_settled()
            there = verdict.nothing_lost_or_invented(new, posters)
            verdict.all_arrived(there, receiver.arrivals("/key"))
            verdict.repeated_only_by_crashes(new, key, receiver.arrivals("/key"), 1)
            verdict.in_order(new, key, receiver.firsts("/key"), lanes=True)
            verdict.in_order_of_posting(posters, receiver.firsts("/key"))
            verdict.sums_equal_rows(new)
            assert new.value("SELECT count(*) FROM of_next") == 0
            assert "another server has taken over" in old.log_file.read_text()
            old.search_log()  # its log reports the takeover without a traceback
            assert new.ended() == 0
            new.search_log()
        finally:
            balancer.close()
            new.stop()


async def test_a_release_that_cannot_migrate_leaves_the_former_one_at_work(
    database_url: str, place: Path, receiver: Receiver
) -> None:
    await trio.to_thread.run_sync(_failed, database_url, place, receiver)


def _failed(url: str, place: Path, receiver: Receiver) -> None:
    bad = Outside(place / "bad" / "data", url, next_release(place / "bad tree", BAD))
    stuck = Outside(place / "stuck" / "data", url, next_release(place / "stuck tree", STUCK))
    with Outside(place / "old" / "data", url) as old:
        old.made(receiver.url + "/key", ordering="KEY", concurrency=8)
        poster = Poster(old, "one")
        with posting(poster):
            until(lambda: accepted([poster], 5), "it takes events")
            with pytest.raises(RuntimeError, match="cannot be applied: 42P01"):
                bad.start()
            assert bad.process is not None
            assert bad.process.wait(HANGS_S) == 3
            name = f"before {len(known_migrations()) + 1:04} starts on this database"
            assert name in bad.log_file.read_text()
            stuck.launch()
            until(lambda: old.value(SLEEPING) == 1, "the migration is under way")
            assert stuck.process is not None
            stuck.process.kill()
            stuck.process.wait()
            until(lambda: old.value(SLEEPING) == 0, "the database has noticed")
            before = len(poster.accepted)
            until(lambda: len(poster.accepted) > before + 5, "it takes events still")
        old.made(receiver.url + "/more", "m.*")
        assert old.value("SELECT to_regclass('of_next')") is None
        assert old.ended(signal.SIGTERM) == 0
        old.start()
        later = Poster(old, "two", most=5)
        with posting(later):
            until(lambda: accepted([later], 5), "it takes events again")
        old.until_settled()
        there = verdict.nothing_lost_or_invented(old, [poster, later])
        verdict.all_arrived(there, receiver.arrivals("/key"))
        assert not poster.broken
        assert set(poster.answers) == {202}
