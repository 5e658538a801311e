"""Every endpoint answers with each of its statuses on a whole server; their table is complete."""

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
from tests.service.receiver import Received, Receiver
from tests.service.statuses import (
    FILE,
    NAMES,
    RACES,
    SCHEMA,
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
NO_RETRY: dict[str, list[int]] = {"retrySchedule": []}


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
    def __init__(self, house: ServiceHouse, api: Caller, receiver: Receiver) -> None:
        self.house = house
        self.api = api
        self.receiver = receiver
        self.callers: dict[str, Caller] = {"api": api, "nobody": house.caller_with(None)}
        self.ids: dict[str, str] = {
            "eventType": "of.active",
            "template": "webhook",
            "externalId": "c1",
        }

    async def build(self) -> None:
        await self._callers()
        await self._destinations()
        await self._deliveries()
        await self._schemas()
        await self._scripts()
        await self._jobs()
        keys = [await self._made("/api-keys", {"name": "k", "scope": "read"}) for _ in range(2)]
        self.ids["key"], self.ids["spare_key"] = keys
        self.ids["rotated"] = await self._made("/api-keys", {"name": "k", "scope": "read"})
        path = f"/api-keys/{self.ids['rotated']}/rotate"
        while (await self.api("POST", path)).status != 409:  # up to the daily limit
            pass
        self.ids["entry"] = (await self.api("GET", "/audit-logs")).json["items"][0]["id"]
        nodes = (await self.api("GET", "/observability/nodes")).json["items"]
        self.ids["machine"] = nodes[0]["machine"]
        first = await post(self.api, "of.nobody", idempotencyKey="taken")
        self.ids["event"] = first
        await self._files()

    async def _files(self) -> None:
        source = {"kind": "URL", "uri": "http://127.0.0.1:1/"}  # no test fetches it
        for name, said in (("file", {}), ("pending_file", {"source": source, "content": None})):
            told = await self.api("POST", "/files", {**FILE, **said})
            assert told.status == 202, told.body
            self.ids[name] = told.json["id"]
        number = self.house.server.models.environment_of(
            (await self.api("GET", "/auth/context")).json["workspaceId"], Environment.DEVELOPMENT
        )
        assert number is not None
        url = self.house.server.carrying.urls.url(number.number, self.ids["file"])
        self.ids["token"] = url.rpartition("/")[2]

    async def _callers(self) -> None:
        house = self.house
        mine = self.tenant = await house.tenant("of callers")
        self.callers["ingester"] = await house.caller(mine, Scope.INGEST)
        self.callers["reader"] = await house.caller(mine, Scope.READ)
        session = {"customerExternalId": "c1", "ttlSeconds": 900}
        token = (await self.api("POST", "/embed/sessions", session)).json["token"]
        self.callers["browser"] = house.caller_with(token)
        self.callers["poor"] = await house.caller(await house.tenant("poor", "free"))
        small = await house.caller(await house.tenant("small", "pro"))
        self.ids["smalls"] = await destination(small, self.receiver.url())
        self.callers["small"] = small
        self.callers["lapsed"] = await house.caller(await house.tenant("lapsed"))

    async def _destinations(self) -> None:
        api, url = self.api, self.receiver.url()
        for name in ("destination", "spare", "archived", "other"):
            self.ids[name] = await destination(api, url, ["never"])
        rules = (await api("GET", "/routing-rules")).json["items"]
        self.ids["rule"], self.ids["spare_rule"] = rules[0]["id"], rules[-1]["id"]
        body = {**SCRIPT, "destinationId": self.ids["archived"]}
        self.ids["archived_script"] = await self._made("/transform-scripts", body)
        assert (await api("DELETE", f"/destinations/{self.ids['archived']}")).status == 200

    async def _deliveries(self) -> None:
        api, url = self.api, self.receiver.url("/dead")
        targets = [
            await destination(api, url, [f"dies.{name}"], delivery=NO_RETRY)
            for name in ("here", "there")
        ]
        await post(api, "dies.here")
        await post(api, "dies.there")
        dead = await self.house.until(api, "/dlq", lambda page: len(page["items"]) == 2)
        by_target = {item["destinationId"]: item["id"] for item in dead["items"]}
        self.ids["dead"], lost = (by_target[each] for each in targets)
        self.ids["dead_without_event"] = lost
        event = (await api("GET", f"/deliveries/{lost}")).json["eventId"]
        await self.house.server.bridge.pool.fetch("DELETE FROM events WHERE id = $1", event)
        self.ids["held"] = await destination(api, self.receiver.url(), ["held"])
        event = await post(api, "held")
        page = await self.house.until(
            api,
            f"/events/{event}/deliveries",
            lambda page: page["items"][0]["status"] == "DELIVERED",
        )
        self.ids["delivery"] = page["items"][0]["id"]
        # This delivery waits twice: a request sends it at once, it fails, and a later request cancels it.
        waits = {"retrySchedule": [3600, 3600]}
        target = await destination(api, url, ["waits"], delivery=waits)
        await post(api, "waits")
        page = await self.house.until(
            api,
            f"/destinations/{target}/deliveries",
            lambda page: page["items"] and page["items"][0]["status"] == "RETRYING",
        )
        self.ids["waiting"] = page["items"][0]["id"]

    async def _schemas(self) -> None:
        strict = {"type": "object", "required": ["n"]}
        for name, event_type in (("active", "of.old"), ("active2", "of.active")):
            body = {"eventType": event_type, "schema": strict}
            self.ids[name] = await self._made("/schemas", body)
            path = f"/schemas/{self.ids[name]}/activate"
            assert (await self.api("POST", path, {})).status == 200
        self.ids["schema"] = await self._made("/schemas", SCHEMA)
        self.ids["draft"] = await self._made("/schemas", SCHEMA)

    async def _scripts(self) -> None:
        for name, target in (("script", ""), ("spare_script", ""), ("live_script", "other")):
            body = {**SCRIPT, "destinationId": self.ids[target or "destination"]}
            self.ids[name] = await self._made("/transform-scripts", body)
        path = f"/transform-scripts/{self.ids['live_script']}/publish"
        assert (await self.api("POST", path)).status == 200
        lapsed = self.callers["lapsed"]
        body = {**SCRIPT, "destinationId": await destination(lapsed, self.receiver.url())}
        made = await lapsed("POST", "/transform-scripts", body)
        self.ids["lapsed_script"] = made.json["id"]
        await self.house.keys.set_plan("lapsed", "pro")

    async def _jobs(self) -> None:
        api, held = self.api, self.ids["held"]
        self.ids["finished"] = await self._made("/replay-jobs", {"destinationId": held})
        path = f"/replay-jobs/{self.ids['finished']}"
        await self.house.until(api, path, lambda job: job["status"] == "COMPLETED")
        assert (await api("POST", f"/destinations/{held}/disable")).status == 200
        for name in ("job", "running"):
            self.ids[name] = await self._made("/replay-jobs", {"destinationId": held})
            path = f"/replay-jobs/{self.ids[name]}"
            await self.house.until(api, path, lambda job: job["status"] == "PAUSED")

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
        method, _, path = case.operation.partition(" ")
        target = case.target or path
        if not target.startswith("/"):
            method, _, target = target.partition(" ")
        kind = NAMES.get(path.split("/")[1], "")
        for name in ("id", "deliveryId", "destinationId"):
            target = target.replace(f"{{{name}}}", f"{{{kind}}}")
        body = case.body
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(self.filled(body)).encode()
        caller = self.callers[case.caller]
        return await caller(method, self.filled(target), body=body, headers=case.headers)


def as_told(case: Case, answer: Response) -> bool:
    code = answer.json.get("code", "") if answer.status >= 400 else ""
    return (answer.status, code) == (case.status, case.code)


@asynccontextmanager
async def open_world(bridge: Bridge, receiver: Receiver, folder: Path) -> AsyncIterator[World]:
    plans = folder / "plans.toml"
    plans.write_text(PLANS)

    def fails_where_dead(request: Received) -> int:
        return 500 if request.path == "/dead" else 204

    receiver.answer = fails_where_dead
    async with open_service(bridge, plans_file=plans) as house:
        world = World(house, await house.caller(await house.tenant("acme")), receiver)
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
