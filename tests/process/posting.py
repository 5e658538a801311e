"""Threads that post while the server is killed, stopped or cut off, and record the answers."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.patience import HANGS_S
from tests.process.house import Client, House, Told, event

PAUSE_S = 0.02  # before the next try without a server


class Poster(threading.Thread):
    """A thread that posts events or batches one after another, in its own lane, with idempotency keys.

    What the poster does next depends on the answer:

    - 503 to the first try: the event or batch is not posted again. Later the test checks that it is not
      stored.
    - No answer, or 500, to an event: its fate is unknown. The event is posted again until it is accepted,
      also after a 503. The poster gives an event up after HANGS_S.
    - No answer, or 500, to a batch: its fate is unknown. The batch is not posted again. Later the test
      checks that all or none of its events are stored.
    """

    def __init__(
        self, house: House, name: str, batch: int = 1, *, most: int = 1_000_000, kind: str = "e.one"
    ) -> None:
        super().__init__(name=name)
        self.house = house
        self.batch = batch
        self.most = most
        self.kind = kind
        self.accepted: dict[str, str] = {}  # number to id, in the order of acceptance
        self.refused: list[str] = []  # answered with 503
        self.torn: list[list[str]] = []  # batches whose fate is unknown
        self.answers: Counter[int] = Counter()
        self.broken = 0
        self.wrong: list[Told] = []
        self.ended = threading.Event()
        self._doubtful: set[str] = set()
        self._next = 0
        self._client = Client(house, timeout_s=HANGS_S)

    def run(self) -> None:
        while not self.ended.is_set() and self._next < self.most:
            numbers = [f"{self.name}-{self._next + k}" for k in range(self.batch)]
            self._next += self.batch
            give_up = time.monotonic() + HANGS_S
            while not self._posted(numbers) and time.monotonic() < give_up:
                time.sleep(PAUSE_S)
        self._client.close()

    def _posted(self, numbers: list[str]) -> bool:
        """Post once. Return True if the request needs no further try."""
        events = [event(n, self.name, self.kind, idempotencyKey=n) for n in numbers]
        try:
            if self.batch == 1:
                told = self._client.ask("POST", "/events", events[0])
            else:
                told = self._client.ask("POST", "/events/batch", {"events": events})
        except (OSError, http.client.HTTPException):
            self.broken += 1
            return self._unknown(numbers)
        self.answers[told.status] += 1
        if told.status == 202:
            self._note(numbers, told.body)
        elif told.status == 503:
            if told.body["code"] != "overloaded" or int(told.headers["retry-after"]) < 1:
                self.wrong.append(told)
            if numbers[0] in self._doubtful:
                return False  # an earlier try may have been accepted
            self.refused += numbers
            time.sleep(PAUSE_S)
        elif told.status == 500:
            return self._unknown(numbers)
        else:
            self.wrong.append(told)
        return True

    def _note(self, numbers: list[str], body: Any) -> None:
        if self.batch == 1:
            self.accepted[numbers[0]] = body["id"]
            return
        for number, result in zip(numbers, body["results"], strict=True):
            self.accepted[number] = result["id"]

    def _unknown(self, numbers: list[str]) -> bool:
        if self.batch > 1:
            self.torn.append(numbers)
            time.sleep(PAUSE_S)
        self._doubtful.update(numbers)
        return self.batch > 1


@contextmanager
def posting(*posters: Poster) -> Iterator[None]:
    """Run the posters during the block. Afterwards stop them, and wait until the requests under way are
    answered."""
    for poster in posters:
        poster.start()
    try:
        yield
    finally:
        for poster in posters:
            poster.ended.set()
        for poster in posters:
            poster.join(2 * HANGS_S)
            assert not poster.is_alive(), f"{poster.name} never got an answer"
