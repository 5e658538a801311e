"""The orderly stop of a server: SIGTERM and Ctrl-C under load, deliveries that are handed back, and the
next start."""

import signal
import threading
import time
from pathlib import Path

import httpx
import pytest
import trio

from storage.database.bridge import Bridge
from storage.embedded.postmaster import read_postmaster
from tests.cli.programs import environment, manage_key, running, server
from tests.patience import HANGS_S
from tests.postgres import eventually, holding
from tests.process import verdict
from tests.process.conftest import open_house
from tests.process.house import House, until
from tests.process.posting import Poster, posting
from tests.process.receiver import Answer, Receiver, always

# The time limit of a stop. An actor's first read can take a minute, and in one test the grace time is a
# minute. A stop must not wait for the read or for the grace time to end, so the limit is shorter.
ENDS_S = 55.0
SLOW = always(Answer(delay_s=0.1))
READS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'angarium backlog' AND wait_event_type = 'Lock'"""


def test_a_stop_under_load_finishes_what_is_in_flight_and_loses_nothing(
    house: House, receiver: Receiver
) -> None:
    receiver.behave("/slow", SLOW)
    destination = house.made(receiver.url + "/slow", "slow.*", concurrency=64)
    # Ctrl-C in a terminal sends SIGINT to every process of the process group. `kill` sends SIGTERM to one
    # process only.
    for number, group in ((signal.SIGTERM, False), (signal.SIGINT, True)):
        before = len(receiver.arrivals("/slow"))
        posters = [Poster(house, f"s{number}-{k}", most=300, kind="slow.one") for k in range(3)]
        posters.append(Poster(house, f"s{number}-many", batch=20, most=200, kind="slow.one"))
        with posting(*posters):
            receiver.wait_count("/slow", before + 40)
            assert house.ended(number, group=group) == 0
            house.start()
        house.until_settled(destination)
        there = house.value("SELECT count(*) FROM events WHERE type = 'slow.one'")
        arrivals = receiver.arrivals("/slow")
        assert len(arrivals) == there, "each came once: nothing was cut off, nothing repeated"
        for poster in posters:
            assert not poster.wrong, poster.wrong[:3]
            assert poster.accepted.keys() <= {arrival.n for arrival in arrivals}
    verdict.sums_equal_rows(house)


def test_what_does_not_end_within_the_grace_time_is_handed_back(
    furnished: House, receiver: Receiver
) -> None:
    with open_house(furnished, ANGARIUM_SHUTDOWN_GRACE="4") as house:
        _hand_back(house, receiver)


def _hand_back(house: House, receiver: Receiver) -> None:
    gate = threading.Event()
    receiver.behave("/stuck", always(Answer(gate=gate)))
    stuck = house.made(receiver.url + "/stuck", "stuck.*", timeoutMs=60_000)
    fine = house.made(receiver.url + "/fine", "fine.*")
    house.post("a", "b", kind="stuck.one")
    house.post("c", kind="fine.one")
    receiver.wait_count("/stuck", 2)
    house.until_settled(fine)
    began = time.monotonic()
    assert house.ended() == 0
    assert time.monotonic() - began > 0.5, "it waited, and not for the receiver, who goes on"
    gate.set()
    house.start()
    house.until_settled(stuck)
    arrivals = receiver.arrivals("/stuck")
    assert sorted(arrival.n for arrival in arrivals) == ["a", "a", "b", "b"]
    assert {arrival.attempt for arrival in arrivals} == {1}, "what was cut off counts for nothing"
    assert len(receiver.arrivals("/fine")) == 1, "what was recorded is not repeated"
    queue = house.health(stuck)["queue"]
    assert (queue["pending"], queue["inFlight"]) == (0, 0)
    verdict.sums_equal_rows(house)


def test_a_retry_that_waits_is_kept_over_a_stop_and_keeps_its_time(
    house: House, receiver: Receiver
) -> None:
    receiver.behave("/later", lambda n, before: Answer(503 if before == 0 else 200))
    destination = house.made(receiver.url + "/later", "later.*", retrySchedule=[5, 5])
    house.post("a", kind="later.one")
    receiver.wait_count("/later", 1)
    until(lambda: house.tried(destination), "the failure is recorded")
    assert house.ended() == 0
    house.start()
    house.until_settled(destination)
    first, second = receiver.arrivals("/later")
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.at - first.at >= 5 * verdict.JITTER - 0.05
    verdict.attempts_by_schedule(house, destination, [5, 5])

    # All deliveries have ended, and no event was posted since the start.
    until(lambda: not house.value("SELECT count(*) FROM destination_backlog"), "no row is left")
    assert house.ask("GET", "/readyz").status == 200
    house.post("b", kind="later.one")


@pytest.mark.parametrize("said", ["ownership.taken", "backlog.recovered"])
async def test_told_to_stop_while_it_starts_it_stops_in_order(
    database_url: str, tmp_path: Path, said: str
) -> None:
    async with running("serve", env=environment(database_url, tmp_path)) as program:
        await program.wait_for(said)
        program.process.send_signal(signal.SIGTERM)
        with trio.fail_after(HANGS_S):
            assert await program.process.wait() == 0
    assert "Traceback" not in program.printed


async def test_told_to_stop_while_it_waits_for_a_predecessor_it_stops_in_order(
    database_url: str, bridge: Bridge, tmp_path: Path
) -> None:
    waits = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'angarium upkeep' AND wait_event_type = 'Lock'"""
    env = environment(database_url, tmp_path)
    lock = "LOCK TABLE shard_leases"
    async with holding(bridge, lock), running("serve", env=env) as program:

        async def waiting() -> bool:
            return bool(await bridge.pool.fetch_value(waits))

        await eventually(waiting)
        program.process.send_signal(signal.SIGTERM)
        with trio.fail_after(HANGS_S):
            assert await program.process.wait() == 0
    assert "Traceback" not in program.printed


@pytest.mark.parametrize("again", [False, True], ids=["the grace is over", "told again"])
async def test_a_stop_does_not_wait_for_a_database_that_does_not_answer(
    database_url: str, bridge: Bridge, tmp_path: Path, again: bool
) -> None:
    grace_s = "60" if again else "1"
    env = environment(database_url, tmp_path, ANGARIUM_SHUTDOWN_GRACE=grace_s)
    lock = "LOCK TABLE destination_snapshots"
    async with server(env) as (program, url), holding(bridge, lock):
        key = await manage_key(env, url)
        await _post_for_a_new_destination(url, key)

        async def waiting() -> bool:
            return bool(await bridge.pool.fetch_value(READS))

        async def told_again() -> bool:
            program.process.send_signal(signal.SIGTERM)
            return "server.cut_off" in program.printed

        await eventually(waiting)
        program.process.send_signal(signal.SIGTERM)
        if again:
            await eventually(told_again)
        with trio.fail_after(ENDS_S):
            assert await program.process.wait() == 0
    assert "Traceback" not in program.printed


async def _post_for_a_new_destination(url: str, key: str) -> None:
    headers = {"authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(
        base_url=url, headers=headers, trust_env=False, timeout=HANGS_S
    ) as client:
        body: dict[str, object] = {"name": "test", "url": "http://127.0.0.1:9"}
        made = await client.post("/destinations", json=body)
        rule = {"name": "test", "destinationId": made.json()["id"], "eventTypes": ["e.*"]}
        assert (await client.post("/routing-rules", json=rule)).status_code == 201
        posted = await client.post("/events", json={"eventType": "e.one", "payload": {}})
        assert posted.status_code == 202, posted.text


# The database is being created, or starts to run.
@pytest.mark.parametrize("there", ["postgres.new", "postgres.log"])
async def test_told_to_stop_while_its_database_starts_it_leaves_none_behind(
    data_dir: Path, there: str
) -> None:
    env = environment("", data_dir.parent)
    del env["ANGARIUM_DATABASE_URL"]
    async with running("serve", env=env) as program:
        with trio.fail_after(HANGS_S):
            while not (data_dir / there).exists():
                assert program.process.poll() is None, program.printed
                await trio.sleep(0.005)
        program.process.send_signal(signal.SIGTERM)
        with trio.fail_after(HANGS_S):
            await program.wait_for("server.stopped")
            # A terminal and a wrapper can both send the signal.
            program.process.send_signal(signal.SIGTERM)
            assert await program.process.wait() == 0
    assert "Traceback" not in program.printed
    assert read_postmaster(data_dir / "postgres") is None, "a server in order removes it"
