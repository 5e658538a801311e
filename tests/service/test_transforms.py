"""Transform scripts end to end: versions, effects on deliveries, plans, and what the API shows."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from engine.control.audit import Auditor, Principal
from engine.control.transforms import SOURCE_BYTES
from engine.core.destination import Transform
from engine.core.vocabulary import DestinationStatus, Environment, Scope
from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, open_service, post
from tests.service.receiver import Receiver

RETRY: dict[str, Any] = {"retrySchedule": [1] * 20}
ONCE: dict[str, Any] = {"retrySchedule": []}


def script_of(body: str) -> str:
    return f"function transform(event) {{ {body} }}"


async def made(api: Caller, target: str, body: str = "return event;", name: str = "s") -> Any:
    source = script_of(body)
    document = {"destinationId": target, "name": name, "source": source}
    answer = await api("POST", "/transform-scripts", document)
    assert answer.status == 201, answer.body
    return answer.json


async def published(api: Caller, target: str, body: str = "return event;") -> str:
    script = await made(api, target, body)
    answer = await api("POST", f"/transform-scripts/{script['id']}/publish", {})
    assert answer.status == 200, answer.body
    return str(script["id"])


async def delivery_of(house: ServiceHouse, api: Caller, event: str) -> Any:
    found = await house.until(api, f"/events/{event}/deliveries", lambda page: page["items"])
    return await house.settled(api, found["items"][0]["id"])


# --- versions


async def test_versions_are_made_published_rolled_back_and_removed(
    api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    first = await made(api, target, "return {v: 1};", "one")
    assert (first["version"], first["status"], first["publishedAt"]) == (1, "DRAFT", None)
    assert (first["destinationId"], first["name"]) == (target, "one")
    assert first["source"] == script_of("return {v: 1};")
    path = f"/transform-scripts/{first['id']}"
    assert (await api("GET", path)).json == first
    assert (await api("POST", f"{path}/unpublish", {})).code == "conflict"
    live = (await api("POST", f"{path}/publish", {})).json
    assert live["status"] == "PUBLISHED"
    assert live["publishedAt"] >= live["createdAt"]
    assert (await api("GET", f"/destinations/{target}")).json["transformVersion"] == 1
    assert (await api("POST", f"{path}/publish")).json == live
    assert (await api("DELETE", path)).code == "conflict"
    second = await published(api, target)
    found = (await api("GET", f"/destinations/{target}/transform-scripts")).json["items"]
    assert [(each["version"], each["status"]) for each in found] == [
        (2, "PUBLISHED"),
        (1, "SUPERSEDED"),
    ]
    back = (await api("POST", f"{path}/publish")).json
    assert (back["status"], back["publishedAt"] >= live["publishedAt"]) == ("PUBLISHED", True)
    assert (await api("GET", f"/transform-scripts/{second}")).json["status"] == "SUPERSEDED"
    assert (await api("DELETE", f"/transform-scripts/{second}", {})).json == {"success": True}
    assert (await api("DELETE", f"/transform-scripts/{second}")).status == 404
    ended = await api("POST", f"{path}/unpublish")
    assert (ended.status, ended.json["status"]) == (200, "SUPERSEDED")
    assert (await made(api, target))["version"] == 3  # no number is used twice
    entries = (await api("GET", f"/audit-logs?objectId={first['id']}")).json["items"]
    assert [entry["action"].partition(".")[2] for entry in entries] == [
        "unpublish",
        "publish",
        "publish",
        "create",
    ]
    assert entries[1]["changes"]["live"] == {"from": second, "to": first["id"]}
    assert "function" not in str(entries)  # only the versions contain the sources


async def test_a_list_is_paged_and_bounded_in_bytes(api: Caller, receiver: Receiver) -> None:
    target = await destination(api, receiver.url())
    long = "/* " + "x" * (SOURCE_BYTES - 100) + " */ return event;"
    scripts = [(await made(api, target, long))["id"] for _ in range(3)]
    path = f"/destinations/{target}/transform-scripts"
    first = (await api("GET", f"{path}?limit=2")).json
    rest = (await api("GET", f"{path}?limit=2&cursor={first['nextCursor']}")).json
    assert [each["id"] for each in first["items"] + rest["items"]] == scripts[::-1]
    assert rest["nextCursor"] is None
    assert (await api("GET", f"{path}?limit=1001")).paths == ["limit"]
    assert (await api("GET", f"{path}?cursor=x")).paths == ["cursor"]


async def test_what_cannot_be_a_script_is_refused(
    api: Caller, neighbour: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    draft = {"destinationId": target, "name": "s", "source": script_of("return event;")}

    async def refused(by: Caller = api, **changes: Any) -> Any:
        answer = await by("POST", "/transform-scripts", draft | changes)
        return answer.status, answer.code, answer.paths

    assert await refused(name="") == (400, "invalid_request", ["name"])
    assert await refused(version=2) == (400, "invalid_request", ["version"])
    assert await refused(source="function transform(") == (400, "invalid_request", ["source"])
    broken = await api("POST", "/transform-scripts", draft | {"source": "\n\nlet 1 = 2;"})
    assert (broken.status, "3" in broken.json["message"]) == (400, True)  # the error names the line
    missing = await refused(source="const x = 1;")
    assert missing == (400, "invalid_request", ["source"])
    assert (await refused(source="é" * (SOURCE_BYTES // 2 + 1)))[:2] == (413, "payload_too_large")
    assert (await refused(by=neighbour))[:2] == (404, "not_found")
    body = '"' + "\\u0020" * (SOURCE_BYTES - len(draft["source"])) + draft["source"] + '"'
    escaped = f'{{"destinationId": "{target}", "name": "s", "source": {body}}}'.encode()
    full = await api("POST", "/transform-scripts", body=escaped)
    assert (full.status, len(full.json["source"])) == (201, SOURCE_BYTES)
    for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/publish"), ("POST", "/unpublish")):
        path = f"/transform-scripts/{full.json['id']}{rest}"
        assert (await neighbour(method, path)).status == 404
    assert (await neighbour("GET", f"/destinations/{target}/transform-scripts")).status == 404


async def test_versions_have_no_gaps_and_one_is_live_however_many_are_at_it(
    house: ServiceHouse, tenant: Tenant, receiver: Receiver
) -> None:
    callers = [await house.caller(tenant) for _ in range(6)]
    target = await destination(callers[0], receiver.url())
    numbers: list[int] = []

    async def some(api: Caller) -> None:
        for _ in range(2):
            script = await made(api, target)
            numbers.append(script["version"])
            path = f"/transform-scripts/{script['id']}/publish"
            assert (await api("POST", path)).status == 200

    async with trio.open_nursery() as nursery:
        for api in callers:
            nursery.start_soon(some, api)
    assert sorted(numbers) == list(range(1, 13))
    path = f"/destinations/{target}/transform-scripts"
    found = (await callers[0]("GET", path)).json["items"]
    assert [each["status"] for each in found].count("PUBLISHED") == 1


# --- effects on deliveries


async def test_the_next_attempt_uses_what_was_published(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.hold = trio.Event()
    target = await destination(api, receiver.url())
    before = await post(api)
    await receiver.reaches(1)
    await published(api, target, "return {n: 1};")
    event = await post(api)
    await receiver.reaches(2)
    await published(api, target, "return {n: 2};")
    last = await post(api)
    await receiver.reaches(3)
    receiver.hold.set()
    assert [each.json.get("n") for each in receiver.received] == [None, 1, 2]
    for identifier, version in ((before, None), (event, 1), (last, 2)):
        detail = await delivery_of(house, api, identifier)
        assert detail["status"] == "DELIVERED"
        assert [each["transformVersion"] for each in detail["attempts"]] == [version]
    patched = await api("PATCH", f"/destinations/{target}", {"name": "another"})
    assert patched.status == 200
    await post(api)
    assert (await receiver.reaches(4))[3].json == {"n": 2}  # a PATCH does not change the script


async def test_body_type_and_headers_are_what_the_script_makes_and_are_shown(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), headers={"X-Own": "own", "X-Kept": "kept"})
    await published(
        api,
        target,
        "console.log('hello', event.data.n); return {$body: {total: event.data.n * 2, at: Date.now()},"
        " $type: 'other.type', $headers: {'x-own': 'theirs', 'X-Api-Token': 'secret-of-mine'}};",
    )
    event = await post(api, payload={"n": 21}, occurredAt="2026-01-02T03:04:05.678Z")
    (request,) = await receiver.reaches(1)
    assert request.json == {"total": 42, "at": 1767323045678}
    assert request.headers["x-own"] == "theirs"
    assert request.headers["x-kept"] == "kept"
    assert request.headers["x-api-token"] == "secret-of-mine"
    detail = await delivery_of(house, api, event)
    (attempt,) = detail["attempts"]
    assert (attempt["transformVersion"], attempt["logs"]) == (1, "hello 21")
    shown = detail["request"]
    assert (shown["body"].encode(), shown["note"]) == (request.body, None)
    assert shown["headers"]["content-length"] == str(len(request.body))
    assert shown["headers"]["x-own"] == "theirs"
    assert shown["headers"]["X-Kept"] == "kept"
    masked = {name.lower(): value for name, value in shown["headers"].items()}
    assert masked["x-api-token"] == "***"
    assert "X-Own" not in shown["headers"]


async def test_null_skips_the_delivery(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    script = await published(api, target, "console.log('no'); return event.data.go ? event : null;")
    skipped = await post(api, payload={"go": False})
    detail = await delivery_of(house, api, skipped)
    assert (detail["status"], detail["skipped"], detail["attemptCount"]) == ("DELIVERED", True, 1)
    assert detail["responseStatus"] is None
    (attempt,) = detail["attempts"]
    assert (attempt["success"], attempt["transformVersion"], attempt["logs"]) == (True, 1, "no")
    assert detail["request"] is None
    sent = await post(api, payload={"go": True})
    other = await delivery_of(house, api, sent)
    assert (other["skipped"], other["status"]) == (False, "DELIVERED")
    assert [each.event for each in receiver.received] == [sent]
    items = (await api("GET", f"/destinations/{target}/deliveries")).json["items"]
    assert [item["skipped"] for item in items] == [False, True]
    await api("POST", f"/transform-scripts/{script}/unpublish")
    await post(api, payload={"go": False})
    await receiver.reaches(2)


async def test_a_failing_script_is_retried_on_schedule_until_another_is_published(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), delivery=RETRY)
    first = await published(
        api, target, "console.log('before'); throw new Error('no ' + event.data.what);"
    )
    event = await post(api, payload={"what": "such thing"})
    found = await house.until(api, f"/events/{event}/deliveries", lambda page: page["items"])
    path = f"/deliveries/{found['items'][0]['id']}"
    waiting = await house.until(api, path, lambda detail: detail["status"] == "RETRYING")
    assert waiting["errorCategory"] == "TRANSFORM"
    attempt = waiting["attempts"][0]
    assert "no such thing" in attempt["errorMessage"]
    assert (attempt["transformVersion"], attempt["logs"]) == (1, "before")
    assert (attempt["responseStatus"], waiting["request"]) == (None, None)
    health = (await api("GET", f"/destinations/{target}/health")).json
    assert "no such thing" in health["lastError"]
    # A script's error says nothing about the receiver.
    assert health["circuit"]["state"] == "CLOSED"
    await published(api, target, "return {mended: true};")
    detail = await house.settled(api, waiting["id"])
    assert (detail["status"], receiver.received[0].json) == ("DELIVERED", {"mended": True})
    assert detail["attempts"][-1]["transformVersion"] == 2
    await api("DELETE", f"/transform-scripts/{first}")
    assert (await api("GET", path)).json["attempts"][0]["transformVersion"] == 1


async def test_a_script_that_always_fails_ends_in_the_dead_letter_queue(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), delivery=ONCE)
    await published(api, target, "return event.no.such;")
    detail = await delivery_of(house, api, await post(api))
    assert (detail["status"], detail["dlqStatus"]) == ("FAILED", "IN_DLQ")
    (dead,) = (await api("GET", "/dlq?errorCategory=TRANSFORM")).json["items"]
    assert dead["deliveryId"] == detail["id"]
    await published(api, target, "return {v: 2};")
    assert (await api("POST", f"/dlq/{detail['id']}/retry", {})).status == 200
    await receiver.reaches(1)
    assert receiver.received[0].json == {"v": 2}  # a requeue uses the script that is published then


@pytest.mark.parametrize("ordering", ["STRICT", "KEY"])
async def test_a_failing_head_keeps_its_lane_waiting_and_a_skipped_one_does_not(
    house: ServiceHouse, api: Caller, receiver: Receiver, ordering: str
) -> None:
    target = await destination(api, receiver.url(), delivery={**RETRY, "ordering": ordering})
    body = (
        "if (event.data.n === 1) throw new Error('head'); return event.data.n === 2 ? null : event;"
    )
    await published(api, target, body)
    mine = {"correlationId": "lane"}
    events = [await post(api, payload={"n": n}, **mine) for n in range(5)]
    other = await post(api, payload={"n": 9}, correlationId="another")
    heads = {events[0]} if ordering == "STRICT" else {events[0], other}  # the other lane continues
    await receiver.reaches(len(heads))
    await house.until(
        api,
        f"/destinations/{target}/health",
        lambda health: "head" in (health["lastError"] or ""),
    )
    assert sorted(each.event for each in receiver.received) == sorted(heads)
    await published(api, target, "return event.data.n === 2 ? null : event;")
    received = await receiver.reaches(5)
    order = [each.event for each in received if each.event != other]
    assert order == [events[0], events[1], events[3], events[4]]


async def test_a_test_a_dry_run_and_a_replay(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    await published(api, target, "console.log('in'); return {was: event.type};")
    told = (await api("POST", f"/destinations/{target}/test", {})).json
    assert (told["success"], receiver.received[0].json) == (True, {"was": "angarium.test"})
    detail = (await api("GET", f"/deliveries/{told['deliveryId']}")).json
    assert (detail["originKind"], detail["skipped"]) == ("INSPECTION", False)
    assert detail["attempts"][0]["logs"] == "in"
    assert detail["attempts"][0]["transformVersion"] == 1
    assert detail["request"]["body"].encode() == receiver.received[0].body

    await published(api, target, "return null;")
    told = (await api("POST", f"/destinations/{target}/test", {})).json
    assert (told["success"], told["skipped"], told["responseStatus"]) == (True, True, None)
    detail = (await api("GET", f"/deliveries/{told['deliveryId']}")).json
    assert (detail["status"], detail["skipped"], detail["request"]) == ("DELIVERED", True, None)

    await published(api, target, "throw new Error('never');")
    told = (await api("POST", f"/destinations/{target}/test", {})).json
    assert (told["success"], told["errorCategory"]) == (False, "TRANSFORM")
    await api("PATCH", f"/destinations/{target}", {"delivery": {"dryRun": True}})
    dry = await delivery_of(house, api, await post(api))
    assert (dry["status"], dry["attempts"]) == ("DRY_RUN", [])  # no script ran

    await api("PATCH", f"/destinations/{target}", {"delivery": {"dryRun": False}})
    await published(api, target, "return {now: 1};")
    event = await post(api, payload={})
    await receiver.reaches(2)
    await published(api, target, "return {now: 2};")
    delivery = await delivery_of(house, api, event)
    job = {"deliveryIds": [delivery["id"]]}
    assert (await api("POST", "/replay-jobs", job)).status == 201
    await receiver.reaches(3)
    assert [each.json for each in receiver.received[1:]] == [{"now": 1}, {"now": 2}]


async def test_a_body_whose_script_is_gone_is_not_shown(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    first = await published(api, target, "return {v: 1};")
    event = await post(api)
    detail = await delivery_of(house, api, event)
    assert detail["request"]["body"] == '{"v":1}'
    await published(api, target, "return {v: 2};")
    assert (await delivery_of(house, api, event))["request"]["body"] == '{"v":1}'
    await api("DELETE", f"/transform-scripts/{first}")
    request = (await delivery_of(house, api, event))["request"]
    assert (request["body"], "content-length" in request["headers"]) == (None, False)
    assert "removed" in request["note"]


async def test_a_script_outlives_the_server(bridge: Bridge, receiver: Receiver) -> None:
    async with open_service(bridge) as house:
        tenant = await house.tenant("acme")
        api = await house.caller(tenant)
        target = await destination(api, receiver.url())
        await published(api, target, "return {still: 'here'};")
    async with open_service(bridge) as house:
        api = await house.caller(tenant)
        await post(api)
        await receiver.reaches(1)
        assert receiver.received[0].json == {"still": "here"}


# --- trial runs


async def test_a_run_shows_before_after_logs_and_time(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    script = await made(
        api,
        target,
        "console.log(event.data); if (event.data.n < 0) throw new Error('negative');"
        " if (!event.data.n) return null;"
        " return {$body: {n: event.data.n + 1}, $headers: {'x-a': 'b'}, $type: 't'};",
    )
    path = f"/transform-scripts/{script['id']}/run"
    body = {"type": "a.b", "data": {"n": 1}}
    found = (await api("POST", path, {"event": body})).json
    assert found.pop("durationMs") >= 0
    logs = found.pop("logs")
    assert "1" in logs
    assert found == {
        "success": True,
        "input": body,
        "output": {"n": 2},
        "skipped": False,
        "type": "t",
        "headers": {"x-a": "b"},
        "errorCategory": None,
        "errorMessage": None,
    }
    skipped = (await api("POST", path, {"event": {"data": {"n": 0}}})).json
    assert (skipped["success"], skipped["skipped"], skipped["output"]) == (True, True, None)
    failed = (await api("POST", path, {"event": {"data": {"n": -1}}})).json
    assert (failed["success"], failed["errorCategory"]) == (False, "TRANSFORM")
    assert "negative" in failed["errorMessage"]
    assert failed["logs"] is not None
    event = await post(api, payload={"n": 5})
    own = (await api("POST", path, {"eventId": event})).json
    assert (own["input"]["id"], own["output"]) == (event, {"n": 6})
    wrongs: list[Any] = [{}, {"event": body, "eventId": event}, {"event": []}]
    for wrong in wrongs:
        assert (await api("POST", path, wrong)).status == 400
    assert (await api("POST", path, {"eventId": script["id"]})).status == 404
    large = {"event": {"data": {"n": 1, "x": "y" * 300_000}}}
    assert (await api("POST", path, large)).status == 200
    assert (await api("GET", f"/transform-scripts/{script['id']}")).json == script
    assert len((await api("GET", f"/audit-logs?objectId={script['id']}")).json["items"]) == 1
    reader = await house.caller(await house.keys.workspace("acme"), Scope.READ)
    assert (await reader("GET", f"/transform-scripts/{script['id']}")).status == 200
    assert (await reader("POST", path, {"event": body})).status == 403


async def test_a_preview_runs_a_source_that_is_not_stored(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    event = await post(api, payload={"n": 5})
    path = "/transform-scripts/preview"

    async def preview(source: str, **given: Any) -> Any:
        return await api("POST", path, {"destinationId": target, "source": source, **given})

    found = (await preview(script_of("return {n: event.data.n + 1};"), eventId=event)).json
    assert (found["success"], found["input"]["id"], found["output"]) == (True, event, {"n": 6})
    found = (await preview(script_of("return event.data;"), event={"data": 1})).json
    assert found["output"] == 1
    found = (await preview("function transform(", event={})).json
    assert (found["success"], found["errorCategory"]) == (False, "TRANSFORM")
    assert found["errorMessage"]
    assert (await preview(script_of("return 1;"))).status == 400  # neither event nor eventId
    assert (await preview("x" * (SOURCE_BYTES + 1), event={})).status == 413
    assert (await preview("x", eventId=target)).status == 404
    listed = (await api("GET", f"/destinations/{target}/transform-scripts")).json
    audit = (await api("GET", "/audit-logs?action=transform_script.create")).json
    assert (listed["items"], audit["items"]) == ([], [])
    assert (await api("DELETE", f"/destinations/{target}")).status == 200
    assert (await preview("x", event={})).status == 409


async def test_a_run_gives_what_a_delivery_gives(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    script = await published(api, target, "return {r: Math.random(), t: Date.now(), e: event};")
    event = await post(api, payload={"n": 1.0})
    (request,) = await receiver.reaches(1)
    path = f"/transform-scripts/{script}/run"
    by_id = (await api("POST", path, {"eventId": event})).json
    assert by_id["output"] == request.json
    by_body = (await api("POST", path, {"event": by_id["input"]})).json
    assert by_body["output"] == request.json


# --- plans, and archived destinations

SMALL = "[plans.free]\ntransforms = 0\n[plans.pro]\ntransforms = 3\n"


@pytest.fixture
def plans_file(tmp_path: Path) -> Path:
    path = tmp_path / "plans.toml"
    path.write_text(SMALL)
    return path


async def test_many_at_once_do_not_pass_the_plan_and_what_goes_makes_room(
    bridge: Bridge, plans_file: Path, receiver: Receiver
) -> None:
    async with open_service(bridge, plans_file=plans_file) as house:
        tenant = await house.tenant("small", "pro")
        callers = [await house.caller(tenant) for _ in range(5)]
        api = callers[0]
        targets = [await destination(api, receiver.url()) for _ in range(2)]
        scripts: list[str] = []
        statuses: list[int] = []

        async def some(by: Caller, target: str) -> None:
            for _ in range(2):
                body = {"destinationId": target, "name": "s", "source": script_of("return 1;")}
                answer = await by("POST", "/transform-scripts", body)
                statuses.append(answer.status)
                if answer.status == 201:
                    scripts.append(answer.json["id"])

        async with trio.open_nursery() as nursery:
            for index, by in enumerate(callers):
                nursery.start_soon(some, by, targets[index % 2])
        assert sorted(statuses) == [201] * 3 + [402] * 7
        body = {"destinationId": targets[0], "name": "s", "source": script_of("return 1;")}
        refused = await api("POST", "/transform-scripts", body)
        assert (refused.code, "3 transform scripts" in refused.json["message"]) == (
            "plan_limit",
            True,
        )
        assert (await api("DELETE", f"/transform-scripts/{scripts[0]}")).status == 200
        again = await api("POST", "/transform-scripts", body)
        assert again.status == 201
        assert (await api("POST", "/transform-scripts", body)).status == 402
        # The scripts of an archived destination do not count toward the plan's limit. They are read-only.
        path = f"/destinations/{targets[0]}/transform-scripts"
        number = len((await api("GET", path)).json["items"])
        live = f"/transform-scripts/{again.json['id']}"
        assert (await api("POST", f"{live}/publish")).status == 200
        for _ in range(2):
            assert (await api("DELETE", f"/destinations/{targets[0]}")).status == 200
        assert (await api("GET", live)).json["status"] == "PUBLISHED"
        for method, rest in (("POST", "/publish"), ("POST", "/unpublish"), ("DELETE", "")):
            assert (await api(method, live + rest)).code == "conflict"
        assert (await api("POST", "/transform-scripts", body)).code == "conflict"
        body["destinationId"] = targets[1]
        made_room = [(await api("POST", "/transform-scripts", body)).status for _ in range(number)]
        assert made_room == [201] * number
        assert (await api("POST", "/transform-scripts", body)).status == 402


async def test_a_smaller_plan_keeps_what_is_live_and_takes_nothing_more(
    bridge: Bridge, plans_file: Path, receiver: Receiver
) -> None:
    async with open_service(bridge, plans_file=plans_file) as house:
        tenant = await house.tenant("small", "pro")
        api = await house.caller(tenant)
        target = await destination(api, receiver.url())
        first = await published(api, target, "return {kept: 'private'};")
        second = (await made(api, target))["id"]
        await house.keys.set_plan("small", "free")
        body = {"destinationId": target, "name": "s", "source": script_of("return 1;")}
        for path, document in (
            ("/transform-scripts", body),
            (
                "/transform-scripts/preview",
                {"destinationId": target, "source": "x", "event": {}},
            ),
            (f"/transform-scripts/{second}/publish", {}),
            (f"/transform-scripts/{first}/publish", {}),
        ):
            refused = await api("POST", path, document)
            assert (refused.status, refused.code) == (402, "plan_limit")
        await post(api)
        await receiver.reaches(1)
        # The script can be what hides data from the customer.
        assert receiver.received[0].json == {"kept": "private"}
        run: Any = {"event": {"data": {}}}
        assert (await api("POST", f"/transform-scripts/{first}/run", run)).status == 200
        assert (await api("POST", f"/transform-scripts/{first}/unpublish")).status == 200
        for script in (first, second):
            assert (await api("DELETE", f"/transform-scripts/{script}")).status == 200


async def test_a_customer_has_the_scripts_of_its_own_destinations(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    token = (await api("POST", "/embed/sessions", {"customerExternalId": "ada"})).json["token"]
    ada = house.caller_with(token)
    others = await destination(api, receiver.url())
    theirs = await made(api, others)
    own = (await ada("POST", "/destinations", {"name": "d", "url": receiver.url()})).json["id"]
    script = await made(ada, own)
    assert (await ada("POST", f"/transform-scripts/{script['id']}/publish")).status == 200
    draft = {"destinationId": others, "name": "s", "source": script_of("return 1;")}
    assert (await ada("POST", "/transform-scripts", draft)).status == 404
    trial: dict[str, Any] = {"destinationId": others, "source": "x", "event": {}}
    assert (await ada("POST", "/transform-scripts/preview", trial)).status == 404
    assert (await ada("GET", f"/destinations/{others}/transform-scripts")).status == 404
    for method, rest in (("GET", ""), ("POST", "/publish"), ("DELETE", "")):
        assert (await ada(method, f"/transform-scripts/{theirs['id']}{rest}")).status == 404
    path = f"/transform-scripts/{script['id']}/run"
    event = await post(api, customerExternalId="ada")
    assert (await ada("POST", path, {"eventId": event})).status == 200
    hidden = await post(api)  # an event without a customer
    assert (await ada("POST", path, {"eventId": hidden})).status == 404
    trial = {"destinationId": own, "source": script_of("return 1;"), "eventId": event}
    assert (await ada("POST", "/transform-scripts/preview", trial)).status == 200
    hides = await ada("POST", "/transform-scripts/preview", {**trial, "eventId": hidden})
    assert hides.status == 404
    (entry,) = (await api("GET", "/audit-logs?action=transform_script.publish")).json["items"]
    assert entry["actorType"] == "EMBED_SESSION"


async def test_processes_that_publish_remove_and_archive_at_once_keep_the_numbers_true(
    house: ServiceHouse, tenant: Tenant, api: Caller, receiver: Receiver
) -> None:
    """The test writes at once from several tasks, as several processes would. It writes directly to
    `tables`, because the queue of commands would let the tasks write one after another."""
    tables, pool = house.server.tables, house.server.bridge.pool
    auditor, workspace = Auditor(house.server.identity), tenant.workspace.id
    number = house.server.models.environment_of(workspace, Environment.DEVELOPMENT)
    assert number is not None
    principal = Principal(kind="CLI", id="x", workspace=workspace, environment=number.number)

    async def one_round(index: int) -> None:
        target = await destination(api, receiver.url(), ["never"])
        scripts = [(await made(api, target))["id"] for _ in range(3)]
        present = await tables.destinations.get(number.number, target)
        assert present is not None
        found = await tables.transforms.get(number.number, scripts[0])
        assert found is not None
        done: dict[str, bool] = {}

        async def publish() -> None:
            live = Transform(found.id, found.version, found.source)
            following = msgspec.structs.replace(present, version=2, transform=live)
            entry = auditor.entry(principal, "transform_script.publish", found.id)
            done["publish"] = await tables.destinations.publish(following, entry, 1)

        async def remove() -> None:
            entry = auditor.entry(principal, "transform_script.delete", found.id)
            done["remove"] = await tables.transforms.remove(found, entry)

        async def archive() -> None:
            ended = msgspec.structs.replace(present, version=2, status=DestinationStatus.ARCHIVED)
            entry = auditor.entry(principal, "destination.archive", target)
            done["archive"] = await tables.destinations.replace(ended, entry)

        async def create() -> None:
            another = msgspec.structs.replace(found, id=house.server.identity.other())
            entry = auditor.entry(principal, "transform_script.create", another.id)
            done["create"] = await tables.transforms.create(another, workspace, 1_000, entry)

        async with trio.open_nursery() as nursery:
            for write in (publish, remove, create, *((archive,) if index % 2 else ())):
                nursery.start_soon(write)
        now = await tables.destinations.get(number.number, target)
        assert now is not None
        if now.transform is not None:  # the live version still exists
            assert await tables.transforms.get(number.number, now.transform.id) is not None
        assert not (done["publish"] and done["remove"])
        assert done["publish"] + done.get("archive", False) <= 1
        assert done["create"] or now.status is DestinationStatus.ARCHIVED

    for index in range(12):
        await one_round(index)
    counted = await pool.fetch_value(
        """
        SELECT count(*) FROM transform_scripts s JOIN destinations d
        ON d.environment = s.environment AND d.id = s.destination WHERE d.status <> 3
        """
    )
    assert await tables.transforms.used(workspace) == counted
