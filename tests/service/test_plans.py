"""Plans on a whole server: their limits, their figures and their changes."""

import json
from pathlib import Path

import pytest
import trio

from engine.control.keys import KeyCommands
from engine.control.writer import writer_without_models
from engine.core.vocabulary import Environment
from engine.model.identity import Identity
from storage.configuration.workspaces import Workspaces
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from storage.log.partitions import make_partitions
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, open_service, post
from tests.service.receiver import Receiver
from tests.storage.world import now_ms, shifted

HOOK = "https://example.com/hooks"
SMALL = "[plans.free]\ndestinations = 2\nretention_days = 1\n[plans.pro]\ncontrol_per_minute = 77\n"


@pytest.fixture
def plans_file(tmp_path: Path) -> Path:
    path = tmp_path / "plans.toml"
    path.write_text(SMALL)
    return path


async def test_past_the_destinations_of_a_plan_there_is_a_402_and_an_archived_one_makes_room(
    bridge: Bridge, plans_file: Path
) -> None:
    async with open_service(bridge, plans_file=plans_file) as house:
        tenant = await house.tenant("small", "free")
        api = await house.caller(tenant)
        staging = await house.caller(tenant, environment=Environment.STAGING)
        first, _ = [await destination(api, HOOK) for _ in range(2)]
        body = {"name": "one more", "url": HOOK}
        refused = await api("POST", "/destinations", body)
        assert (refused.status, refused.code) == (402, "plan_limit")
        assert "2 destinations" in refused.json["message"]
        # The limit applies to one environment.
        assert (await staging("POST", "/destinations", body)).status == 201
        assert (await api("POST", f"/destinations/{first}/disable", {})).status == 200
        assert (await api("POST", "/destinations", body)).status == 402  # disabled ones count
        for _ in range(2):  # archived twice, it frees one place
            assert (await api("DELETE", f"/destinations/{first}", {})).status == 200
        assert (await api("POST", "/destinations", body)).status == 201
        assert (await api("POST", "/destinations", body)).status == 402
        entries = await api("GET", "/audit-logs?action=destination.create")
        assert len(entries.json["items"]) == 3  # refusals leave no entry


async def test_many_at_once_do_not_pass_the_limit(bridge: Bridge, plans_file: Path) -> None:
    async with open_service(bridge, plans_file=plans_file) as house:
        tenant = await house.tenant("small", "free")
        callers = [await house.caller(tenant) for _ in range(6)]
        statuses: list[int] = []

        async def create(caller: Caller) -> None:
            body = {"name": "n", "url": HOOK}
            statuses.append((await caller("POST", "/destinations", body)).status)

        async with trio.open_nursery() as nursery:
            for caller in callers:
                nursery.start_soon(create, caller)
        assert sorted(statuses) == [201, 201, 402, 402, 402, 402]


async def test_a_plan_that_is_changed_beside_the_server_is_heard_of_and_holds(
    bridge: Bridge, plans_file: Path
) -> None:
    async with open_service(bridge, plans_file=plans_file) as house:
        tenant = await house.tenant("acme", "free")
        api = await house.caller(tenant)
        mcp = await house.caller(tenant, environment=None, X_Environment="STAGING")
        assert (await api("GET", "/destinations")).headers["x-ratelimit-limit"] == "120"
        beside = KeyCommands(  # as the command line does: this server does not see the change
            Workspaces(bridge.pool),
            house.server.tables.keys,
            writer_without_models(Identity(), house.server.clock.now),
        )
        await beside.set_plan("acme", "pro")
        await house.until(api, "/auth/context", lambda told: told["plan"] == "pro")
        assert (await api("GET", "/destinations")).headers["x-ratelimit-limit"] == "77"
        assert (await api("GET", "/audit-logs?action=workspace.set_plan")).json["items"] == []
        (entry,) = (await mcp("GET", "/audit-logs?action=workspace.set_plan")).json["items"]
        assert entry["changes"] == {"plan": {"from": "free", "to": "pro"}}
        assert entry["environment"] is None


async def test_a_shorter_retention_hides_what_is_older_from_every_list_and_by_id(
    bridge: Bridge, plans_file: Path, receiver: Receiver
) -> None:
    async with open_service(bridge, plans_file=plans_file) as house:
        short, long = await house.tenant("short", "free"), await house.tenant("long", "scale")
        for tenant, shown in ((short, False), (long, True)):
            api = await house.caller(tenant)
            made = await destination(api, receiver.url())
            recent = await post(api)
            await house.until(
                api,
                f"/events/{recent}/deliveries",
                lambda page: page["items"][0]["status"] == "DELIVERED",
            )
            event, delivery = await _grown_old(house, api, recent)
            for path in ("/events", "/deliveries", f"/destinations/{made}/deliveries"):
                found = {item["id"] for item in (await api("GET", path)).json["items"]}
                assert bool(found & {event, delivery}) is shown, path
                assert len(found) == 1 + shown
            dead = [item["id"] for item in (await api("GET", "/dlq")).json["items"]]
            assert dead == [delivery] * shown
            for path in (
                f"/events/{event}",
                f"/deliveries/{delivery}",
                f"/events/{event}/deliveries",
                f"/dlq/{delivery}",
            ):
                assert (await api("GET", path)).status == (200 if shown else 404), path
            retried = await api("POST", f"/dlq/{delivery}/retry", {})
            assert retried.status == (200 if shown else 404)
            if shown:  # a replay excludes waiting deliveries
                await house.until(
                    api, f"/deliveries/{delivery}", lambda entry: entry["status"] == "DELIVERED"
                )
            again = await api("POST", "/replay-jobs", {"deliveryIds": [delivery]})
            assert again.status == (201 if shown else 404)
            every = {"destinationId": made, "dryRun": True}
            job = (await api("POST", "/replay-jobs", every)).json
            assert job["total"] == 1 + shown


async def _grown_old(house: ServiceHouse, api: Caller, event: str) -> tuple[str, str]:
    """Copy an event and its delivery. The copies are 25 hours older, and the copied delivery is dead."""
    (item,) = (await api("GET", f"/events/{event}/deliveries")).json["items"]
    old_event, old_delivery = (shifted(each, -25 * 3_600_000) for each in (event, item["id"]))
    bridge = house.server.bridge
    upkeep = bridge.connection(UPKEEP)
    await upkeep.ensure()
    await make_partitions(upkeep, now_ms(), back=3)
    await bridge.release(upkeep)
    died_ms = now_ms() - 25 * 3_600_000
    dead = {
        "event": old_event,
        "status": 3,
        "trouble": 3,
        "dlq_status": 1,
        "dead_lettered_at_ms": died_ms,
    }
    for table, identifier, changes in (
        ("events", event, {"id": old_event}),
        ("deliveries", item["id"], {"id": old_delivery, **dead}),
    ):
        await bridge.pool.fetch(
            f"""
            INSERT INTO {table} SELECT (jsonb_populate_record(r, $2::text::jsonb)).*
            FROM {table} r WHERE id = $1::uuid
            """,
            identifier,
            json.dumps(changes),
        )
    return old_event, old_delivery


async def test_a_workspace_whose_plan_is_gone_acts_by_the_least_one(
    house: ServiceHouse, api: Caller
) -> None:
    await house.server.bridge.pool.fetch("UPDATE workspaces SET plan = 'gone'")
    await house.server.loader.load()
    assert (await api("GET", "/destinations")).headers["x-ratelimit-limit"] == "120"
    assert (await api("GET", "/auth/context")).json["plan"] == "gone"
