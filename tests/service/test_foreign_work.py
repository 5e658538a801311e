"""The database's work for the id of another owner's object is the same as for an id that does not exist.

So neither an answer nor its duration reveals whether an object exists.
"""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from api.routes import Embed, Route
from api.table import ROUTES
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from tests.service.credentials import Credential, open_credentials
from tests.service.house import open_service
from tests.service.owned import STATES, Shelf, fails_where_dead, kind_of, name_of, open_owners
from tests.service.receiver import Receiver
from tests.service.test_matrix import BODIES, NAMING

# Statements that have the same id among their arguments, each with the number of rows that it returned.
Work = list[tuple[str, int]]
# Kinds of objects that the test leaves out: objects that all owners share, event types, downloads (their
# token is the credential), and the installation's machines.
WITHOUT = {"destination-templates", "schemas/types", "downloads", "observability/nodes"}


class Watched:
    """Records the statements of all connections. `work_on` returns the recorded statements that have the
    id `identifier` among their arguments, and forgets all statements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._seen: list[tuple[str, tuple[Any, ...], int]] = []
        for name, count in (
            ("fetch", len),
            ("fetch_row", lambda row: int(row is not None)),
            ("fetch_value", lambda value: int(value is not None)),
        ):
            self._watch(monkeypatch, name, count)

    def _watch(
        self, monkeypatch: pytest.MonkeyPatch, name: str, count: Callable[[Any], int]
    ) -> None:
        run = getattr(Connection, name)

        async def watched(connection: Connection, sql: str, *arguments: Any) -> Any:
            found = await run(connection, sql, *arguments)
            self._seen.append((sql, arguments, count(found)))
            return found

        monkeypatch.setattr(Connection, name, watched)

    def work_on(self, identifier: str) -> Work:
        seen, self._seen = self._seen, []
        return [
            (" ".join(sql.split()), rows)
            for sql, arguments, rows in seen
            if identifier in arguments or [identifier] in arguments
        ]


def named() -> list[Route]:
    return [
        route
        for route in ROUTES
        if (kind := kind_of(route)) is not None and kind not in WITHOUT and route.scopes is not None
    ]


async def test_what_is_anothers_is_looked_for_as_what_nobody_has(
    bridge: Bridge, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.answer = fails_where_dead
    async with open_service(bridge, control_rate_limit=10_000_000) as house:
        owners = await open_owners(house)
        shelf = Shelf(house, receiver)
        by_name = {who.name: who for who in await open_credentials(house, owners)}
        asking = [
            (by_name["manage"], owners["ada-next-door"]),
            (by_name["manage"], owners["ada-in-staging"]),
            (by_name["MCP manage"], owners["ada-in-staging"]),
            (by_name["ada's embed session"], owners["ada-next-door"]),
        ]
        for route in named():
            for _, owner in asking:
                await shelf.kept(owner, STATES.get(name_of(route), kind_of(route) or ""))
        watched = Watched(monkeypatch)

        async def work(route: Route, who: Credential, identifier: str) -> Work:
            body = None
            if name_of(route) in NAMING:
                body = await NAMING[name_of(route)](shelf, owners["ada"])
            elif route.body is not None and not route.action:
                body = await BODIES[name_of(route)](shelf, owners["nobody"])
            path = re.sub(r"{\w+}", identifier, route.path)
            watched.work_on("")
            answer = await who.caller(route.method, path, body, check=False)
            assert answer.status == 404, (route.method, path, who.name, answer.body)
            return watched.work_on(identifier)

        wrong = []
        for route in named():
            for who, owner in asking:
                if who.scope is None and route.embed is not Embed.OWN:
                    continue
                thing = await shelf.kept(owner, STATES.get(name_of(route), kind_of(route) or ""))
                foreign = await work(route, who, thing)
                # The unknown id begins with the timestamp of the known id. So both ids lead to the same
                # partition.
                unknown = await work(route, who, thing[:-12] + uuid4().hex[:12])
                if foreign != unknown:
                    what = [each for each in foreign if each not in unknown]
                    wrong.append(f"{route.method} {route.path} as {who.name}: {what}")
        assert wrong == [], "\n".join(wrong)
