"""The commands over HTTP, against a whole server: what they print, and their exit codes."""

import json
import re
import stat
from pathlib import Path

import pytest

from api.cli.remote.trigger import MOST_REASONS
from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.terminal import Terminal, open_terminal

NOWHERE = "0197a000-0000-7000-8000-000000000000"


@pytest.fixture
async def shell(house: ServiceHouse, tenant: Tenant) -> Terminal:
    return await open_terminal(house, tenant)


async def test_the_context_says_who_the_key_is(shell: Terminal) -> None:
    context = (await shell.ok("auth", "context")).one
    assert (context["workspaceName"], context["scope"]) == ("acme", "manage")
    table = await shell.ok("auth", "context", "--output", "table")
    assert re.search(r"^workspaceName +acme$", table.out, re.MULTILINE)
    whole = await shell.ok("auth", "context", "-o", "json")
    assert json.loads(whole.out) == context
    assert whole.out.startswith("{\n")


async def test_a_destination_lives_by_commands(
    shell: Terminal, receiver: Receiver, tmp_path: Path
) -> None:
    secret = tmp_path / "hook.secret"
    made = (
        await shell.ok(
            *("destinations", "create", "Orders", receiver.url(), "--ordering", "key"),
            *("--header", "X-Tenant=42", "--header", "X-Token=abc=", "--retry-schedule", "1,5"),
            *("--concurrency", "3", "--rate-limit", "2.5", "--secret-file", str(secret)),
            *("--data", '{"description": "all", "delivery": {"timeoutMs": 500, "concurrency": 9}}'),
        )
    ).one
    assert "secret" not in made
    assert secret.read_text().startswith("whsec_")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert made["description"] == "all"
    assert made["headers"] == {"X-Tenant": "42", "X-Token": "***"}
    delivery = made["delivery"]
    assert (delivery["ordering"], delivery["concurrency"]) == ("KEY", 3)
    assert (delivery["timeoutMs"], delivery["retrySchedule"]) == (500, [1, 5])
    identifier = made["id"]
    changed = (
        await shell.ok(
            *("destinations", "update", identifier, "--name", "New", "--remove-header", "X-Tenant"),
            *("--no-rate-limit", "--retry-schedule", "", "--rotate-secret"),
            *("--concurrency", "auto"),
        )
    ).one
    assert changed["secret"].startswith("whsec_")
    assert changed["delivery"]["concurrency"] == "auto"
    assert (changed["name"], changed["headers"]) == ("New", {"X-Token": "***"})
    assert changed["delivery"]["rateLimitPerSecond"] is None
    assert changed["delivery"]["retrySchedule"] == []
    assert (await shell.ok("destinations", "disable", identifier)).one["status"] == "DISABLED"
    assert (await shell.ok("destinations", "enable", identifier)).one["status"] == "ACTIVE"
    assert (await shell.ok("destinations", "get", identifier)).one["name"] == "New"
    assert (await shell.ok("destinations", "health", identifier)).one["state"] == "IDLE"
    assert (await shell.ok("destinations", "test", identifier)).one["success"] is True
    receiver.answer = lambda _: 500
    failed = await shell("destinations", "test", identifier)
    assert (failed.code, failed.one["errorCategory"]) == (1, "HTTP_5XX")
    listed = await shell.ok("destinations", "list", "-o", "table")
    titles, only = [line.split() for line in listed.out.splitlines()]
    assert titles[:4] == ["STATE", "HOLD", "PENDING", "RATE/S"]
    assert identifier in only
    asked = await shell("destinations", "delete", identifier)
    assert (asked.code, asked.out) == (2, "")
    assert "--yes" in asked.err
    assert (await shell.ok("destinations", "delete", identifier, "--yes")).one == {"success": True}
    assert (await shell.ok("destinations", "list")).out == ""
    assert (await shell.ok("destinations", "list", "--status", "archived")).one["id"] == identifier


async def test_a_rule_lives_by_commands(shell: Terminal, api: Caller, receiver: Receiver) -> None:
    target = await destination(api, receiver.url())
    first = (await shell.ok("rules", "list")).one
    made = (
        await shell.ok(
            *("rules", "create", "Orders", target, "order.*", "invoice.paid"),
            *("--priority", "high", "--disabled"),
        )
    ).one
    assert made["eventTypes"] == ["order.*", "invoice.paid"]
    assert (made["priority"], made["enabled"]) == ("HIGH", False)
    assert (await shell.ok("rules", "list", "--disabled")).one["id"] == made["id"]
    listed = (await shell.ok("rules", "list", "--destination", target)).lines
    assert [rule["id"] for rule in listed] == [made["id"], first["id"]]
    assert (await shell.ok("rules", "enable", made["id"])).one["enabled"] is True
    assert (await shell.ok("rules", "disable", made["id"])).one["enabled"] is False
    changed = (await shell.ok("rules", "update", made["id"], "--type", "a.b", "--name", "x")).one
    assert (changed["eventTypes"], changed["name"]) == (["a.b"], "x")
    assert (await shell.ok("rules", "get", made["id"])).one == changed
    assert (await shell.ok("rules", "delete", made["id"])).one == {"success": True}
    assert (await shell("rules", "get", made["id"])).code == 4


async def test_an_event_is_sent_byte_for_byte_and_looked_up(
    shell: Terminal, api: Caller, receiver: Receiver, tmp_path: Path
) -> None:
    await destination(api, receiver.url())
    payload = '{"n": 1.10, "big": 123456789012345678901234567890, "n": 2}'
    file = tmp_path / "payload.json"
    file.write_text(payload + "\n")
    ways: list[tuple[tuple[str, ...], str | None]] = [
        (("--data", payload), None),
        (("--data", f"@{file}"), None),
        (("--data", "-"), payload),
    ]
    for number, (words, typed) in enumerate(ways, 1):
        sent = (
            await shell.ok(
                *("events", "send", "order.created", "--customer", "acme", "--source", "shop"),
                *("--metadata", '{"a": 1}', "--occurred-at", "2026-01-02T03:04:05Z", *words),
                typed=typed,
            )
        ).one
        assert (sent["deliveries"], sent["duplicate"]) == (1, False)
        requests = await receiver.reaches(number)
        assert f'"data":{payload}'.encode() in requests[-1].body
        assert requests[-1].json["timestamp"] == "2026-01-02T03:04:05.000Z"
    shown = (await shell.ok("events", "get", sent["id"])).one
    assert (shown["source"], shown["metadata"]) == ("shop", {"a": 1})
    listed = (await shell.ok("events", "list", "--type", "order.created", "--from", "1h")).lines
    assert listed[0]["id"] == sent["id"]
    assert len(listed) == 3
    assert (await shell.ok("events", "list", "--to", "1h")).out == ""
    deliveries = (await shell.ok("events", "deliveries", sent["id"])).one
    assert (await shell.ok("deliveries", "get", deliveries["id"])).one["eventId"] == sent["id"]
    empty = (await shell.ok("events", "send", "order.empty")).one
    assert (await shell.ok("events", "get", empty["id"])).one["payload"] == {}


async def test_the_same_idempotency_key_is_the_same_event(shell: Terminal) -> None:
    words = ("events", "send", "a.b", "--idempotency-key", "k")
    first = (await shell.ok(*words)).one
    second = (await shell.ok(*words)).one
    assert (second["id"], second["duplicate"]) == (first["id"], True)
    other = await shell(*words, "--data", '{"n": 1}')
    assert other.code == 1
    assert "idempotency_mismatch" in other.err


async def test_a_stream_of_events_is_sent_in_batches_and_bad_lines_are_named(
    shell: Terminal, tmp_path: Path
) -> None:
    good = [json.dumps({"eventType": "a.b", "payload": {"n": n}}) for n in range(2_100)]
    done = (await shell.ok("events", "send", "--batch", "-", typed="\n".join(good))).one
    assert done == {"accepted": 2_100, "duplicates": 0, "rejected": 0}
    keyed = '{"eventType": "a.b", "payload": {}, "idempotencyKey": "k"}'
    file = tmp_path / "events.ndjson"
    file.write_text(f'{keyed}\n\n{keyed}\n{{"eventType": "a b", "payload": {{}}}}\nnonsense\n[]\n')
    mixed = await shell("events", "send", "--batch", str(file))
    assert (mixed.code, mixed.one) == (1, {"accepted": 1, "duplicates": 1, "rejected": 3})
    assert [line.split(":")[0] for line in mixed.err.splitlines()] == ["line 5", "line 6", "line 4"]
    none = await shell("events", "send", "--batch", "-", typed='{"eventType": "a", "x": 1}')
    assert (none.code, none.one["rejected"]) == (1, 1)
    assert none.err.startswith("line 1: ")


async def test_lists_are_paged_as_asked(shell: Terminal, api: Caller) -> None:
    ids = [await post(api, "a.b") for _ in range(25)][::-1]

    async def listed(*words: str) -> list[str]:
        return [event["id"] for event in (await shell.ok("events", "list", *words)).lines]

    assert await listed() == ids[:20]
    assert await listed("--limit", "3") == ids[:3]
    assert await listed("--all") == ids
    assert await listed("--limit", "1000") == ids
    page = json.loads((await shell.ok("events", "list", "--limit", "7", "-o", "json")).out)
    assert [event["id"] for event in page["items"]] == ids[:7]
    assert await listed("--cursor", page["nextCursor"], "--all") == ids[7:]
    table = await shell.ok("events", "list", "--limit", "2", "-o", "table")
    assert len(table.out.splitlines()) == 3
    assert "--cursor" in table.err
    nothing = await shell.ok("events", "list", "--type", "none", "-o", "table")
    assert (nothing.out, nothing.err) == ("", "nothing found\n")


REFUSALS: list[tuple[tuple[str, ...], int, str]] = [
    (("destinations", "get", NOWHERE), 4, "not_found"),
    (("deliveries", "get", "a/../b"), 4, "not_found"),
    (("deliveries", "list", "--event", "x"), 1, "eventId"),
    (("deliveries", "list", "--cursor", "x"), 1, "cursor"),
    (("deliveries", "list", "--status", "x"), 2, "--status"),
    (("deliveries", "list", "--from", "2026-01-01"), 2, "7d"),
    (("destinations", "create", "n", "ftp://a"), 1, "url"),
    (("destinations", "create", "n", "http://a", "--header", "x"), 2, "NAME=VALUE"),
    (("destinations", "create", "n", "http://a", "--data", "[]"), 2, "JSON object"),
    (("destinations", "create", "n", "http://a", "--data", "@none"), 2, "none"),
    (("destinations", "create", "n", "http://a", "--retry-schedule", "a"), 2, "5,300"),
    (("destinations", "update", NOWHERE), 2, "nothing to change"),
    (("events", "send"), 2, "EVENT_TYPE"),
    (("events", "send", "a", "--batch", "-"), 2, "--batch"),
    (("events", "send", "a", "--data", "{"), 2, "not JSON"),
    (("events", "send", "a b"), 1, "eventType"),
    (("dlq", "retry"), 2, "filter"),
    (("auth", "context", "--url", "http://127.0.0.1:1", "--timeout", "1"), 3, "reached"),
    (("auth", "context", "--url", "nowhere"), 2, "http://"),
    (("auth", "context", "--environment", "STAGING"), 5, "forbidden"),
    (("auth", "context", "--key", "ang_dev_wrong"), 5, "unauthorized"),
    (("auth", "context", "--key", "a b"), 2, "key"),
    (("auth", "context", "--key-file", "/none"), 2, "cannot be read"),
]


async def test_what_goes_wrong_is_one_line_with_an_exit_code(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("angarium.retry.RetryPolicy.delay_s", lambda *_a, **_k: None)
    for words, code, told in REFUSALS:
        done = await shell(*words)
        assert (done.code, done.out) == (code, ""), (words, done)
        assert told in done.err, words
        if code != 2:
            assert done.err.count("\n") == 1, words
            assert done.err.startswith("Error: "), words
        if code in (1, 4, 5):
            assert "; request " in done.err, words


async def test_a_key_comes_from_a_file_a_variable_or_nowhere(
    shell: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "key"
    file.write_text(shell.secret + "\n")
    alone = {"ANGARIUM_KEY": None}
    await shell.ok("auth", "context", "--key-file", str(file), **alone)
    await shell.ok("auth", "context", ANGARIUM_KEY_FILE=str(file), ANGARIUM_KEY=None)
    await shell.ok("auth", "context", "--key-file", str(file), ANGARIUM_KEY="ang_dev_other")
    none = await shell("auth", "context", ANGARIUM_KEY=None)
    assert (none.code, none.out) == (2, "")
    assert "ANGARIUM_KEY" in none.err


async def test_an_mcp_key_names_its_environment(house: ServiceHouse, tenant: Tenant) -> None:
    shell = await open_terminal(house, tenant, Scope.READ, None)
    unnamed = await shell("destinations", "list")
    assert unnamed.code == 1
    assert "environment" in unnamed.err
    await shell.ok("destinations", "list", "--environment", "staging")
    await shell.ok("destinations", "list", ANGARIUM_ENVIRONMENT="PRODUCTION")
    refused = await shell("events", "send", "a.b", "--environment", "STAGING")
    assert refused.code == 5


async def test_destinations_and_rules_go_by_name_where_an_id_is_asked(
    shell: Terminal, receiver: Receiver
) -> None:
    made = (await shell.ok("destinations", "create", "Orders", receiver.url())).one
    rule = (await shell.ok("rules", "create", "all", "Orders", "order.*")).one
    assert rule["destinationId"] == made["id"]
    assert (await shell.ok("destinations", "get", "Orders")).one["id"] == made["id"]
    assert (await shell.ok("rules", "get", "all")).one["id"] == rule["id"]
    assert (await shell.ok("rules", "list", "--destination", "Orders")).one["id"] == rule["id"]
    both = ("--status", "failed", "--status", "delivered", "--destination", "Orders")
    assert (await shell.ok("deliveries", "list", *both)).lines == []
    missed = await shell("destinations", "get", "Order")
    assert missed.code == 4
    assert "did you mean 'Orders'?" in missed.err
    await shell.ok("destinations", "create", "Orders", receiver.url())
    several = await shell("destinations", "get", "Orders")
    assert several.code == 1
    assert made["id"] in several.err


async def test_trigger_sends_an_example_of_the_active_schema(
    shell: Terminal, receiver: Receiver
) -> None:
    nothing = await shell.ok("trigger", "order.created")
    assert "no rule matched" in nothing.err
    schema = '{"type": "object", "required": ["order"]}'
    made = (
        await shell.ok(
            *("schemas", "create", "order.created", schema, "--example", '{"order": 42}')
        )
    ).one
    await shell.ok("schemas", "activate", made["id"])
    sent = (await shell.ok("trigger", "order.created")).one
    event = (await shell.ok("events", "get", sent["id"])).one
    assert (event["payload"], event["source"]) == ({"order": 42}, "angarium trigger")


async def test_trigger_names_the_rules_whose_filters_failed(
    shell: Terminal, receiver: Receiver
) -> None:
    await shell.ok("destinations", "create", "Orders", receiver.url())
    await shell.ok(
        "rules", "create", "large", "Orders", "order.*", "--filter", "event.payload.total > 100"
    )
    await shell.ok("rules", "create", "other", "Orders", "order.*", "--filter", "false")
    ended = await shell.ok("trigger", "order.created", "--data", "{}")
    assert ended.one["deliveries"] == 0
    assert ended.err == "no match: the filter of rule 'large' failed: no such key: total\n"
    small = await shell.ok("trigger", "order.created", "--data", '{"total": 1}')
    assert "no rule matched" in small.err
    for number in range(MOST_REASONS):
        pattern = ("Orders", "order.*", "--filter", f"event.payload.total > {number}")
        await shell.ok("rules", "create", f"r{number}", *pattern)
    lines = (await shell.ok("trigger", "order.created", "--data", "{}")).err.splitlines()
    assert len(lines) == MOST_REASONS + 1
    assert lines[-1].startswith("1 more: ")


async def test_trigger_with_a_key_for_ingestion_says_that_no_rule_matched(
    house: ServiceHouse, tenant: Tenant
) -> None:
    shell = await open_terminal(house, tenant, Scope.INGEST)
    assert "no rule matched" in (await shell.ok("trigger", "order.created")).err
