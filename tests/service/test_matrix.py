"""Requests with every combination of a route, a credential and an owner. Each answer has the status that
the route declares for such a request, and contains no data of another owner.

If the matrix cannot call a route, the test fails and names the route.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest
import trio

from api.routes import JSON, MANAGE, Embed, Route
from api.table import ROUTES
from engine.model.quotas import Ability
from storage.database.bridge import Bridge
from tests.api.house import Response, example_of, hold_to_document
from tests.patience import HANGS_S
from tests.service.credentials import Credential, open_credentials
from tests.service.house import ServiceHouse, open_service
from tests.service.owned import (
    Named,
    Owner,
    Shelf,
    fails_where_dead,
    kind_of,
    name_of,
    open_owners,
)
from tests.service.receiver import Receiver

AT_ONCE = 2  # fewer than the limit of simultaneous script tests
EVENT = {"eventType": "of.nobody", "payload": {}}
SOURCE = "function transform(event) { return event; }"
Body = Callable[[Shelf, Owner], Awaitable[Any]]


def to_destination(**rest: Any) -> Body:
    async def body(shelf: Shelf, owner: Owner) -> Any:
        return {"destinationId": await shelf.kept(owner, "destinations"), **rest}

    return body


async def of_template(shelf: Shelf, owner: Owner) -> Any:
    return {"destinationId": await shelf.kept(owner, "templated destinations")}


async def of_account(_: Shelf, owner: Owner) -> Any:
    return {"name": "d", "url": "http://127.0.0.1:1/", "customerAccountId": owner.account}


async def of_trial(shelf: Shelf, owner: Owner) -> Any:
    destination = await shelf.kept(owner, "destinations")
    return {"event": EVENT, "rule": {"destinationId": destination, "eventTypes": ["never"]}}


def plain(document: Any) -> Body:
    async def body(_: Shelf, __: Owner) -> Any:
        return document

    return body


# Bodies that name an owner's object, which must exist for the caller.
NAMING: dict[Named, Body] = {
    ("POST", "/destinations"): of_account,
    ("POST", "/routing-rules"): to_destination(name="r", eventTypes=["never"]),
    ("POST", "/destination-templates/{id}/preview"): of_template,
    ("POST", "/routing-rules/preview"): of_trial,
    ("POST", "/transform-scripts"): to_destination(name="s", source=SOURCE),
    ("POST", "/transform-scripts/preview"): to_destination(source=SOURCE, event={}),
    ("POST", "/replay-jobs"): to_destination(dryRun=True),
    ("POST", "/deliveries/retry"): to_destination(dryRun=True),
    ("POST", "/deliveries/cancel"): to_destination(dryRun=True),
    ("POST", "/dlq/retry"): to_destination(dryRun=True),
    ("POST", "/dlq/discard"): to_destination(dryRun=True),
}
# Bodies that replace the document's examples.
BODIES: dict[Named, Body] = {
    ("POST", "/events"): plain(EVENT),
    ("POST", "/events/batch"): plain({"events": [EVENT]}),
    ("POST", "/files"): plain({"content": "", "eventType": "of.nobody"}),
    ("PATCH", "/destinations/{id}"): plain({"description": "changed"}),
    ("PATCH", "/routing-rules/{id}"): plain({"priority": "HIGH"}),
    ("PUT", "/customers/{externalId}"): plain({"name": "changed"}),
    ("PATCH", "/workspace"): plain({"branding": {"name": "changed"}}),
    ("POST", "/schemas"): plain({"eventType": "of.schemas", "schema": {"type": "object"}}),
    ("POST", "/transform-scripts/{id}/run"): plain({"event": {"type": "of.nobody", "data": {}}}),
    ("POST", "/schemas/infer"): plain({"eventType": "of.nobody"}),
    ("PATCH", "/replay-jobs/{id}"): plain({"ratePerSecond": 7}),
    ("POST", "/schemas/{id}/activate"): plain({}),
}
QUERIES: dict[Named, Callable[[Credential], str]] = {
    ("GET", "/observability/throughput"): lambda who: (
        "" if who.place is None else f"?environment={who.place[1].name}"
    ),
    ("GET", "/lookup"): lambda _: "?q=c",
}
# Routes whose answer for a missing object is 200 and empty.
EMPTY: set[Named] = {("GET", "/schemas/types/{eventType}/versions")}
# Filters that name an object, and the kind of object.
FILTERS = {
    "destinationId": "destinations",
    "eventId": "events",
    "customerAccountId": "account",
    "replayJobId": "replay-jobs",
}  # fmt: skip


def expected(route: Route, who: Credential, owner: Owner | None) -> int:
    success = min(route.responses)
    if route.scopes is None:
        return success
    if not who.valid:
        return 401
    if who.scope is None and route.embed is Embed.REFUSED:
        return 403
    if who.scope is not None and (route.embed is Embed.ONLY or who.scope not in route.scopes):
        return 403
    if who.mistaken or (route.installation and not who.operator):
        return 403
    if who.unnamed and route.environment:
        return 400
    if owner is None or exists(route, who, owner):
        return success
    return success if name_of(route) in EMPTY else 404


def exists(route: Route, who: Credential, owner: Owner) -> bool:
    if name_of(route) == ("POST", "/destinations") and owner.account is None:
        return True  # the body names no customer
    if kind_of(route) == "destination-templates" and name_of(route) not in NAMING:
        return True  # shared by all callers
    if route.installation:
        return True  # only an operator's key gets this far
    if route.embed is Embed.SHARED:
        return who.place == owner.place
    return who.owns(owner)


class Matrix:
    def __init__(self, house: ServiceHouse, shelf: Shelf, owners: dict[str, Owner]) -> None:
        self.house = house
        self.shelf = shelf
        self.owners = owners
        self.counts: Counter[int] = Counter()
        self.wrong: list[str] = []
        self._held: set[tuple[Named, int]] = set()

    async def run(self, route: Route, who: Credential, limiter: trio.CapacityLimiter) -> None:
        named = kind_of(route) is not None or name_of(route) in NAMING
        async with limiter:
            for owner in self.owners.values() if named else [None]:
                await self.case(route, who, owner)
                if expected(route, who, owner) in (401, 403, 400):
                    return  # the answer is the same for each owner

    async def case(self, route: Route, who: Credential, owner: Owner | None) -> None:
        status = expected(route, who, owner)
        path, body = await self.request(route, who, owner, fresh=status < 300)
        answer = await who.caller(route.method, path, body, check=False)
        self.counts[answer.status] += 1
        whose = "" if owner is None else f", a thing of {owner.name}"
        case = f"{route.method} {route.path} as {who.name}{whose}"
        if answer.status != status:
            told = answer.body[:200].decode()
            self.wrong.append(f"{case}: {answer.status}, not {status}: {told}")
            return
        if (name_of(route), status) not in self._held:
            self._held.add((name_of(route), status))
            hold_to_document(route.method, path, answer)
        if route.scopes is not None:
            self.search(case, who, answer, path, body)

    async def request(
        self, route: Route, who: Credential, owner: Owner | None, *, fresh: bool
    ) -> tuple[str, Any]:
        path = route.path
        if owner is not None:
            path = await self.shelf.path(route, owner, fresh=fresh)
        if name_of(route) in QUERIES:
            path += QUERIES[name_of(route)](who)
        body: Any = None
        if name_of(route) in NAMING:
            assert owner is not None
            body = await NAMING[name_of(route)](self.shelf, owner)
        elif route.body is not None:
            anybody = self.owners["nobody"]
            given = BODIES.get(name_of(route), plain(example_of(route.method, route.path)))
            body = await given(self.shelf, anybody)
        return path, body

    def search(self, case: str, who: Credential, answer: Response, path: str, body: Any) -> None:
        sent = path + orjson.dumps(body).decode()
        text = answer.body.decode()
        for owner in self.owners.values():
            if who.valid and who.owns(owner):
                continue
            leaks = [
                each for each in (owner.marker, *owner.ids) if each in text and each not in sent
            ]
            if leaks:
                self.wrong.append(f"{case}: shows {leaks} of {owner.name}")


def unknown_routes(shelf: Shelf) -> list[str]:
    unknown = []
    for route in ROUTES:
        kind = kind_of(route)
        if kind is not None and kind not in shelf.makers:
            unknown.append(f"{route.method} {route.path}: add a maker of {kind} to `Shelf`")
        if names_something(route) and name_of(route) not in {*NAMING, *BODIES}:
            unknown.append(f"{route.method} {route.path}: what does its body name?")
        if route.embed is Embed.OWN and route.scopes == MANAGE and route.ability is None:
            unknown.append(f"{route.method} {route.path}: what must customers be let do for it?")
        if route.embed is not Embed.OWN and route.ability is not None:
            unknown.append(f"{route.method} {route.path}: whose ability is that?")
        unknown += [
            f"{route.method} {route.path}: what does {field} name?"
            for field in set(filters_of(route)) - set(FILTERS)
        ]
        for field, info in route.query.model_fields.items():
            if info.is_required() and name_of(route) not in QUERIES:
                unknown.append(f"{route.method} {route.path}: what is {field}?")
    return unknown


def names_something(route: Route) -> bool:
    if route.body is None:
        return False
    return b'"uuid"' in orjson.dumps(route.body.model_json_schema())


def filters_of(route: Route) -> list[str]:
    """Return those query parameters of a route whose value is an id. The stream's parameters are left
    out, because `test_stream` tests them."""
    if route.content_type != JSON:
        return []
    properties = route.query.model_json_schema()["properties"] if route.query.model_fields else {}
    return [name for name, schema in properties.items() if b'"uuid"' in orjson.dumps(schema)]


@pytest.fixture
async def matrix(bridge: Bridge, receiver: Receiver) -> Any:
    receiver.answer = fails_where_dead
    within_s = 4 * HANGS_S  # for thousands of requests, which take ten seconds on an idle machine
    async with open_service(bridge, within_s, control_rate_limit=10_000_000) as house:
        owners = await open_owners(house)
        yield Matrix(house, Shelf(house, receiver), owners)


async def test_every_route_answers_every_credential_as_it_declares(
    matrix: Matrix, record_property: Callable[[str, object], None]
) -> None:
    assert unknown_routes(matrix.shelf) == []
    callers = await open_credentials(matrix.house, matrix.owners)
    for owner in matrix.owners.values():
        for kind in matrix.shelf.makers:
            if any(kind_of(route) == kind for route in ROUTES):
                await matrix.shelf.kept(owner, kind)
    limiter = trio.CapacityLimiter(AT_ONCE)
    for route in ROUTES:
        async with trio.open_nursery() as nursery:
            for who in callers:
                nursery.start_soon(matrix.run, route, who, limiter)
    cases = sum(matrix.counts.values())
    record_property("cases", cases)
    print(f"{cases} cases of {len(ROUTES)} routes: {dict(sorted(matrix.counts.items()))}")
    assert matrix.wrong == [], "\n".join(matrix.wrong)
    assert cases > 1_500


# Counts of rows. A count changes if a customer has written something. Audit entries about the
# workspace's settings are not counted, because the test itself changes the settings.
WRITTEN = """
    SELECT (SELECT count(*) FROM audit_log WHERE action <> 'workspace.update'),
           (SELECT count(*) FROM deliveries), (SELECT count(*) FROM destination_versions)
"""


async def test_a_customer_does_what_the_workspace_allows_and_no_more(matrix: Matrix) -> None:
    """If the workspace does not give its customers the ability that a write needs, the write is refused
    with 403 and changes nothing."""
    ada = matrix.owners["ada"]
    pool = matrix.house.server.bridge.pool
    callers = await open_credentials(matrix.house, matrix.owners)
    browser, key = (
        next(who for who in callers if who.name == name)
        for name in ("ada's embed session", "manage")
    )
    held = [route for route in ROUTES if route.ability is not None]
    assert {route.ability for route in held} | {Ability.VIEW_PAYLOADS} | {
        ability for route in held for ability in route.field_abilities.values()
    } == set(Ability), "an ability that nothing needs"
    for route in held:
        assert route.ability is not None
        others = route.field_abilities.values() if route.method == "PATCH" else ()
        off = {each.value: False for each in (route.ability, *others)}
        for allowed in (False, True):
            change = dict.fromkeys(off, True) if allowed else off
            await ada.api("PATCH", "/workspace", {"customerMay": change}, check=False)
            for who in (browser, key):
                path, body = await matrix.request(route, who, ada, fresh=True)
                before = await pool.fetch_row(WRITTEN)
                answer = await who.caller(route.method, path, body)
                case = f"{route.method} {route.path} as {who.name}, {off} {allowed=}"
                if allowed or who is key:
                    assert answer.status == min(route.responses), (case, answer.body)
                    continue
                assert (answer.status, answer.code) == (403, "forbidden"), case
                assert route.ability.value in answer.json["message"], case
                assert await pool.fetch_row(WRITTEN) == before, case


async def test_a_filter_that_names_what_is_anothers_finds_nothing(matrix: Matrix) -> None:
    callers = await open_credentials(matrix.house, matrix.owners)
    tried = 0
    for route in ROUTES:
        for field in filters_of(route):
            for owner in matrix.owners.values():
                kind = FILTERS[field]
                thing = owner.account if kind == "account" else await matrix.shelf.kept(owner, kind)
                for who in callers:
                    if thing is None or expected(route, who, None) != 200 or who.owns(owner):
                        continue
                    path = f"{route.path}?{field}={thing}"
                    answer = await who.caller("GET", path)
                    assert answer.status == 200, (path, who.name)
                    found = answer.json
                    shown = found["items"] if "items" in found else found["topDestinations"]
                    assert shown == [], (path, who.name)
                    assert "totals" not in found or not found["totals"]["attempts"], path
                    tried += 1
    assert tried > 100
