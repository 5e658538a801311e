"""The tail, a live list of deliveries. It shows each new delivery, and each change of a delivery. Its
memory is bounded."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import httpx
import pytest

import angarium
from api.cli.remote import tail
from api.cli.remote.tail import follow


class Log:
    """A service with a list of deliveries, newest first. While `away` is true, the service does not
    answer."""

    def __init__(self) -> None:
        self.deliveries: list[dict[str, Any]] = []
        self.away = False
        self.asked: list[str] = []
        self.turns: list[Any] = []  # an action for each sleep of the tail

    def add(self, *numbers: int, status: str = "PENDING") -> None:
        for number in numbers:
            entry = {"id": f"{number:06}", "status": status, "attemptCount": 0, "dlqStatus": None}
            self.deliveries.insert(0, entry)

    def change(self, number: int, status: str) -> None:
        entry = self.find(f"{number:06}")
        entry.update(status=status, attemptCount=entry["attemptCount"] + 1)

    def find(self, identifier: str) -> dict[str, Any]:
        return next(entry for entry in self.deliveries if entry["id"] == identifier)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self.away:
            raise httpx.ConnectError("refused")
        if request.url.path != "/deliveries":
            try:
                found = self.find(request.url.path.rpartition("/")[2])
            except StopIteration:
                return httpx.Response(404, json={"code": "not_found", "message": "gone"})
            return httpx.Response(200, json={**found, "attempts": [], "event": None})
        start = int(request.url.params.get("cursor", "0"))
        stop = start + int(request.url.params["limit"])
        cursor = str(stop) if stop < len(self.deliveries) else None
        page = {"items": self.deliveries[start:stop], "nextCursor": cursor}
        return httpx.Response(200, content=json.dumps(page))

    def sleep(self, _: float) -> None:
        self.turns.pop(0)()


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    log = Log()
    monkeypatch.setattr("api.cli.remote.tail.time.sleep", log.sleep)
    return log


def following(log: Log, lines: int = 10) -> Iterator[Any]:
    retry = angarium.RetryPolicy(retries=0)
    transport = httpx.MockTransport(log)
    client = angarium.Client("http://service.test", "k", retry=retry, transport=transport)
    return follow(client, None, lines, 1.0)


def told(found: Iterator[Any], count: int) -> list[tuple[int, str]]:
    return [(int(entry["id"]), entry["status"]) for entry in islice(found, count)]


def test_the_last_are_shown_then_what_is_new_and_what_has_changed(log: Log) -> None:
    log.add(1, 2, status="DELIVERED")
    log.add(3)
    found = following(log, lines=2)
    assert told(found, 2) == [(2, "DELIVERED"), (3, "PENDING")]

    def both() -> None:
        log.change(3, "RETRYING")
        log.change(4, "DELIVERED")

    def another() -> None:
        log.change(3, "RETRYING")
        log.add(5, status="DELIVERED")

    log.turns = [
        lambda: log.add(4),
        lambda: None,
        both,
        another,
    ]
    assert told(found, 1) == [(4, "PENDING")]
    assert told(found, 2) == [(3, "RETRYING"), (4, "DELIVERED")]
    assert told(found, 2) == [(3, "RETRYING"), (5, "DELIVERED")], "another attempt is a change"
    assert log.turns == []


def test_a_change_is_shown_of_what_newer_ones_have_pushed_off_the_first_page(log: Log) -> None:
    log.add(1)
    found = following(log, lines=0)
    log.turns = [
        lambda: log.add(*range(2, 252), status="DELIVERED"),
        lambda: log.change(1, "FAILED"),
        lambda: log.add(300),
    ]
    assert told(found, 250) == [(n, "DELIVERED") for n in range(2, 252)], "over several pages"
    assert told(found, 2) == [(1, "FAILED"), (300, "PENDING")]
    assert "/deliveries/000001" in log.asked


def test_what_retention_removes_is_forgotten(log: Log) -> None:
    log.add(1)
    found = following(log)
    assert told(found, 1) == [(1, "PENDING")]
    log.turns = [lambda: log.deliveries.clear(), lambda: log.add(2)]
    assert told(found, 1) == [(2, "PENDING")]
    assert log.asked.count("/deliveries/000001") == 1


def test_a_flood_is_skipped_with_a_word_and_memory_stays_bounded(
    log: Log, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "MOST_PAGES", 2)
    monkeypatch.setattr(tail, "MOST_WATCHED", 50)
    found = following(log)
    log.turns = [lambda: log.add(*range(1, 1_001)), lambda: None, lambda: log.add(2_000)]
    shown = told(found, 200)
    assert shown[0] == (801, "PENDING")
    assert shown[-1] == (1_000, "PENDING")
    assert "too many new deliveries" in capsys.readouterr().err
    assert told(found, 1) == [(2_000, "PENDING")], "nothing is shown twice for being forgotten"


def test_a_server_that_is_away_is_waited_for_and_said_so_once(
    log: Log, capsys: pytest.CaptureFixture[str]
) -> None:
    found = following(log)

    def away() -> None:
        log.away = True

    def back() -> None:
        log.away = False
        log.add(1)

    log.turns = [away, away, away, back]
    assert told(found, 1) == [(1, "PENDING")]
    assert capsys.readouterr().err.count("trying again") == 1


def test_a_server_that_is_away_at_the_first_look_is_an_error(log: Log) -> None:
    log.away = True
    with pytest.raises(angarium.ConnectionFailedError):
        next(following(log))
