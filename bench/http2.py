"""A comparison of ingestion over HTTP/2 with ingestion over HTTP/1.1, in turns, on one server.

`python -m bench.http2` needs the program h2load, which generates the load. The exit code is 1 if HTTP/2
has less than 0.6 of the rate of HTTP/1.1, and 2 if h2load is not installed.
"""

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench.checks import require
from bench.service import Service

EVENTS = 20_000
ROUNDS = 4
BAR = 0.6  # of the requests a second of HTTP/1.1
LANES = {
    "HTTP/1.1, 64 connections": ("--h1", "-c", "64"),
    "HTTP/2, 64 connections": ("-c", "64", "-m", "1"),
    "HTTP/2, 4 connections of 16 streams": ("-c", "4", "-m", "16"),
    "HTTP/2, 1 connection of 64 streams": ("-c", "1", "-m", "64"),
}


def main() -> int:
    program = shutil.which("h2load")
    if program is None:
        sys.stderr.write("h2load is not installed: apt-get install nghttp2-client\n")
        return 2
    rates: dict[str, list[float]] = {name: [] for name in LANES}
    micros: dict[str, list[float]] = {name: [] for name in LANES}
    with Service() as service, tempfile.NamedTemporaryFile("w") as event:
        json.dump({"eventType": "order.created", "payload": {"text": "x" * 220}}, event)
        event.flush()
        for _ in range(ROUNDS + 1):
            for name, arguments in LANES.items():
                before, _database = service.cpu_s()
                rate = _load(program, *arguments, "-d", event.name, service=service)
                rates[name].append(rate)
                micros[name].append((service.cpu_s()[0] - before) / EVENTS * 1e6)
    # The first round is a warm-up.
    base, *others = (statistics.median(each[1:]) for each in rates.values())
    for name, found in rates.items():
        rate, cost = statistics.median(found[1:]), statistics.median(micros[name][1:])
        sys.stdout.write(f"{name:36} {rate:8,.0f}/s  {rate / base:5.2f} x  {cost:4.0f} us of CPU\n")
    return int(min(others) < BAR * base)


def _load(program: str, *arguments: str, service: Service) -> float:
    headers = (f"authorization: Bearer {service.key}", "content-type: application/json")
    named = [part for header in headers for part in ("-H", header)]
    done = subprocess.run(
        [program, "-n", str(EVENTS), *arguments, *named, f"{service.url}/events"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    require(f"{EVENTS} 2xx" in done.stdout, done.stdout)
    found = re.search(r"([\d.]+) req/s", done.stdout)
    assert found is not None, done.stdout
    return float(found[1])


if __name__ == "__main__":
    sys.exit(main())
