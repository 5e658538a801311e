"""Files that a server in its own process fetches. A server that was killed during a fetch fetches the
file again after its restart. The server holds only a small piece of each file in memory."""

import hashlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from tests.patience import HANGS_S
from tests.process.house import House, until
from tests.process.test_files import (
    KIB,
    LARGEST,
    MIB,
    ONE_MIB,
    blobs,
    digest_of,
    memory_mib,
    nothing_left_behind,
    pieces,
    reset_peak,
    spooled,
)


class Handler(BaseHTTPRequestHandler):
    """A handler with two tasks. On GET, it sends a file, which it generates from the seed in the path. On
    POST, it is a receiver: it records the URLs of files."""

    protocol_version = "HTTP/1.1"
    server: "Place"

    def do_GET(self) -> None:
        self.server.asked += 1
        size = LARGEST
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("Content-Type", "application/zip")
        self.end_headers()
        stop = self.server.stop_after
        try:
            for number, piece in enumerate(pieces(int(self.path[1:]), size)):
                if stop is not None and number * len(piece) >= stop:
                    # A source that stalls, until the kill ends the connection.
                    self.server.closing.wait(60)
                    return
                self.wfile.write(piece)
        except OSError:
            return

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.urls.append(self.headers["angarium-file-url"])
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


class Place(ThreadingHTTPServer):
    """The source and the receiver on one port."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked = 0
        self.stop_after: int | None = None
        self.urls: list[str] = []
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()
        self._thread.join()


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    place.close()


def read(url: str) -> str:
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=HANGS_S)
    connection.request("GET", parts.path)
    answer = connection.getresponse()
    assert answer.status == 200
    digest = hashlib.sha256()
    while piece := answer.read(64 * KIB):
        digest.update(piece)
    connection.close()
    return digest.hexdigest()


def test_killed_while_it_fetches_it_begins_anew_and_leaves_nothing_behind(
    house: House, place: Place
) -> None:
    house.made(place.url, "file.*")
    place.stop_after = 5 * MIB
    before = len(blobs(house))
    source = {"kind": "URL", "uri": f"{place.url}/77"}
    told = house.api("POST", "/files", {"source": source})
    assert told["sha256"] is None
    until(lambda: any(each.stat().st_size > MIB for each in spooled(house)), "it is fetched")
    house.kill()
    assert spooled(house)
    place.stop_after = None
    house.start()
    until(lambda: place.urls, "it is delivered")
    assert place.asked == 2
    assert read(place.urls[0]) == digest_of(77, LARGEST)
    shown = house.api("GET", f"/files/{told['id']}")
    assert (shown["state"], shown["sha256"]) == ("STORED", digest_of(77, LARGEST))
    nothing_left_behind(house)
    assert len(blobs(house)) == before + 1


def test_fetching_the_largest_and_handing_it_out_grows_the_process_by_little(
    house: House, place: Place
) -> None:
    house.made(place.url, "file.*")

    def deliver(seed: int) -> str:
        count = len(place.urls)
        source = {"kind": "URL", "uri": f"{place.url}/{seed}"}
        house.api("POST", "/files", {"source": source, "eventType": f"file.{seed}"})
        until(lambda: len(place.urls) > count, "it is delivered")
        return read(place.urls[count])

    deliver(81)  # creates what exists only once, such as threads and statements
    reset_peak(house)
    before = memory_mib(house, "VmRSS")
    assert deliver(82) == digest_of(82, LARGEST)
    grown = memory_mib(house, "VmHWM") - before
    print(f"25 MiB fetched and handed out: {grown:.1f} MiB")
    assert grown < ONE_MIB
