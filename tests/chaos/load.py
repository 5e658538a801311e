"""Posters in a process of their own. The process writes a log, with a line for each try and its answer.

    python -m tests.chaos.load

The events of a poster form one lane. A poster posts its next request only when it knows the result of its
last request, or has given up the last request.
"""

import http.client
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.tool import answer

ANSWER_S = (
    8.0  # then the connection is given up: the server can be frozen or cut off from its database
)
AGAIN_S = 0.05
LAST_S = 45.0  # at the end, how long requests whose fate is unknown are posted again
PAD = "x" * 120


@dataclass(frozen=True, slots=True)
class Manner:
    size: int = 1  # events per request
    keyed: bool = True  # with idempotency keys
    insists: bool = True  # a request without an answer is posted again until it has one
    files: bool = False
    pause_s: float = 0.02


# The kinds of posters. "batch" sends each batch only once, because a repeated batch would hide that the
# server had accepted only a part of it.
MANNERS = {
    "one": Manner(),
    "two": Manner(pause_s=0.01),
    "three": Manner(pause_s=0.03),
    "keyless": Manner(keyed=False, insists=False),
    "batch": Manner(size=20, insists=False, pause_s=0.15),
    "again": Manner(size=12, pause_s=0.1),
    "files": Manner(files=True, pause_s=0.15),
}


class Poster(threading.Thread):
    """Posts until told to end."""

    def __init__(self, name: str, manner: Manner, plan: dict[str, Any], log: int) -> None:
        super().__init__(name=name)
        self._manner = manner
        self._plan = plan
        self._log = log
        self._connection: http.client.HTTPConnection | None = None
        self._next = 0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(self._manner.pause_s):
            numbers = [f"{self.name}-{self._next + k}" for k in range(self._manner.size)]
            self._next += self._manner.size
            give_up = None
            doubtful = False
            while True:
                status = self._try(numbers)
                doubtful = doubtful or status is None or status == 500
                known = status is not None and status not in (500, 503)
                if known or not self._manner.insists or (status == 503 and not doubtful):
                    break
                if self.ended.is_set():
                    give_up = give_up or time.monotonic() + LAST_S
                    if time.monotonic() > give_up:
                        break
                time.sleep(AGAIN_S)
        self._close()

    def _try(self, numbers: list[str]) -> int | None:
        began = time.monotonic()
        status: int | None = None
        told: Any = None
        try:
            status, told = self._asked(numbers)
        except (OSError, http.client.HTTPException, ValueError):
            self._close()
        line = {
            "poster": self.name,
            "n": numbers,
            "began": began,
            "ended": time.monotonic(),
            "status": status,
        }
        if status == 202:
            results = told.get("results", [told])
            line["ids"] = [each.get("eventId") or each["id"] for each in results]
        elif status is not None:
            line["told"] = told.get("code")
        os.write(self._log, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        return status

    def _asked(self, numbers: list[str]) -> tuple[int, Any]:
        if self._connection is None:
            port = int(Path(self._plan["door"]).read_text())
            self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
        headers = {
            "authorization": f"Bearer {self._plan['key']}",
            "content-type": "application/json",
        }
        if self._manner.files:
            path = (
                f"/files?idempotencyKey={numbers[0]}&fileName={numbers[0]}"
                f"&customerExternalId={self.name}"
            )
            headers["content-type"] = "application/octet-stream"
            body = f"{numbers[0]}{PAD}".encode() * 40
        else:
            events = [self._event(number) for number in numbers]
            single = self._manner.size == 1
            path = "/events" if single else "/events/batch"
            body = json.dumps(events[0] if single else {"events": events}).encode()
        self._connection.request("POST", path, body, headers)
        told = self._connection.getresponse()
        return told.status, json.loads(told.read())

    def _event(self, number: str) -> dict[str, object]:
        event: dict[str, object] = {
            "eventType": "chaos.one",
            "payload": {"n": number, "pad": PAD},
            "customerExternalId": self.name,
        }
        if self._manner.keyed:
            event["idempotencyKey"] = number
        return event

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def main() -> None:
    plan = json.loads(sys.stdin.readline())
    log = os.open(plan["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    posters = [Poster(name, manner, plan, log) for name, manner in MANNERS.items()]
    answer()
    sys.stdin.readline()
    for poster in posters:
        poster.start()
    answer()
    sys.stdin.readline()
    for poster in posters:
        poster.ended.set()
    for poster in posters:
        poster.join()
    answer()


if __name__ == "__main__":
    main()
