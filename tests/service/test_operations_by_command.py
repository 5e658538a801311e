"""Dead letters, replays, schemas, filters and figures through commands, against a whole server."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
import trio

from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.cli.programs import environment, running
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.terminal import Terminal, open_terminal

NO_RETRIES: dict[str, Any] = {"retrySchedule": []}


@pytest.fixture
async def shell(house: ServiceHouse, tenant: Tenant) -> Terminal:
    return await open_terminal(house, tenant)


async def dead(
    house: ServiceHouse, api: Caller, receiver: Receiver, count: int
) -> tuple[str, list[str]]:
    """Create a destination with `count` dead deliveries. When this function returns, the receiver accepts
    requests again.

    Returns the destination, and the ids of the deliveries, newest first.
    """
    target = await destination(api, receiver.url(), delivery=NO_RETRIES)
    receiver.answer = lambda _: 500
    for _ in range(count):
        await post(api, "order.created")
    page = await house.until(api, "/dlq", lambda page: len(page["items"]) == count)
    receiver.answer = lambda _: 204
    return target, [entry["id"] for entry in page["items"]]


async def test_dead_letters_are_looked_at_and_retried(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    target, ids = await dead(house, api, receiver, 4)
    listed = (await shell.ok("dlq", "list", "--error-category", "http_5xx", "--from", "1h")).lines
    assert [entry["deliveryId"] for entry in listed] == ids
    assert (await shell.ok("dlq", "get", ids[0])).one["lastError"]
    table = await shell.ok("dlq", "list", "--limit", "1", "-o", "table")
    assert ids[0] in table.out
    counted = (await shell.ok("dlq", "retry", "--destination", target, "--dry-run")).one
    assert (counted["matched"], counted["retried"]) == (4, 0)
    unasked = await shell("dlq", "retry", "--destination", target)
    assert (unasked.code, unasked.out) == (2, "")
    one = (await shell.ok("dlq", "retry", ids[0], "--yes")).one
    assert one["retried"] == 1
    assert (await house.settled(api, ids[0]))["dlqStatus"] == "RETRIED_FROM_DLQ"
    assert (await shell("dlq", "get", ids[0])).code == 4
    rest = (await shell.ok("dlq", "retry", "--destination", target, "--yes")).one
    assert rest["retried"] == 3
    nothing = (await shell.ok("dlq", "retry", "--destination", target)).one
    assert nothing["retried"] == 0, "where there is nothing, nobody is asked"


async def test_dead_letters_are_discarded(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    _, ids = await dead(house, api, receiver, 2)
    gone = (await shell.ok("dlq", "discard", "--event-type", "order.created", "--yes")).one
    assert gone["discarded"] == 2
    assert (await shell.ok("dlq", "list")).out == ""
    listed = (await shell.ok("deliveries", "list", "--dlq-status", "discarded")).lines
    assert [entry["id"] for entry in listed] == sorted(ids, reverse=True)


async def test_all_that_waits_is_cancelled_after_a_question(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    await api("POST", f"/destinations/{target}/disable", {})
    for _ in range(3):
        await post(api, "order.created")
    chosen = ("--destination", target, "--type", "order.*")
    dry = (await shell.ok("deliveries", "cancel-all", *chosen, "--dry-run")).one
    assert (dry["kind"], dry["total"], dry["enqueued"]) == ("CANCEL", 3, 0)
    assert (await shell("deliveries", "cancel-all", *chosen)).code == 2, "nobody is there to ask"
    done = await shell.ok("deliveries", "cancel-all", *chosen, "--limit", "2", "--yes", "--wait")
    assert (done.one["status"], done.one["enqueued"]) == ("COMPLETED", 2)
    left = (await shell.ok("deliveries", "list", "--status", "pending")).lines
    assert len(left) == 1
    made = (await shell.ok("deliveries", "retry-all", *chosen, "--status", "pending", "--yes")).one
    assert (made["kind"], made["statuses"]) == ("RETRY", ["PENDING"])
    await shell.ok("replay", "cancel", made["id"])


async def delivered(
    house: ServiceHouse, api: Caller, receiver: Receiver, count: int, **delivery: Any
) -> str:
    target = await destination(api, receiver.url(), delivery=delivery)
    for _ in range(count):
        event = await post(api, "order.created")
    await house.until(
        api,
        f"/events/{event}/deliveries",
        lambda page: page["items"][0]["status"] == "DELIVERED",
    )
    return target


async def test_a_replay_is_waited_for(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 3)
    dry = await shell.ok("replay", "start", "--destination", target, "--dry-run", "--wait")
    assert (dry.one["status"], dry.one["total"], dry.one["enqueued"]) == ("COMPLETED", 3, 0)
    done = await shell.ok("replay", "start", "--destination", target, "--from", "1h", "--wait")
    assert (done.one["status"], done.one["delivered"]) == ("COMPLETED", 3)
    assert done.err.splitlines()[-1].startswith("COMPLETED 3/3")
    job = done.one["id"]
    assert (await shell.ok("replay", "progress", job)).one["percent"] == 100
    shown = (await shell.ok("replay", "get", job)).one
    assert shown["destinationId"] == target
    listed = (await shell.ok("replay", "list", "--status", "completed")).lines
    assert [entry["id"] for entry in listed] == [job, dry.one["id"]]
    assert (await shell("replay", "cancel", job)).code == 1
    assert (await shell("replay", "rate", job, "5")).code == 1
    assert (await shell("replay", "rate", job)).code == 2
    empty = await shell("replay", "start")
    assert empty.code == 1
    assert "destinationId" in empty.err


async def test_a_wait_that_is_interrupted_leaves_the_job_which_can_be_cancelled(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver, tmp_path: Path
) -> None:
    target = await delivered(house, api, receiver, 3)
    await api("POST", f"/destinations/{target}/disable")  # pauses the job
    env = environment("", tmp_path, ANGARIUM_URL=shell.url, ANGARIUM_KEY=shell.secret)
    words = ("replay", "start", "--destination", target, "--wait")
    async with running(*words, env=env) as program:
        await program.wait_for("PAUSED")
        program.process.send_signal(signal.SIGINT)
        with trio.fail_after(HANGS_S):
            assert await program.process.wait() == 130
        job = program.printed.partition("replay cancel ")[2].split()[0]
        assert "Traceback" not in program.printed
    assert (await shell.ok("replay", "rate", job, "2.5")).one["ratePerSecond"] == 2.5
    assert (await shell.ok("replay", "rate", job, "--no-limit")).one["ratePerSecond"] is None
    ended = (await shell.ok("replay", "cancel", job)).one
    assert ended["status"] == "CANCELLED"
    waited = await shell("replay", "progress", job, "--wait")
    assert (waited.code, waited.one["status"]) == (1, "CANCELLED")


async def test_schemas_by_commands(shell: Terminal, api: Caller, tmp_path: Path) -> None:
    kind = "invoice.created"
    assert (await shell("schemas", "active", kind)).code == 4
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object", "required": ["total"]}')
    first = (await shell.ok("schemas", "create", kind, f"@{file}")).one
    assert (first["version"], first["status"]) == (1, "DRAFT")
    second = (
        await shell.ok(
            *("schemas", "create", kind, f"@{file}", "--description", "d"),
            *("--example", '{"total": 1}', "--activate"),
        )
    ).one
    assert (second["version"], second["status"]) == (2, "ACTIVE")
    refused = await shell("events", "send", kind, "--data", "{}")
    assert refused.code == 1
    assert "schema_violation" in refused.err
    await shell.ok("events", "send", kind, "--data", '{"total": 2}')
    assert (await shell.ok("schemas", "activate", first["id"])).one["status"] == "ACTIVE"
    assert (await shell("schemas", "activate", first["id"])).code == 1
    versions = (await shell.ok("schemas", "versions", kind)).lines
    assert [(each["version"], each["status"]) for each in versions] == [
        (2, "DEPRECATED"),
        (1, "ACTIVE"),
    ]
    assert (await shell.ok("schemas", "active", kind)).one["id"] == first["id"]
    assert (await shell.ok("schemas", "get", second["id"])).one["example"] == {"total": 1}
    listed = (await shell.ok("schemas", "list", "--type", kind, "--status", "active")).one
    assert listed["id"] == first["id"]
    assert (await shell.ok("schemas", "deprecate", first["id"])).one["status"] == "DEPRECATED"
    inferred = (await shell.ok("schemas", "infer", kind, "--sample", "10", "--create")).one
    assert inferred["created"]["version"] == 3


async def test_transforms_by_commands(
    shell: Terminal, api: Caller, receiver: Receiver, tmp_path: Path
) -> None:
    target = await destination(api, receiver.url())
    file = tmp_path / "as text.js"
    file.write_text("function transform(event) { console.log(1); return {n: event.data.n + 1}; }\n")
    first = (await shell.ok("transforms", "create", target, str(file))).one
    assert (first["name"], first["version"], first["status"]) == ("as text", 1, "DRAFT")
    found = (await shell.ok("transforms", "run", first["id"], '{"data": {"n": 1}}')).one
    assert (found["output"], found["logs"]) == ({"n": 2}, "1")
    assert (await shell("transforms", "run", first["id"], '{"data": null}')).code == 1
    event = await post(api, payload={"n": 5})
    found = (await shell.ok("transforms", "run", first["id"], "--event", event)).one
    assert found["output"] == {"n": 6}
    assert (await shell.ok("transforms", "publish", first["id"])).one["status"] == "PUBLISHED"
    more = ("--name", "second", "--publish")
    second = (await shell.ok("transforms", "create", target, str(file), *more)).one
    assert (second["name"], second["version"], second["status"]) == ("second", 2, "PUBLISHED")
    listed = (await shell.ok("transforms", "list", target)).lines
    assert [(each["version"], each["status"]) for each in listed] == [
        (2, "PUBLISHED"),
        (1, "SUPERSEDED"),
    ]
    assert (await shell.ok("transforms", "get", first["id"], "--source")).out == file.read_text()
    assert (await shell.ok("transforms", "get", first["id"])).one["version"] == 1
    assert (await shell("transforms", "delete", second["id"])).code == 1
    assert (await shell.ok("transforms", "unpublish", second["id"])).one["status"] == "SUPERSEDED"
    assert (await shell.ok("transforms", "delete", second["id"])).one == {"success": True}
    assert (await shell("transforms", "create", target, "no such file.js")).code == 2


async def test_a_filter_is_made_previewed_and_removed(
    shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["none.*"])
    made = (
        await shell.ok(
            *("rules", "create", "Large", target, "invoice.*"),
            *("--filter", "event.payload.total > 100"),
        )
    ).one
    event = '{"eventType": "invoice.created", "payload": {"total": %d}}'
    large = (await shell.ok("rules", "preview", event % 250)).one
    assert [reached["destinationId"] for reached in large["destinations"]] == [target]
    small = (await shell.ok("rules", "preview", event % 50, "-o", "table")).out
    assert "FILTER_FALSE" in small
    trial = json.dumps({"eventTypes": ["invoice.*"], "destinationId": target})
    tried = (await shell.ok("rules", "preview", event % 50, "--rule", trial)).one
    assert len(tried["destinations"]) == 1
    bad = await shell("rules", "update", made["id"], "--filter", "nothing.known")
    assert bad.code == 1
    assert "filter" in bad.err
    assert (await shell.ok("rules", "update", made["id"], "--no-filter")).one["filter"] is None


async def test_figures_and_changes_by_commands(
    house: ServiceHouse, shell: Terminal, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 2)
    found = (await shell.ok("destinations", "analytics", target, "--period", "1h")).one
    assert found["totals"]["delivered"] == 2
    table = (await shell.ok("destinations", "analytics", target, "-o", "table")).out
    assert table.startswith("AT ")
    assert "totals.delivered" in table
    rates = (await shell.ok("throughput")).one
    assert rates["environment"] == "DEVELOPMENT"
    assert (await shell.ok("throughput", "-o", "table")).out.startswith("AT ")
    changes = (await shell.ok("audit", "list", "--object", target)).lines
    assert changes[-1]["action"] == "destination.create"
    assert (await shell.ok("audit", "get", changes[0]["id"])).one["id"] == changes[0]["id"]
    assert (await shell.ok("audit", "list", "--action", "nothing.at_all")).out == ""


async def test_an_embed_session_is_made_and_sees_its_customer(
    house: ServiceHouse, shell: Terminal
) -> None:
    made = (await shell.ok("embed", "session", "acme", "--ttl", "60")).one
    embedded = Terminal(house, made["token"])
    context = (await embedded.ok("auth", "context")).one
    assert (context["kind"], context["customerExternalId"]) == ("EMBED_SESSION", "acme")
    assert (await embedded("audit", "list")).code == 5
    assert (await shell("embed", "session", "acme", "--ttl", "5")).code == 2
    drawn = (await embedded.ok("embed", "context")).one
    assert (drawn["customerExternalId"], drawn["permissions"]["replay"]) == ("acme", True)
    assert (await shell("embed", "context")).code == 5, "the route is for embed sessions alone"


async def test_the_workspace_is_shown_and_set(shell: Terminal) -> None:
    assert (await shell.ok("workspace", "show")).one["allowedOrigins"] == []
    words = ("--brand", "Acme", "--color", "primary=#0B5FFF", "--locale", "de", "--deny", "replay")
    origins = ("--origin", "https://a.example", "--origin", "http://localhost:3000")
    logo = ("--logo-url", "https://acme.example.com/logo.svg")
    changed = (await shell.ok("workspace", "set", *words, *origins, *logo)).one
    assert changed["branding"]["name"] == "Acme"
    assert changed["branding"]["colors"]["primary"] == "#0b5fff"
    assert changed["allowedOrigins"] == ["https://a.example", "http://localhost:3000"]
    assert changed["customerMay"]["replay"] is False
    data = ("--data", '{"branding": {"name": null, "locale": "fr"}}', "--locale", "en")
    changed = (await shell.ok("workspace", "set", *data, "--no-origins", "--allow", "replay")).one
    assert (changed["branding"]["name"], changed["branding"]["locale"]) == (None, "en")
    assert (changed["allowedOrigins"], changed["customerMay"]["replay"]) == ([], True)
    assert (await shell.ok("workspace", "show")).one == changed
    unknown = await shell("workspace", "set", "--deny", "everything")
    assert (unknown.code, "customerMay.everything" in unknown.err) == (1, True)
    for wrong in (
        (),
        ("--origin", "https://a.example", "--no-origins"),
        ("--allow", "replay", "--deny", "replay"),
        ("--color", "red"),
    ):
        assert (await shell("workspace", "set", *wrong)).code == 2, wrong


async def test_a_customers_quotas_are_set_and_shown(shell: Terminal) -> None:
    await shell.ok("embed", "session", "ada")
    words = (
        "customers",
        "set",
        "ada",
        "--name",
        "Ada Ltd.",
        "--destinations",
        "3",
        "--requests",
        "60",
    )
    changed = (await shell.ok(*words)).one
    assert changed["quotas"] == {
        "destinations": 3,
        "rules": None,
        "transforms": None,
        "requestsPerMinute": 60,
    }
    assert (await shell.ok("customers", "get", "ada")).one == changed
    assert (await shell("customers", "get", "nobody")).code == 4
    assert (await shell("customers", "set", "ada", "--rules", "-1")).code == 2
