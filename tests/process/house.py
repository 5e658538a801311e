"""A real server in its own process, and the operations with which tests control it.

When the tests of a server are over, the server's log is searched for secrets.
"""

import asyncio
import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import asyncpg

from bench.processes import tree
from bench.service import STOP_S, Service
from engine.nodes.parts import number_of
from storage.embedded.server import running_url
from tests.patience import HANGS_S

PAYLOAD_MARK = "payload-that-no-log-may-show"
HEADER_MARK = "header-that-no-log-may-show"
POLL_S, RARELY_S = 0.02, 0.5
SHARE = 0.05  # of the time since a wait began: the next pause


def until(condition: Callable[[], object], what: str, within_s: float = HANGS_S) -> None:
    """Poll until `condition` is true. Another process makes it true, so no event can be set."""
    waits_since = time.monotonic()
    while True:
        began = time.monotonic()
        if condition():
            return
        looked = time.monotonic()
        assert looked < waits_since + within_s, f"not within {within_s:g} s: {what}"
        # The condition usually opens a database connection, which costs CPU time. Without pauses, polling
        # would slow down the process that it waits for.
        pause_s = max(POLL_S, 3 * (looked - began), SHARE * (looked - waits_since))
        time.sleep(min(pause_s, RARELY_S))


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    body: Any


class House(Service):
    """A server with its embedded database in `folder`."""

    def __init__(self, folder: Path, **settings: str) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        super().__init__(folder, {"ANGARIUM_LOG_LEVEL": "info", **settings})
        self.secrets: list[str] = []

    # --- callers' requests

    def ask(
        self, method: str, path: str, body: object = None, *, timeout_s: float = HANGS_S
    ) -> Told:
        return Client(self, timeout_s).ask(method, path, body, close=True)

    def post(self, *numbers: str, lane: str | None = None, kind: str = "e.one") -> list[str]:
        """Post events one by one, and return their ids."""
        client = Client(self)
        ids = []
        for number in numbers:
            told = client.ask("POST", "/events", event(number, lane, kind))
            assert told.status == 202, told
            ids.append(told.body["id"])
        client.close()
        return ids

    def post_batch(
        self, numbers: Iterable[str], lane: str | None = None, kind: str = "e.one"
    ) -> None:
        events = [event(number, lane, kind) for number in numbers]
        told = self.ask("POST", "/events/batch", {"events": events})
        assert told.status == 202, told
        assert told.body["accepted"] == len(events), told

    def made(self, url: str, kind: str = "e.*", **delivery: object) -> str:
        """Create a destination with a rule for events of `kind`, and return its id."""
        made = self.api(
            "POST",
            "/destinations",
            {
                "name": "test",
                "url": url,
                "delivery": delivery,
                "headers": {"X-Api-Token": HEADER_MARK},
            },
        )
        self.secrets.append(made["secret"])
        rule = {"name": "test", "destinationId": made["id"], "eventTypes": [kind]}
        self.api("POST", "/routing-rules", rule)
        return str(made["id"])

    def patch(self, destination: str, **changes: object) -> None:
        self.api("PATCH", f"/destinations/{destination}", changes)

    def health(self, destination: str) -> Any:
        return self.api("GET", f"/destinations/{destination}/health")

    def deliveries(self, destination: str, **filters: str) -> list[Any]:
        query = "".join(f"&{name}={value}" for name, value in filters.items())
        found = self.api("GET", f"/deliveries?destinationId={destination}&limit=100{query}")
        return cast("list[Any]", found["items"])

    # --- rows

    def rows(self, sql: str, *arguments: object) -> list[Any]:
        return asyncio.run(_rows(self.database_url(), sql, arguments))

    def database_url(self) -> str:
        url = running_url(self.folder)
        assert url is not None, "the database does not run"
        return url

    def value(self, sql: str, *arguments: object) -> Any:
        return self.rows(sql, *arguments)[0][0]

    def tried(self, destination: str) -> int:
        sql = "SELECT coalesce(sum(attempt_count), 0)::int FROM deliveries"
        return int(self.value(f"{sql} WHERE destination = $1::text::uuid", destination))

    def until_settled(self, destination: str | None = None, within_s: float = HANGS_S) -> None:
        sql = "SELECT count(*) FROM deliveries WHERE status IN (0, 4)"
        arguments: tuple[object, ...] = ()
        if destination is not None:
            sql, arguments = sql + " AND destination = $1::text::uuid", (destination,)
        until(lambda: not self.value(sql, *arguments), "everything is settled", within_s)

    # --- signals and stops

    def database(self, number: int) -> None:
        postmaster = self.database_pid()
        os.kill(postmaster, number)
        for pid in tree(postmaster):
            with suppress(ProcessLookupError):  # the child has already ended
                os.kill(pid, number)

    def ended(self, number: int = signal.SIGTERM, *, group: bool = False) -> int:
        """Send the server a signal, and return its exit code."""
        assert self.process is not None
        if group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return self.process.wait(STOP_S)

    def search_log(self) -> None:
        log = self.log_file.read_text()
        for secret in (self.key, PAYLOAD_MARK, HEADER_MARK, "Bearer ang", *self.secrets):
            assert secret, "a secret that is empty proves nothing"
            assert secret not in log
        assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:4000]


H = TypeVar("H", bound=House)


class Client:
    """A persistent connection to the server."""

    def __init__(self, house: House, timeout_s: float = HANGS_S) -> None:
        self._house = house
        self._connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=timeout_s)

    def ask(self, method: str, path: str, body: object = None, *, close: bool = False) -> Told:
        """Make a request. Raises OSError or HTTPException if the connection breaks."""
        headers = {
            "authorization": f"Bearer {self._house.key}",
            "content-type": "application/json",
        }
        data = None if body is None else json.dumps(body).encode()
        try:
            self._connection.request(method, path, data, headers)
            answer = self._connection.getresponse()
            read = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if close:
            self.close()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Told(answer.status, named, json.loads(read or b"null"))

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        self._connection.close()


def tenants_of(house: H, parts: int) -> list[H]:
    """Create workspaces until each part owns a workspace. Return a copy of `house` for each part, whose
    API key belongs to a workspace of that part."""
    found: dict[int, H] = {}
    for number in count():
        if len(found) == parts:
            break
        tenant = copy(house)
        tenant.key = house.workspace(f"tenant {number}")
        workspace = tenant.api("GET", "/auth/context")["workspaceId"]
        found.setdefault(number_of(workspace, parts), tenant)
    return [found[part] for part in range(parts)]


def event(
    number: str, lane: str | None = None, kind: str = "e.one", **more: object
) -> dict[str, object]:
    made: dict[str, object] = {
        "eventType": kind,
        "payload": {"n": number, "mark": PAYLOAD_MARK},
        **more,
    }
    if lane is not None:
        made["customerExternalId"] = lane
    return made


async def _rows(url: str, sql: str, arguments: tuple[object, ...]) -> list[Any]:
    connection = await asyncpg.connect(url, ssl="disable", timeout=HANGS_S, command_timeout=HANGS_S)
    try:
        return list(await connection.fetch(sql, *arguments))
    finally:
        await connection.close(timeout=5)
