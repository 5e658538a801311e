"""Writes of configuration: complete or not at all, in order, despite disconnects, and audited."""

import json
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.control.commands import MAX_WAITING, WAIT_S, CommandQueue
from engine.core.vocabulary import DestinationStatus
from engine.model.configuration import AuditEntry, DestinationRecord, Tenant
from engine.model.errors import Refusal
from engine.model.quotas import CustomerTally
from engine.ports import ContentionError, OwnershipLostError, PoisonError, StoreAwayError
from engine.ports.outage import surely_nothing
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from tests.api.house import HOOK, Caller, House
from tests.api.test_destinations import make
from tests.api.test_rules import make as make_rule


async def test_a_command_goes_on_when_its_caller_is_gone(autojump_clock: MockClock) -> None:
    commands, steps = CommandQueue(), []

    async def command() -> None:
        steps.append("begun")
        await trio.sleep(1)
        steps.append("done")

    async with trio.open_nursery() as nursery:
        await nursery.start(commands.tasks.serve)
        with trio.move_on_after(0.5):
            await commands.run(command)
        assert steps == ["begun"]
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert steps == ["begun", "done"]


async def test_commands_run_one_by_one_in_order_and_raise_to_their_caller(
    autojump_clock: MockClock,
) -> None:
    commands, log = CommandQueue(), []

    async def command(number: int) -> int:
        log.append(("begin", number))
        await trio.sleep(1)
        log.append(("end", number))
        if number == 1:
            raise ValueError("one")
        return number

    async def ask(number: int) -> None:
        if number == 1:
            with pytest.raises(ValueError, match="one"):
                await commands.run(lambda: command(number))
        else:
            assert await commands.run(lambda: command(number)) == number

    async with trio.open_nursery() as nursery:
        await nursery.start(commands.tasks.serve)
        async with trio.open_nursery() as callers:
            for number in range(3):
                callers.start_soon(ask, number)
        nursery.cancel_scope.cancel()
    begun = [number for what, number in log if what == "begin"]
    assert log == [(what, number) for number in begun for what in ("begin", "end")]


async def test_nobody_waits_for_ever_or_in_too_large_a_crowd(autojump_clock: MockClock) -> None:
    commands = CommandQueue()
    with pytest.raises(Refusal, match="cannot make changes at the moment"):
        await commands.run(trio.lowlevel.checkpoint)
    refusals: list[str] = []

    async def ask() -> None:
        with pytest.raises(Refusal) as refused:
            await commands.run(trio.sleep_forever)
        refusals.append(refused.value.code)

    async with trio.open_nursery() as callers, trio.open_nursery() as nursery:
        await nursery.start(commands.tasks.serve)
        for _ in range(MAX_WAITING):
            callers.start_soon(ask)
        await wait_all_tasks_blocked()
        with pytest.raises(Refusal):
            await commands.run(trio.lowlevel.checkpoint)
        await trio.sleep(WAIT_S + 1)
        assert refusals == ["overloaded"] * (MAX_WAITING - 1)
        nursery.cancel_scope.cancel()
    assert refusals[-1] == "internal", "the one that had begun may have done anything"


async def test_every_write_has_its_audit_entry_without_secrets(
    api: Caller, bridge: Bridge, tenant: Tenant
) -> None:
    made = await make(api, headers={"Authorization": "Bearer s3cret"})
    path = f"/destinations/{made['id']}"
    rotated = await api(
        "PATCH",
        path,
        {"name": "n", "rotateSecret": True},
        headers={"X-Request-Id": "the-request"},
    )
    await api("POST", f"{path}/disable")
    await api("DELETE", path)
    await api("DELETE", path)
    rule = await make_rule(api)
    await api("POST", f"/routing-rules/{rule['id']}/disable")
    await api("DELETE", f"/routing-rules/{rule['id']}")
    await api("PATCH", path, {"name": "refused"})
    rows = await bridge.pool.fetch(
        "SELECT * FROM audit_log WHERE actor_type = 'API_KEY' ORDER BY id"
    )
    assert [row["action"] for row in rows] == [
        "destination.create",
        "destination.update",
        "destination.disable",
        "destination.archive",
        "destination.create",
        "routing_rule.create",
        "routing_rule.disable",
        "routing_rule.delete",
    ]
    text = "".join(str(dict(row)) for row in rows)
    assert "s3cret" not in text
    assert made["secret"] not in text
    assert rotated.json["secret"] not in text
    update = rows[1]
    assert update["request_id"] == "the-request"
    assert update["object_id"] == made["id"]
    assert str(update["workspace"]) == tenant.workspace.id
    changes = json.loads(update["changes"])
    assert changes["name"] == {"from": "Orders", "to": "n"}
    assert set(changes) == {"name", "secret"}


async def test_secrets_are_encrypted_at_rest_and_versions_hold_none(
    api: Caller, bridge: Bridge
) -> None:
    made = await make(api, headers={"X-Api-Key": "s3cret", "X-A": "plain"})
    await api("PATCH", f"/destinations/{made['id']}", {"url": HOOK + "/2"})
    rows = await bridge.pool.fetch("SELECT * FROM destinations")
    versions = await bridge.pool.fetch("SELECT * FROM destination_versions ORDER BY version")
    text = str([dict(row) for row in (*rows, *versions)])
    assert "s3cret" not in text
    assert [(row["version"], row["url"]) for row in versions] == [(1, HOOK), (2, HOOK + "/2")]
    assert json.loads(versions[0]["headers"]) == [["X-Api-Key", None], ["X-A", "plain"]]


async def test_a_writer_that_read_an_older_version_begins_again(
    api: Caller, house: House, bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await make(api)
    store, rivals = house.tables.destinations, [1, 2]
    replace = store.replace

    async def overtaken(record: DestinationRecord, audit: AuditEntry) -> bool:
        if rivals:
            rivals.pop()
            await bridge.pool.execute(
                "UPDATE destinations SET version = version + 1, description = 'a rival''s'"
            )
        return await replace(record, audit)

    monkeypatch.setattr(store, "replace", overtaken)
    patched = await api("PATCH", f"/destinations/{made['id']}", {"name": "mine"})
    assert (patched.json["name"], patched.json["description"]) == ("mine", "a rival's")
    assert house.models.destinations[made["id"]].version == 4
    rivals.extend(range(100))
    refused = await api("PATCH", f"/destinations/{made['id']}", {"name": "again"})
    assert refused.code == "conflict"


async def test_a_destination_knows_which_versions_enabled_and_moved_it(
    api: Caller, house: House
) -> None:
    path = f"/destinations/{(await make(api))['id']}"
    steps = (
        ("PATCH", "", {"name": "renamed"}, (0, 0)),
        ("PATCH", "", {"url": HOOK + "/2"}, (0, 3)),
        ("POST", "/disable", None, (0, 3)),
        ("POST", "/enable", None, (5, 3)),
        ("PATCH", "", {"url": HOOK}, (5, 6)),
        ("PATCH", "", {"name": "again"}, (5, 6)),
    )
    for method, action, document, versions in steps:
        assert (await api(method, path + action, document)).status == 200
        shown = house.models.destinations[path.rpartition("/")[2]]
        assert (shown.enabled_version, shown.moved_version) == versions
        stored = await house.tables.destinations.find(shown.id)
        assert stored is not None
        assert (stored.enabled_version, stored.moved_version) == versions


async def test_a_receiver_that_is_gone_disables_its_destination_once(
    api: Caller, house: House
) -> None:
    made = await make(api)
    gone = house.models.destinations[made["id"]]
    await api("PATCH", f"/destinations/{made['id']}", {"url": "https://example.org"})
    await house.destinations.disable_gone(gone)
    assert house.models.destinations[made["id"]].status is DestinationStatus.ACTIVE
    await house.destinations.disable_gone(house.models.destinations[made["id"]])
    assert (await api("GET", f"/destinations/{made['id']}")).json["status"] == "DISABLED"


PASSING = (
    StoreAwayError("no answer"),
    surely_nothing("no connection"),
    ContentionError("deadlock"),
    Refusal("overloaded", "too many changes wait for their turn"),
    Refusal("conflict", "others are changing the destination"),
    AttributeError("a fault of this service"),
)
LASTING = (
    OwnershipLostError("another server has taken over this database"),
    PoisonError("a value cannot be sent"),
    Refusal("not_found", "no such destination"),
)


@pytest.mark.parametrize("last", [None, *LASTING])
async def test_disabling_a_destination_ends_only_at_an_error_that_cannot_pass(
    api: Caller, house: House, monkeypatch: pytest.MonkeyPatch, last: Exception | None
) -> None:
    monkeypatch.setattr("engine.ports.outage.FIRST_PAUSE_S", 0.0)
    store = house.tables.destinations
    made = await make(api)
    script, replace = [*PASSING, *([] if last is None else [last])], store.replace

    async def failing(record: DestinationRecord, audit: AuditEntry) -> bool:
        if script:
            raise script.pop(0)
        return await replace(record, audit)

    monkeypatch.setattr(store, "replace", failing)
    with capture_logs() as lines:
        await house.destinations.disable_gone(house.models.destinations[made["id"]])
    status = (await api("GET", f"/destinations/{made['id']}")).json["status"]
    told = [line for line in lines if line["event"] == "destination.not_disabled"]
    assert not script
    assert status == ("DISABLED" if last is None else "ACTIVE")
    assert [line["destination"] for line in told] == ([] if last is None else [made["id"]])
    assert all("disable it" in line["remedy"] for line in told)


async def test_a_database_that_is_away_is_a_503_and_changes_nothing(
    api: Caller, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await make(api)

    async def away(*_: Any) -> Any:
        raise StoreAwayError("no route")

    with monkeypatch.context() as patch:
        patch.setattr(house.bridge.pool, "fetch", away)
        patch.setattr(house.bridge.pool, "fetch_row", away)
        for method, path, document in (
            ("GET", f"/destinations/{made['id']}", None),
            ("GET", "/routing-rules", None),
            ("PATCH", f"/destinations/{made['id']}", {"name": "x"}),
            ("POST", f"/destinations/{made['id']}/disable", None),
        ):
            response = await api(method, path, document)
            assert (response.status, response.code) == (503, "overloaded"), path
            assert int(response.headers["retry-after"]) > 0
            assert b"no route" not in response.body
        assert (await api("GET", "/auth/context")).status == 200
    shown = (await api("GET", f"/destinations/{made['id']}")).json
    assert (shown["name"], shown["status"]) == ("Orders", "ACTIVE")


async def test_a_write_whose_outcome_is_unknown_is_not_called_refused(
    api: Caller, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = house.tables.destinations
    create = store.create

    async def lost(
        record: DestinationRecord, at_most: int, audit: AuditEntry, customer: CustomerTally | None
    ) -> None:
        await create(record, at_most, audit, customer)
        raise StoreAwayError("the answer was lost")

    monkeypatch.setattr(store, "create", lost)
    response = await api("POST", "/destinations", {"name": "d", "url": HOOK})
    assert (response.status, response.code) == (500, "internal")
    assert len((await api("GET", "/destinations")).json["items"]) == 1


async def test_a_write_that_never_left_is_a_503(
    api: Caller, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(_: Connection) -> None:
        raise StoreAwayError("no route")

    body = {"name": "d", "url": HOOK}
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "ensure", unreachable)
        response = await api("POST", "/destinations", body)
        assert (response.status, response.code) == (503, "overloaded")
    assert (await api("GET", "/destinations")).json["items"] == []
    assert (await api("POST", "/destinations", body)).status == 201
