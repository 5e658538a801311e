"""The means of a harmful neighbour: its own workspace, a hostile receiver, and processes that send
requests."""

import subprocess
import time
from dataclasses import dataclass, field
from typing import Any

from bench.crowding import Crowd
from bench.posting import load
from bench.service import Module, Service, call

ROUND_MARGIN_S = 30  # a plan is this much longer than the round; `stop` ends it
TIMEOUT_MS = 10_000  # longer attempts would disturb later rounds


@dataclass
class Yard:
    """A harmful neighbour: its key, its destinations, its processes that send requests, and the ports of
    its hostile receiver."""

    service: Service
    key: str
    ports: dict[str, int]
    seconds: int
    percent: int  # of the numbers below
    destinations: list[str] = field(default_factory=list)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    crowd: Crowd | None = None
    ingest_key: str = ""
    token: str = ""  # of a customer's session

    def of(self, number: int) -> int:
        """Return `percent` of a number, at least 1."""
        return max(1, number * self.percent // 100)

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Make a request with the neighbour's key. Repeat the request while the answer is 429 or 503."""
        while True:
            try:
                return call(method, self.service.url + path, body, self.key)
            except RuntimeError as error:
                if " 429 " not in str(error) and " 503 " not in str(error):
                    raise
                time.sleep(1)

    def destination(self, url: str, event_type: str, **delivery: object) -> str:
        """Create a destination and its rule."""
        settings = {"concurrency": 64, "retrySchedule": [], "timeoutMs": TIMEOUT_MS} | delivery
        body = {"name": "hostile", "url": url, "delivery": settings}
        made = str(self.api("POST", "/destinations", body)["id"])
        rule = {"name": "hostile", "destinationId": made, "eventTypes": [event_type]}
        self.api("POST", "/routing-rules", rule)
        self.destinations.append(made)
        return made

    def url(self, path: str, port: str = "port") -> str:
        """Return a URL of the hostile receiver."""
        scheme = "https" if port in ("tls", "stalling") else "http"
        return f"{scheme}://127.0.0.1:{self.ports[port]}{path}"

    def post(self, stem: str, rate: int, types: int) -> None:
        """Post events of the types `<stem>.0`, `<stem>.1` and so on."""
        rate = self.of(rate)
        self.start(
            "bench.load",
            events=rate * (self.seconds + ROUND_MARGIN_S),
            connections=4,
            rate=rate,
            types=types,
            stem=stem,
        )

    def fill(self, stem: str, types: int, number: int) -> None:
        """Post events in batches; some can be refused."""
        load(
            self.service,
            key=self.key,
            events=number,
            connections=4,
            batch=min(100, number),
            types=types,
            stem=stem,
            give_up_s=900,
        )

    def annoy(self, kind: str, **plan: object) -> None:
        """Start a nuisance, with the neighbour's key or another `key`."""
        self.start("bench.nuisance", kind=kind, **plan)

    def start(self, module: str, **plan: object) -> None:
        """Start a process that works with the neighbour's key."""
        named = {"url": self.service.url, "key": self.key, **plan}
        self.running.append(Module.start(module, plan=named))

    def stop(self) -> None:
        """End all started processes."""
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.communicate(timeout=30)
        self.running.clear()

    def switch(self, on: bool) -> None:
        """Enable or disable the neighbour's destinations."""
        for each in self.destinations[:100]:  # if there are more, each has only one delivery
            self.api("POST", f"/destinations/{each}/{'enable' if on else 'disable'}", {})
