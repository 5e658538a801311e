"""A program that records a release's data: `python -m tests.upgrade.record TREE NAME`. TREE is the folder
of the release's source.

The program uses the release's server until every table has rows. It then kills the server while some
deliveries wait and others are in flight. The program dumps the database to `releases/NAME.sql.gz`. It
writes the API's answers, the API key and the master key to `releases/NAME.json.gz`.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from storage.embedded.postmaster import read_postmaster
from storage.embedded.server import program, running_url
from tests.process.house import House, until
from tests.process.receiver import Answer, Receiver, always

RELEASES = Path(__file__).parent / "releases"
LATER = [3_600]  # a retry that is due when a test opens the recording
PAGES = (
    "/destinations?limit=100",
    "/routing-rules?limit=100",
    "/schemas?limit=100",
    "/events?limit=100",
    "/deliveries?status=DELIVERED&limit=100",
    "/deliveries?status=FAILED&limit=100",
    "/dlq?limit=100",
    "/replay-jobs?limit=100",
    "/audit-logs?limit=100",
    "/api-keys?limit=100",
    "/files?limit=100",
    "/transform-scripts?limit=100",
)


def record(tree: Path, name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="angarium-record-") as folder:
        Path(folder).chmod(0o755)
        receiver = Receiver()
        house = House(Path(folder) / "data")
        house.root = tree
        try:
            with house:
                told = _driven(house, receiver)
                house.kill()
                dump = _dumped(house)
        finally:
            receiver.close()
            left = read_postmaster(house.folder / "postgres")
            if left is not None and left.alive:
                left.stop()
        told["masterKey"] = (house.folder / "master.key").read_text().splitlines()[-1]
    RELEASES.mkdir(exist_ok=True)
    # Equal rows give equal bytes.
    for kind, content in (("sql", dump), ("json", json.dumps(told).encode())):
        (RELEASES / f"{name}.{kind}.gz").write_bytes(gzip.compress(content, 9, mtime=0))


def _driven(house: House, receiver: Receiver) -> dict[str, Any]:
    url, gate = receiver.url, threading.Event()
    receiver.behave("/dead", always(Answer(500)))
    receiver.behave("/later", always(Answer(503)))
    receiver.behave("/gate", always(Answer(gate=gate)))
    made = {
        "strict": house.made(f"{url}/strict", "e.*", ordering="STRICT"),
        "key": house.made(f"{url}/key", "e.*", ordering="KEY", concurrency=8),
        "free": house.made(f"{url}/free", "e.*"),
        "dead": house.made(f"{url}/dead", "dead.*", retrySchedule=[]),
        "later": house.made(f"{url}/later", "later.*", ordering="KEY", retrySchedule=LATER),
        "gate": house.made(f"{url}/gate", "gate.*", ordering="KEY", timeoutMs=60_000),
        "disabled": house.made(f"{url}/disabled", "held.*", ordering="STRICT"),
        "archived": house.made(f"{url}/archived", "gone.*"),
    }
    house.api("POST", f"/destinations/{made['disabled']}/disable", {})
    house.api("DELETE", f"/destinations/{made['archived']}")
    filtered = {"name": "filtered", "destinationId": made["free"], "eventTypes": ["f.*"]}
    house.api("POST", "/routing-rules", {**filtered, "filter": "event.payload.n != '0'"})
    schema = house.api("POST", "/schemas", {"eventType": "s.one", "schema": {"type": "object"}})
    house.api("POST", f"/schemas/{schema['id']}/activate", {})
    for lane in range(3):
        house.post_batch([f"e{lane}-{n}" for n in range(6)], f"lane{lane}")
    for kind in ("dead", "later", "gate", "held", "f", "s"):
        house.post_batch([f"{kind}-{n}" for n in range(4)], "lane", f"{kind}.one")
    _more(house, made)
    sql = "SELECT count(*) FROM deliveries WHERE status = {} AND destination = '{}'"
    until(lambda: house.value(sql.format(4, made["later"])) == 1, "one waits for its retry")
    for quiet in ("strict", "key", "free", "dead"):
        house.until_settled(made[quiet])
    job = house.api(
        "POST", "/replay-jobs", {"destinationId": made["free"], "from": "2020-01-01T00:00:00Z"}
    )
    jobs = f"/replay-jobs/{job['id']}"
    until(lambda: house.api("GET", jobs)["status"] == "COMPLETED", "the replay has ended")
    receiver.wait_count("/gate", 1)
    said = {path: told.body for path in PAGES if (told := house.ask("GET", path)).status == 200}
    for attempt in (made["free"], made["dead"]):
        path = f"/deliveries/{house.deliveries(attempt)[0]['id']}"
        said[path] = house.api("GET", path)
    return {"key": house.key, "receiver": url, "destinations": made, "said": said}


def _more(house: House, made: dict[str, str]) -> None:
    if house.ask("GET", "/transform-scripts").status == 404:
        return
    source = "function transform(event) { return event; }"
    script = {"destinationId": made["free"], "name": "same", "source": source}
    told = house.ask("POST", "/transform-scripts", script)
    assert told.status == 201, told
    house.api("POST", f"/transform-scripts/{told.body['id']}/publish", {})
    inline = {"source": {"kind": "INLINE", "uri": "data:text/plain;base64,aGVsbG8="}}
    event = {"eventType": "e.one", "payload": {"n": "file"}, "customerExternalId": "lane9"}
    told = house.ask("POST", "/events", {**event, "attachments": [inline]})
    assert told.status == 202, told


def _dumped(house: House) -> bytes:
    url = running_url(house.folder)
    assert url is not None
    command = [str(program("pg_dump")), "--no-owner", "--no-privileges", "--dbname", url]
    return subprocess.run(command, check=True, capture_output=True).stdout


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2])
