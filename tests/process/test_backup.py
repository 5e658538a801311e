"""A backup that the command makes under load, and a server on the restored folder."""

import hashlib
import http.client
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import HANGS_S
from tests.process import verdict
from tests.process.conftest import _folder
from tests.process.house import Client, House, event, until
from tests.process.posting import Poster, posting
from tests.process.receiver import Receiver

ROOT = Path(__file__).parents[2]
CONTENT = b"what is in the file" * 10_000


@pytest.fixture
def restored() -> Iterator[House]:
    with _folder() as folder:
        house = House(folder / "data")
        yield house
        if house.process is not None and house.process.poll() is None:
            house.process.kill()
            house.process.wait()


def angarium(house: House, *arguments: str) -> str:
    command = house.command(*arguments, "--data-dir", str(house.folder))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_was_accepted_before_is_there_and_what_was_under_way_goes_on(
    house: House, restored: House, receiver: Receiver
) -> None:
    made = {
        path: house.made(f"{receiver.url}/{path}", ordering=ordering, retrySchedule=[1] * 8)
        for path, ordering in (("backed-key", "KEY"), ("backed-strict", "STRICT"))
    }
    held = house.made(receiver.url + "/backed-held", ordering="KEY")
    house.api("POST", f"/destinations/{held}/disable", {})
    posters = [Poster(house, f"one{k}") for k in range(2)]
    target = restored.folder.parent / "backup"
    with posting(*posters):
        until(lambda: all(len(poster.accepted) > 20 for poster in posters), "it is at work")
        file = uploaded(house)
        before = [dict(poster.accepted) for poster in posters]
        said = angarium(house, "backup", str(target))
        assert "complete and checked" in said
        assert "files: 1 of" in said
    after = {number for poster in posters for number in poster.accepted}
    house.until_settled(made["backed-key"])
    house.until_settled(made["backed-strict"])
    for path, destination in made.items():  # the original server continues undisturbed
        verdict.in_order(house, destination, receiver.firsts(f"/{path}"), lanes=True)

    came = {path: len(receiver.arrivals(f"/{path}")) for path in (*made, "backed-held")}
    said = angarium(
        restored,
        "restore",
        str(target),
        "--hold",
        "--with-key",
        str(house.folder / "master.key"),
    )
    assert "deliveries are held" in said
    restored.key = house.key
    restored.start()
    there = dict(restored.rows("SELECT idempotency_key, id::text FROM events WHERE type = 'e.one'"))
    for poster, accepted in zip(posters, before, strict=True):
        assert accepted.items() <= there.items()
        known = [number for number in poster.accepted if number in there]
        assert known == list(poster.accepted)[: len(known)], "no event without those before it"
    assert there.keys() <= after
    assert downloaded(restored, file) == hashlib.sha256(CONTENT).digest()
    restored.api("POST", f"/destinations/{held}/enable", {})
    told = restored.ask("POST", "/events", event("afterwards", "one0", idempotencyKey="afterwards"))
    assert told.status == 202
    assert restored.ended() == 0  # an orderly end would have sent all due deliveries
    assert {path: len(receiver.arrivals(f"/{path}")) for path in came} == came

    (restored.folder / "hold-deliveries").unlink()
    restored.start()
    restored.until_settled()
    expected = [*there, "afterwards"]
    assert {each.n for each in receiver.firsts("/backed-held")} == set(expected)
    verdict.in_order(restored, held, receiver.firsts("/backed-held"), lanes=True)
    again = receiver.arrivals("/backed-key")[came["backed-key"] :]
    assert "afterwards" in {each.n for each in again}
    firsts = {each.n: each for each in receiver.firsts("/backed-key")}
    for each in again:  # deliveries that the original had also made have the same id and body
        assert (each.event, each.body) == (firsts[each.n].event, firsts[each.n].body)
    verdict.sums_equal_rows(restored)
    assert restored.ended() == 0
    restored.search_log()
    house.api("POST", f"/destinations/{held}/enable", {})


def uploaded(house: House) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=HANGS_S)
    headers = {
        "authorization": f"Bearer {house.key}",
        "content-type": "application/octet-stream",
        "angarium-event-type": "file.one",
    }
    connection.request("POST", "/files", CONTENT, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 202
    found = Client(house).ask("GET", "/files?limit=1", close=True).body["items"]
    return str(found[0]["id"])


def downloaded(house: House, file: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=HANGS_S)
    headers = {"authorization": f"Bearer {house.key}"}
    connection.request("GET", f"/files/{file}/content", None, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    assert answer.status == 200
    return hashlib.sha256(content).digest()
