"""Replay jobs on a whole server: what they send, to which destinations, and what they report."""

import json
from typing import Any

import trio

from engine.core.vocabulary import Environment, Scope
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, destination, open_service, post
from tests.service.receiver import Receiver
from tests.service.test_orders import waiting

SETTLED = ("DELIVERED", "FAILED", "DRY_RUN")
FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


async def start(api: Caller, **fields: Any) -> str:
    made = await api("POST", "/replay-jobs", fields)
    assert made.status == 201, made.body
    return str(made.json["id"])


async def ended(house: ServiceHouse, api: Caller, job: str) -> Any:
    return await house.until(api, f"/replay-jobs/{job}", lambda found: found["status"] in FINISHED)


async def all_settled(house: ServiceHouse, api: Caller, count: int) -> list[str]:
    """Wait until `count` deliveries are delivered or dead. Return their ids, oldest first."""
    page = await house.until(
        api,
        "/deliveries?limit=100&originKind=NORMAL",
        lambda found: sum(each["status"] in SETTLED for each in found["items"]) == count,
    )
    return [each["id"] for each in reversed(page["items"])]


async def delivered(
    house: ServiceHouse, api: Caller, receiver: Receiver, count: int, **more: Any
) -> str:
    target = await destination(api, receiver.url(), **more)
    for n in range(count):
        await post(api, payload={"n": n})
    await all_settled(house, api, count)
    return target


async def test_a_replay_sends_the_same_events_again_and_says_so(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url())
    events = [await post(api, payload={"n": n}) for n in range(5)]
    first = list(await receiver.reaches(5))
    await all_settled(house, api, 5)
    job = await ended(house, api, await start(api, destinationId=target))
    again = (await receiver.reaches(10))[5:]
    assert sorted(each.event for each in again) == sorted(events)
    assert sorted(each.body for each in again) == sorted(each.body for each in first)
    assert job["status"] == "COMPLETED"
    assert (job["total"], job["enqueued"], job["delivered"], job["failed"]) == (5, 5, 5, 0)
    replays = await api("GET", "/deliveries?isReplay=true&limit=100")
    originals = await api("GET", "/deliveries?isReplay=false&limit=100")
    assert len(replays.json["items"]) == len(originals.json["items"]) == 5
    shown = await api("GET", f"/deliveries/{replays.json['items'][0]['id']}")
    assert shown.json["replayJobId"] == job["id"]
    assert shown.json["replayOf"] == originals.json["items"][0]["id"]


async def test_a_dry_replay_shows_three_requests_and_sends_nothing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    headers = {"x-plain": "1", "authorization": "Bearer secret"}
    target = await delivered(house, api, receiver, 5, headers=headers)
    made = await start(api, destinationId=target, dryRun=True)
    job = await ended(house, api, made)
    assert (job["total"], len(job["samples"]), len(receiver.received)) == (5, 3, 5)
    sent = {each.event: json.loads(each.body) for each in receiver.received}
    for sample in job["samples"]:
        shown = sample["headers"]
        assert (shown["x-plain"], shown["authorization"]) == ("1", "***")
        assert json.loads(sample["body"])["data"] == sent[shown["webhook-id"]]["data"]
        assert sample["url"] == receiver.url()
    real = await ended(house, api, await start(api, destinationId=target))
    assert real["samples"] is None
    missing = await ended(
        house, api, await start(api, destinationId=target, mode="MISSING", dryRun=True)
    )
    assert (real["types"], missing["samples"], missing["types"]) == (None, [], [])
    new = await destination(api, receiver.url())
    missing = await ended(
        house, api, await start(api, destinationId=new, mode="MISSING", dryRun=True)
    )
    assert missing["types"] == [{"eventType": "e.one", "total": 5}]


async def test_a_strict_destination_gets_them_in_the_order_of_their_acceptance(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 20, delivery={"ordering": "STRICT"})
    await ended(house, api, await start(api, destinationId=target))
    again = (await receiver.reaches(40))[20:]
    assert [each.json["data"]["n"] for each in again] == list(range(20))


async def test_a_dry_run_counts_exactly_and_sends_nothing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500 if request.json["data"]["n"] == 1 else 204
    target = await delivered(house, api, receiver, 3, delivery={"retrySchedule": []})
    for fields, total in (
        ({}, 3),
        ({"statuses": ["FAILED"]}, 1),
        ({"statuses": ["DELIVERED"]}, 2),
        ({"eventTypes": ["other.*"]}, 0),
        ({"eventTypes": ["e.*", "f"]}, 3),
        ({"to": "2020-01-01T00:00:00Z"}, 0),
    ):
        made = await api(
            "POST", "/replay-jobs", {"destinationId": target, "dryRun": True, **fields}
        )
        assert (made.json["status"], made.json["total"]) == ("COMPLETED", total), fields
        assert made.json["enqueued"] == 0
        assert [each["total"] for each in made.json["destinations"]] == [total][: total > 0]
        types = [{"eventType": "e.one", "total": total}]
        assert made.json["types"] == types[: total > 0]
        progress = await api("GET", f"/replay-jobs/{made.json['id']}/progress")
        assert (progress.json["percent"], progress.json["total"]) == (100, total)
    assert len(receiver.received) == 3


async def test_a_dry_run_by_the_dearest_patterns_counts_like_any_other(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    """The job must not give the database all patterns as one expression. With these patterns, the
    database would need half a minute, and the statement would time out."""
    target = await destination(api, receiver.url())
    deep = ".".join(["a"] * 127)
    types = [deep, deep[:-1] + "b", "order.created", *(f"t{n}.x" for n in range(20))]
    for each in types:
        await post(api, each)
    await all_settled(house, api, len(types))
    dearest = [
        ".".join("*" if n >> bit & 1 else "a" for bit in range(7)) + ".*" * 119 + f".{end}"
        for n in range(49)
        for end in ("a", "c")
    ]
    selection = {"destinationId": target, "eventTypes": [*dearest, "t1.*", "*.created"]}
    job = await ended(house, api, await start(api, **selection, dryRun=True))
    assert (job["status"], job["total"], job["error"]) == ("COMPLETED", 3, None)
    named = ("order.created", deep, "t1.x")
    assert job["types"] == [{"eventType": each, "total": 1} for each in sorted(named)]
    every = await ended(house, api, await start(api, destinationId=target, dryRun=True))
    shown = [each["eventType"] for each in every["types"]]
    assert (every["total"], shown) == (len(types), sorted(types)[:20])
    job = await ended(house, api, await start(api, **selection))
    assert (job["status"], job["delivered"]) == ("COMPLETED", 3)
    again = await receiver.reaches(len(types) + 3)
    assert {each.json["type"] for each in again[len(types) :]} == {deep, "t1.x", "order.created"}


async def test_what_dies_again_is_counted_as_failed(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 4, delivery={"retrySchedule": []})
    receiver.answer = lambda request: 500 if request.json["data"]["n"] < 3 else 204
    identifier = await start(api, **{"from": "2020-01-01T00:00:00Z"})
    job = await ended(house, api, identifier)
    assert (job["status"], job["delivered"], job["failed"]) == ("COMPLETED", 1, 3)
    assert job["destinations"] == [
        {"destinationId": target, "total": 4, "enqueued": 4, "skipped": 0}
    ]
    progress = (await api("GET", f"/replay-jobs/{identifier}/progress")).json
    assert (progress["remaining"], progress["percent"], progress["etaSeconds"]) == (0, 100, 0)
    dead = await api("GET", "/deliveries?isReplay=true&dlqStatus=IN_DLQ")
    assert len(dead.json["items"]) == 3
    await ended(house, api, await start(api, destinationId=target))
    (group,) = (await api("GET", f"/dlq/groups?replayJobId={identifier}")).json["items"]
    assert (group["count"], group["errorCategory"], group["atLeast"]) == (3, "HTTP_5XX", False)
    listed = (await api("GET", f"/dlq?replayJobId={identifier}")).json["items"]
    assert {each["id"] for each in listed} == {each["id"] for each in dead.json["items"]}
    discarded = await api("POST", "/dlq/discard", {"replayJobId": identifier})
    assert discarded.json["discarded"] == 3
    assert (await api("GET", f"/dlq/groups?replayJobId={identifier}")).json["items"] == []
    assert len((await api("GET", f"/dlq?destinationId={target}")).json["items"]) == 3


async def test_a_replay_is_replayed_only_by_its_name(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 2)
    await ended(house, api, await start(api, destinationId=target))
    again = await ended(house, api, await start(api, destinationId=target))
    assert again["total"] == 2
    (replay, *_) = (await api("GET", "/deliveries?isReplay=true")).json["items"]
    named = await ended(house, api, await start(api, deliveryIds=[replay["id"]]))
    assert (named["total"], named["delivered"]) == (1, 1)
    (newest, *_) = (await api("GET", "/deliveries?isReplay=true")).json["items"]
    shown = (await api("GET", f"/deliveries/{newest['id']}")).json
    assert (shown["replayOf"], shown["replayJobId"]) == (replay["id"], named["id"])


# --- pausing, cancelling, restarting


async def test_a_job_is_paused_while_its_destination_is_disabled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 3)
    await api("POST", f"/destinations/{target}/disable", {})
    job = await start(api, destinationId=target)
    await house.until(api, f"/replay-jobs/{job}", lambda found: found["status"] == "PAUSED")
    assert len(receiver.received) == 3
    await api("POST", f"/destinations/{target}/enable", {})
    assert (await ended(house, api, job))["delivered"] == 3


async def test_a_disabled_destination_does_not_hold_up_the_others(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    held = await destination(api, receiver.url("/held"))
    await destination(api, receiver.url("/open"))
    await post(api)
    await all_settled(house, api, 2)
    await api("POST", f"/destinations/{held}/disable", {})
    job = await start(api, **{"from": "2020-01-01T00:00:00Z"})
    await receiver.reaches(2, "/open")
    shown = await house.until(api, f"/replay-jobs/{job}", lambda found: found["enqueued"] == 1)
    assert (shown["status"], shown["total"]) == ("RUNNING", 2)
    await api("DELETE", f"/destinations/{held}", {})
    shown = await ended(house, api, job)
    assert (shown["status"], shown["delivered"], shown["skipped"]) == ("COMPLETED", 1, 1)


async def test_a_cancelled_job_withdraws_what_nobody_attempted(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 4)
    receiver.hold = trio.Event()
    change = {"delivery": {"concurrency": 1, "retrySchedule": []}}
    assert (await api("PATCH", f"/destinations/{target}", change)).status == 200
    job = await start(api, destinationId=target)
    await receiver.reaches(5)
    await house.until(api, f"/replay-jobs/{job}", lambda each: each["enqueued"] == 4)
    assert (await api("POST", f"/replay-jobs/{job}/cancel", {})).status == 200
    page = await house.until(
        api,
        "/deliveries?isReplay=true",
        lambda page: sum(item["dlqStatus"] == "DISCARDED" for item in page["items"]) == 3,
    )
    receiver.hold.set()
    (first,) = [item["id"] for item in page["items"] if item["dlqStatus"] is None]
    assert (await house.settled(api, first))["status"] == "DELIVERED"
    assert len(receiver.received) == 5


async def test_what_still_waits_is_not_replayed_by_its_id(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (waits,) = await waiting(house, api, receiver)
    refused = await api("POST", "/replay-jobs", {"deliveryIds": [waits]})
    assert (refused.status, refused.code) == (409, "conflict")
    assert f"POST /deliveries/{waits}/retry" in refused.json["message"]


async def test_a_cancelled_job_enqueues_nothing_more_and_is_cancelled_once(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 3)
    await api("POST", f"/destinations/{target}/disable", {})
    job = await start(api, destinationId=target)
    cancelled = await api("POST", f"/replay-jobs/{job}/cancel", {})
    assert (cancelled.status, cancelled.json["status"]) == (200, "CANCELLED")
    assert cancelled.json["finishedAt"] is not None
    again = await api("POST", f"/replay-jobs/{job}/cancel", {})
    assert (again.status, again.code) == (400, "invalid_request")
    await api("POST", f"/destinations/{target}/enable", {})
    await ended(house, api, await start(api, destinationId=target, dryRun=True))
    assert (await api("GET", f"/replay-jobs/{job}")).json["enqueued"] == 0
    assert len(receiver.received) == 3


async def test_a_job_goes_on_where_it_was_when_the_server_comes_back(
    bridge: Bridge, receiver: Receiver
) -> None:
    async with open_service(bridge) as house:
        tenant = await house.tenant("acme")
        key = (await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "k")).secret
        api = house.caller_with(key)
        target = await delivered(house, api, receiver, 12, delivery={"ordering": "STRICT"})
        receiver.hold = trio.Event()
        job = await start(api, destinationId=target)
        await receiver.reaches(13)
        receiver.hold.set()
        receiver.hold = None
    async with open_service(bridge) as house:
        found = await ended(house, house.caller_with(key), job)
    assert (found["status"], found["enqueued"], found["delivered"]) == ("COMPLETED", 12, 12)
    order = [each.json["data"]["n"] for each in receiver.received[12:]]
    assert sorted(set(order)) == list(range(12))


async def test_one_customers_failures_hold_up_no_other_and_it_gets_all_in_order_when_it_recovers(
    bridge: Bridge, receiver: Receiver
) -> None:
    broken: set[str] = set()
    delivery = {"ordering": "KEY", "retrySchedule": [1] * 20}
    async with open_service(bridge) as house:
        tenant = await house.tenant("acme")
        key = (await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "k")).secret
        api = house.caller_with(key)
        target = await destination(api, receiver.url(), delivery=delivery)
        for n in range(100):  # a lane takes at most 64
            customer = "a" if n < 75 else f"b{n % 5}"
            await post(api, customerExternalId=customer, payload={"n": n, "of": customer})
        await all_settled(house, api, 100)
        broken.add("a")
        receiver.answer = lambda request: 500 if request.json["data"]["of"] in broken else 204
        job = await start(api, destinationId=target)
        shown = await house.until(
            api, f"/replay-jobs/{job}", lambda found: found["delivered"] == 25
        )
        assert (shown["status"], shown["total"]) == ("RUNNING", 100)
        assert 25 < shown["enqueued"] <= 25 + 65
        progress = (await api("GET", f"/replay-jobs/{job}/progress")).json
        assert (progress["remaining"], progress["percent"]) == (75, 25)
    before = len(receiver.received)
    async with open_service(bridge) as house:
        api = house.caller_with(key)
        # The lane's head is tried again, and no other delivery of the lane.
        await receiver.reaches(before + 1)
        broken.clear()
        found = await ended(house, api, job)
    assert (found["status"], found["total"]) == ("COMPLETED", 100)
    assert (found["enqueued"], found["delivered"], found["failed"]) == (100, 100, 0)
    again = [each.json["data"] for each in receiver.received[100:]]
    rest = [each["n"] for each in again if each["of"] == "a"]
    assert rest == [0] * (len(rest) - 75) + list(range(75))
    for lane in range(5):
        others = [each["n"] for each in again if each["of"] == f"b{lane}"]
        assert others == [n for n in range(75, 100) if n % 5 == lane]


async def test_a_rate_spreads_a_job_over_time(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 10)
    began = trio.current_time()
    job = await ended(house, api, await start(api, destinationId=target, ratePerSecond=20))
    took = trio.current_time() - began
    assert (job["ratePerSecond"], job["delivered"]) == (20, 10)
    assert took > 0.35


async def test_the_rate_of_a_running_job_is_changed_and_audited(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 3)
    job = await start(api, destinationId=target, ratePerSecond=0.001)
    path = f"/replay-jobs/{job}"
    await house.until(api, path, lambda found: found["enqueued"] == 1)
    for wrong in (0, 1_000_001, "10", -1):
        refused = await api("PATCH", path, {"ratePerSecond": wrong})
        assert (refused.status, refused.json["details"][0]["path"]) == (400, "ratePerSecond")
    assert (await api("PATCH", path, {"dryRun": True})).json["details"][0]["path"] == "dryRun"
    same = await api("PATCH", path, {})
    assert (same.status, same.json["ratePerSecond"]) == (200, 0.001)
    slower = await api("PATCH", path, {"ratePerSecond": 0.002})
    assert (slower.status, slower.json["ratePerSecond"]) == (200, 0.002)
    free = await api("PATCH", path, {"ratePerSecond": None})
    assert (free.status, free.json["ratePerSecond"]) == (200, None)
    assert (await ended(house, api, job))["delivered"] == 3
    late = await api("PATCH", path, {"ratePerSecond": 5})
    assert (late.status, late.code) == (409, "conflict")
    entries = (await api("GET", f"/audit-logs?objectId={job}&action=replay_job.update")).json
    assert [each["changes"]["ratePerSecond"] for each in entries["items"]] == [
        {"from": 0.002, "to": None},
        {"from": 0.001, "to": 0.002},
    ]


async def test_a_job_that_gives_orders_has_no_rate(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, _ = await waiting(house, api, receiver)
    job = await api("POST", "/deliveries/cancel", {"destinationId": target, "dryRun": True})
    refused = await api("PATCH", f"/replay-jobs/{job.json['id']}", {"ratePerSecond": 5})
    assert (refused.status, refused.code) == (409, "conflict")
    assert "CANCEL" in refused.json["message"]


# --- beside live traffic


async def test_what_is_live_goes_while_replays_hold_all_slots_that_they_may(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 6, delivery={"concurrency": 3})
    receiver.hold = trio.Event()
    await start(api, destinationId=target)
    await receiver.reaches(8)
    live = await post(api, payload={"n": 100})
    received = await receiver.reaches(9)
    assert received[8].event == live
    receiver.hold.set()


# --- access and refusals


@each_case(
    "fields",
    [{}, {"eventTypes": ["*"]}, {"to": "2026-01-01T00:00:00Z"}, {"dryRun": True}],
)
async def test_a_selection_must_say_something(api: Caller, fields: dict[str, Any]) -> None:
    assert (await api("POST", "/replay-jobs", fields)).code == "invalid_request"


async def test_what_is_unknown_anothers_or_archived_is_refused(
    house: ServiceHouse, api: Caller, neighbour: Caller, receiver: Receiver
) -> None:
    target = await delivered(house, api, receiver, 1)
    (delivery,) = await all_settled(house, api, 1)
    tested = await api("POST", f"/destinations/{target}/test", {})
    unknown = target[:-4] + "0000"
    job = await start(api, destinationId=target)
    for caller, fields, status in (
        (api, {"destinationId": unknown}, 404),
        (api, {"customerAccountId": unknown}, 404),
        (api, {"deliveryIds": [delivery, unknown]}, 404),
        (api, {"deliveryIds": [tested.json["deliveryId"]]}, 400),
        (neighbour, {"destinationId": target}, 404),
        (neighbour, {"deliveryIds": [delivery]}, 404),
    ):
        answer = await caller("POST", "/replay-jobs", fields)
        assert answer.status == status, (fields, answer.body)
    for path in (f"/replay-jobs/{job}", f"/replay-jobs/{job}/progress"):
        assert (await neighbour("GET", path)).status == 404
    assert (await neighbour("POST", f"/replay-jobs/{job}/cancel", {})).status == 404
    assert (await neighbour("PATCH", f"/replay-jobs/{job}", {"ratePerSecond": 1})).status == 404
    assert (await neighbour("GET", "/replay-jobs")).json["items"] == []
    await api("DELETE", f"/destinations/{target}", {})
    for fields in ({"destinationId": target}, {"deliveryIds": [delivery]}):
        assert (await api("POST", "/replay-jobs", fields)).status == 409


async def test_an_embed_session_replays_what_is_its_customers(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    own = await destination(api, receiver.url("/own"), customerExternalId="c1")
    others = await destination(api, receiver.url("/others"), customerExternalId="c2")
    for customer in ("c1", "c2"):
        await post(api, customerExternalId=customer)
    await all_settled(house, api, 2)
    session = await api("POST", "/embed/sessions", {"customerExternalId": "c1"})
    embed = house.caller_with(session.json["token"])
    everything = {"from": "2020-01-01T00:00:00Z"}
    job = await ended(house, embed, await start(embed, **everything))
    assert (job["total"], job["customerAccountId"]) == (1, session.json["customerAccountId"])
    (named,) = (await api("GET", f"/destinations/{others}/deliveries")).json["items"]
    for fields in ({"destinationId": others}, {"deliveryIds": [named["id"]]}):
        assert (await embed("POST", "/replay-jobs", fields)).status == 404
    theirs = await start(api, destinationId=others)
    assert (await embed("GET", f"/replay-jobs/{theirs}")).status == 404
    assert (await embed("POST", f"/replay-jobs/{theirs}/cancel", {})).status == 404
    assert (await embed("PATCH", f"/replay-jobs/{theirs}", {"ratePerSecond": 1})).status == 404
    assert [each["id"] for each in (await embed("GET", "/replay-jobs")).json["items"]] == [
        job["id"]
    ]
    account = session.json["customerAccountId"]
    await start(api, customerAccountId=account, dryRun=True)
    listed = await api("GET", f"/replay-jobs?customerAccountId={account}&status=COMPLETED")
    assert len(listed.json["items"]) == 2
    await ended(house, api, await start(api, destinationId=own))
    assert len(receiver.of("/own")) == 3


async def test_a_job_is_in_the_audit_log_and_its_end_is_announced(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["e.*"])
    await destination(api, receiver.url("/ops"), ["angarium.replay.finished"])
    await post(api)
    await all_settled(house, api, 1)
    job = await ended(house, api, await start(api, destinationId=target))
    (told,) = await receiver.reaches(1, "/ops")
    assert told.json["data"]["replayJobId"] == job["id"]
    assert (told.json["data"]["status"], told.json["data"]["delivered"]) == ("COMPLETED", 1)
    entries = await api("GET", f"/audit-logs?objectId={job['id']}")
    assert [each["action"] for each in entries.json["items"]] == ["replay_job.create"]
