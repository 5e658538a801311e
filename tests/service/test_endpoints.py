"""Every endpoint of a whole server answers with each of its statuses. The table of the statuses is
complete."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from api.openapi.operations import statuses_of_errors
from api.table import ROUTES
from engine.core.vocabulary import Environment, Scope
from engine.model.errors import STATUS_OF_CODE
from storage.database.bridge import Bridge
from tests.api.house import Caller, Response
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, open_service, post
from tests.service.owned import Owner, Shelf, fails_where_dead
from tests.service.receiver import Receiver
from tests.service.statuses import (
    FILE,
    RACES,
    SCRIPT,
    TABLE,
    Case,
    all_cases,
    operation_of,
    provoked,
    specified,
    table,
)

PLANS = """
[plans.free]
control_per_minute = 1
ingest_per_minute = 1

[plans.pro]
control_per_minute = 100000
destinations = 1
rules = 1
transforms = 0
"""
# The names in cases of objects that no case changes, and their kinds.
KEPT = {
    "destination": "destinations",
    "delivery": "deliveries",
    "script": "transform-scripts",
    "live_script": "live scripts",
    "draft": "schemas",
}
STRICT = {"eventType": "of.active", "schema": {"type": "object", "required": ["n"]}}
OPERATIONS = {operation_of(route): route for route in ROUTES}


def test_each_status_of_the_specification_is_provoked() -> None:
    ours = provoked()
    for operation, statuses in specified().items():
        assert statuses <= ours[operation], operation


def test_each_status_that_a_route_says_it_has_is_provoked() -> None:
    ours = provoked()
    for route in ROUTES:
        said = {*route.responses, *route.refusals, *(STATUS_OF_CODE[code] for code in route.codes)}
        if route.scopes is not None:
            said |= {401, 403, 429}
        racing = {status for operation, status in RACES if operation == operation_of(route)}
        missing = said - ours[operation_of(route)] - racing
        assert not missing, f"{operation_of(route)} has no case for {missing}"
        undocumented = ours[operation_of(route)] - {405, *route.responses}
        assert undocumented <= {*statuses_of_errors(route)}, operation_of(route)
    codes = {(case.operation, case.code) for case in all_cases()}
    for route in ROUTES:
        assert all(
            (operation_of(route), code) in codes
            for code in route.codes
            if route.path != "/events/batch"  # in a batch they reject an event, not the request
        )


def test_the_table_is_current() -> None:
    assert TABLE.read_text("utf-8") == table(), "python -m tests.service.statuses"


class World:
    """Callers, and the objects that cases name."""

    def __init__(self, house: ServiceHouse, owner: Owner, receiver: Receiver) -> None:
        self.house = house
        self.owner = owner
        self.api = owner.api
        self.receiver = receiver
        self.shelf = Shelf(house, receiver)
        self.callers: dict[str, Caller] = {"api": owner.api, "nobody": house.caller_with(None)}
        self.ids: dict[str, str] = {}

    async def build(self) -> None:
        await self._callers()
        for name, kind in KEPT.items():
            self.ids[name] = await self.shelf.kept(self.owner, kind)
        await self._archived()
        await self._dead_without_event()
        self.ids["active"] = await self._made("/schemas", STRICT)
        path = f"/schemas/{self.ids['active']}/activate"
        assert (await self.api("POST", path, {})).status == 200
        self.ids["rotated"] = await self.shelf.key(self.owner)
        path = f"/api-keys/{self.ids['rotated']}/rotate"
        while (await self.api("POST", path)).status != 409:  # up to the daily limit
            pass
        self.ids["finished"] = await self._made("/replay-jobs", {"destinationId": "{destination}"})
        path = f"/replay-jobs/{self.ids['finished']}"
        await self.house.until(self.api, path, lambda job: job["status"] == "COMPLETED")
        await post(self.api, "of.nobody", idempotencyKey="taken")
        source = {"kind": "URL", "uri": "http://127.0.0.1:1/"}  # no test fetches it
        told = await self.api("POST", "/files", {**FILE, "source": source, "content": None})
        assert told.status == 202, told.body
        self.ids["pending_file"] = told.json["id"]

    async def _callers(self) -> None:
        house = self.house
        mine = await house.tenant("of callers")
        self.callers["ingester"] = await house.caller(mine, Scope.INGEST)
        self.callers["reader"] = await house.caller(mine, Scope.READ)
        session = {"customerExternalId": "c1", "ttlSeconds": 900}
        token = (await self.api("POST", "/embed/sessions", session)).json["token"]
        self.callers["browser"] = house.caller_with(token)
        self.callers["poor"] = await house.caller(await house.tenant("poor", "free"))
        small = await house.caller(await house.tenant("small", "pro"))
        self.ids["smalls"] = await destination(small, self.receiver.url())
        self.callers["small"] = small
        lapsed = self.callers["lapsed"] = await house.caller(await house.tenant("lapsed"))
        body = {**SCRIPT, "destinationId": await destination(lapsed, self.receiver.url())}
        self.ids["lapsed_script"] = (await lapsed("POST", "/transform-scripts", body)).json["id"]
        await house.keys.set_plan("lapsed", "pro")

    async def _archived(self) -> None:
        archived = self.ids["archived"] = await self.shelf.destination(self.owner)
        self.ids["archived_script"] = await self.shelf.script(self.owner, archived)
        assert (await self.api("DELETE", f"/destinations/{archived}")).status == 200

    async def _dead_without_event(self) -> None:
        lost = self.ids["dead_without_event"] = await self.shelf.dead(self.owner)
        event = (await self.api("GET", f"/deliveries/{lost}")).json["eventId"]
        await self.house.server.bridge.pool.fetch("DELETE FROM events WHERE id = $1", event)

    async def _made(self, path: str, document: Any) -> str:
        answer = await self.api("POST", path, self.filled(document))
        assert answer.status == 201, answer.body
        return str(answer.json["id"])

    def filled(self, value: Any) -> Any:
        if isinstance(value, str):
            for name, identifier in self.ids.items():
                value = value.replace(f"{{{name}}}", identifier)
        if isinstance(value, dict):
            return {key: self.filled(inner) for key, inner in value.items()}
        return [self.filled(inner) for inner in value] if isinstance(value, list) else value

    async def ask(self, case: Case) -> Response:
        route = OPERATIONS[case.operation]
        path = await self.shelf.path(route, self.owner, fresh=case.status < 400)
        target = (case.target or route.path).replace(route.path, path)
        method, _, target = target.rpartition(" ")
        body = case.body
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(self.filled(body)).encode()
        caller = self.callers[case.caller]
        return await caller(
            method or route.method, self.filled(target), body=body, headers=case.headers
        )


def as_told(case: Case, answer: Response) -> bool:
    code = answer.json.get("code", "") if answer.status >= 400 else ""
    return (answer.status, code) == (case.status, case.code)


@asynccontextmanager
async def open_world(bridge: Bridge, receiver: Receiver, folder: Path) -> AsyncIterator[World]:
    plans = folder / "plans.toml"
    plans.write_text(PLANS)
    receiver.answer = fails_where_dead
    async with open_service(bridge, plans_file=plans) as house:
        tenant = await house.tenant("acme")
        api = await house.caller(tenant)
        world = World(house, Owner("acme", tenant, Environment.DEVELOPMENT, None, api), receiver)
        await world.build()
        yield world


async def test_every_endpoint_answers_with_each_of_its_statuses(
    bridge: Bridge, receiver: Receiver, tmp_path: Path
) -> None:
    wrong = []
    async with open_world(bridge, receiver, tmp_path) as world:
        for case in all_cases():
            with trio.fail_after(HANGS_S):
                answer = await world.ask(case)
                while case.until and not as_told(case, answer):
                    answer = await world.ask(case)
            if not as_told(case, answer):
                wrong.append(f"{case}\n   {answer.status} {answer.body[:200]!r}")
    assert not wrong, "\n" + "\n".join(wrong)
