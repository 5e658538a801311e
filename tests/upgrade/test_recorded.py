"""Recorded data of earlier releases: this release reads the data, delivers the waiting deliveries in
order, and counts them. See record.py."""

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trio

from storage.embedded.server import program
from storage.migrations.migrate import known_migrations
from tests.process import verdict
from tests.process.receiver import Receiver
from tests.upgrade.house import Outside
from tests.upgrade.record import RELEASES

# Fields that are not compared, because their values depend on the test's requests or on today's settings.
PASSING = frozenset({"nextCursor", "lastUsedAt", "expiresAt"})
# The recorded retries were planned for an hour after the recording.
DUE = "UPDATE public.deliveries SET next_attempt_at_ms = 1 WHERE next_attempt_at_ms IS NOT NULL;"
NAMES = sorted(each.name.removesuffix(".sql.gz") for each in RELEASES.glob("*.sql.gz"))


def kept(old: Any, new: Any, place: str) -> None:
    """Check that every recorded field still exists. New fields are allowed."""
    if isinstance(old, dict):
        for name in old.keys() - PASSING:
            assert name in new, f"{place}.{name} is gone"
            kept(old[name], new[name], f"{place}.{name}")
    elif isinstance(old, list) and old and isinstance(old[0], dict) and "id" in old[0]:
        found = {each["id"]: each for each in new}
        for each in old:
            assert each["id"] in found, f"{place}: {each['id']} is gone"
            kept(each, found[each["id"]], f"{place}[{each['id']}]")
    elif isinstance(old, list) and isinstance(new, list):
        assert len(old) == len(new), place
        for number, each in enumerate(old):
            kept(each, new[number], f"{place}[{number}]")
    else:
        assert new == old, place


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_release_left_is_read_delivered_in_order_and_counted(
    empty_url: str, place: Path, receiver: Receiver, name: str
) -> None:
    await trio.to_thread.run_sync(_opened, empty_url, place, receiver, name)


def _opened(url: str, place: Path, receiver: Receiver, name: str) -> None:
    text = gzip.decompress((RELEASES / f"{name}.json.gz").read_bytes()).decode()
    as_it_was = json.loads(text)
    there, here = (each.removeprefix("http://") for each in (as_it_was["receiver"], receiver.url))
    told = json.loads(text.replace(there, here))
    dump = gzip.decompress((RELEASES / f"{name}.sql.gz").read_bytes())
    load = [str(program("psql")), "-Xq", "-v", "ON_ERROR_STOP=1", "--dbname", url]
    dump = dump.replace(there.encode(), here.encode())
    dump += DUE.encode()
    subprocess.run(load, input=dump, check=True, stdout=subprocess.DEVNULL)
    house = Outside(
        place / "data",
        url,
        ANGARIUM_MASTER_KEY=told["masterKey"],
        ANGARIUM_RETENTION_DAYS="3650",  # the recording grows old
    )
    house.key = told["key"]
    try:
        house.start()
        assert house.value("SELECT count(*) FROM schema_migrations") == len(known_migrations())
        archived = told["destinations"]["archived"]
        for path, answer in told["said"].items():
            # In this release, an archived destination has no rules.
            if path.startswith("/routing-rules"):
                for said in (answer, as_it_was["said"][path]):
                    said["items"] = [r for r in said["items"] if r["destinationId"] != archived]
            # The receiver's recorded address was replaced in the text of the dump. The dump has the audit
            # log's entries in hexadecimal, so these entries still have the recorded address.
            audit = path.startswith("/audit-logs")
            kept(as_it_was["said"][path] if audit else answer, house.api("GET", path), path)
        _goes_on(house, receiver, told["destinations"])
        assert house.ended() == 0
        house.search_log()
    finally:
        if house.process is not None and house.process.poll() is None:
            house.process.kill()
            house.process.wait()


def _goes_on(house: Outside, receiver: Receiver, made: dict[str, str]) -> None:
    house.api("POST", f"/destinations/{made['disabled']}/enable", {})
    house.until_settled()
    for path, kind in (("later", "later"), ("gate", "gate"), ("disabled", "held")):
        arrivals = receiver.arrivals(f"/{path}")
        assert [each.n for each in arrivals] == [f"{kind}-{n}" for n in range(4)], path
        verdict.in_order(house, made[path], arrivals, lanes=path != "disabled")
    for path in ("strict", "key", "free", "dead", "archived"):
        assert receiver.arrivals(f"/{path}") == []
    house.post("new", lane="lane0")
    house.until_settled()
    assert [each.n for each in receiver.arrivals("/strict")] == ["new"]
    verdict.sums_equal_rows(house)
    left = f"SELECT count(*) FROM routing_rules WHERE destination = '{made['archived']}'"
    assert house.value(left) == 0
