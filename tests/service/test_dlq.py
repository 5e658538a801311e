"""The dead-letter queue on a whole server: failed deliveries enter it, and retried ones are
sent again."""

from collections import Counter
from typing import Any

import pytest
import trio

from engine.control import dlq as commands
from engine.core.vocabulary import Scope
from storage.dead_letters import reading as dead_letters
from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

NO_RETRY: dict[str, Any] = {"delivery": {"retrySchedule": []}}
UNKNOWN = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"


async def dead(
    house: ServiceHouse, api: Caller, receiver: Receiver, count: int = 1, **options: Any
) -> tuple[str, list[str]]:
    """Let deliveries fail permanently. Return their destination, and their ids in order of acceptance."""
    receiver.answer = lambda _: 500
    target = await destination(api, receiver.url(), **{**NO_RETRY, **options})
    for number in range(count):
        await post(api, f"e.{number % 2}", customerExternalId="c1", payload={"n": number})
    page = await house.until(
        api, f"/dlq?destinationId={target}&limit=100", lambda page: len(page["items"]) == count
    )
    return target, sorted(item["id"] for item in page["items"])


async def test_what_died_is_listed_with_its_last_error(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, (identifier,) = await dead(house, api, receiver)
    listed = (await api("GET", "/dlq")).json["items"]
    shown = (await api("GET", f"/dlq/{identifier}")).json
    assert listed == [shown]
    assert (shown["deliveryId"], shown["destinationId"]) == (identifier, target)
    assert (shown["status"], shown["dlqStatus"], shown["attemptCount"]) == ("FAILED", "IN_DLQ", 1)
    assert shown["deadLetteredAt"] >= shown["createdAt"]
    assert shown["errorCategory"] == "HTTP_5XX"
    assert "500" in shown["lastError"]


async def test_a_retry_sends_that_same_delivery_again(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (identifier,) = await dead(house, api, receiver)
    receiver.answer = lambda _: 204
    answer = await api("POST", f"/dlq/{identifier}/retry", {})
    assert (answer.status, answer.json) == (200, {"id": identifier})
    first, second = await receiver.reaches(2)
    assert (first.event, first.body) == (second.event, second.body)
    assert second.headers["angarium-attempt"] == "2"
    detail = await house.settled(api, identifier)
    assert (detail["status"], detail["dlqStatus"]) == ("DELIVERED", "RETRIED_FROM_DLQ")
    assert [attempt["number"] for attempt in detail["attempts"]] == [1, 2]
    assert (await api("GET", "/dlq")).json == {"items": [], "nextCursor": None}
    gone = await api("GET", f"/dlq/{identifier}")
    assert (gone.status, gone.json) == (200, None)


async def test_dying_again_it_is_in_the_queue_again(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (identifier,) = await dead(house, api, receiver)
    for attempts in (2, 3):
        assert (await api("POST", f"/dlq/{identifier}/retry")).status == 200
        await house.until(
            api,
            f"/dlq/{identifier}",
            lambda entry, n=attempts: entry is not None and entry["attemptCount"] == n,
        )


async def test_of_many_retries_at_once_one_is_answered_with_200_and_one_request_goes_out(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (identifier,) = await dead(house, api, receiver)
    receiver.answer = lambda _: 204
    statuses: list[int] = []

    async def retry() -> None:
        caller = house.caller_with(api._headers["Authorization"].removeprefix("Bearer "))
        statuses.append((await caller("POST", f"/dlq/{identifier}/retry", {})).status)

    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(retry)
    assert Counter(statuses) == {200: 1, 404: 7}
    await house.settled(api, identifier)
    assert len(receiver.received) == 2


async def test_retries_the_moment_after_each_death_lose_and_double_nothing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (identifier,) = await dead(house, api, receiver)
    receiver.answer = lambda _: 500 if len(receiver.received) < 14 else 204
    retried = 1
    # Retry as soon as the database says that the delivery is dead. The delivery's actor may not know it
    # yet.
    while retried < 15:
        answer = await api("POST", f"/dlq/{identifier}/retry")
        retried += answer.status == 200
    detail = await house.settled(api, identifier)
    assert (detail["status"], detail["attemptCount"]) == ("DELIVERED", 15)
    assert [attempt["number"] for attempt in detail["attempts"]] == list(range(1, 16))
    assert len(receiver.received) == 15


@pytest.mark.parametrize(("path", "status"), [("not-an-id", 404), (UNKNOWN, 404)])
async def test_what_does_not_exist_is_a_404(api: Caller, path: str, status: int) -> None:
    assert (await api("GET", f"/dlq/{path}")).status == status
    assert (await api("POST", f"/dlq/{path}/retry")).status == status


async def test_what_is_not_dead_has_a_null_entry_and_cannot_be_retried(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url())
    event = await post(api)
    found = await house.until(
        api, f"/events/{event}/deliveries", lambda page: page["items"][0]["status"] == "DELIVERED"
    )
    identifier = found["items"][0]["id"]
    assert (await api("GET", f"/dlq/{identifier}")).json is None
    assert (await api("POST", f"/dlq/{identifier}/retry")).status == 404


async def test_a_disabled_destination_holds_what_is_retried_until_it_is_enabled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, (identifier,) = await dead(house, api, receiver)
    await api("POST", f"/destinations/{target}/disable")
    receiver.answer = lambda _: 204
    assert (await api("POST", f"/dlq/{identifier}/retry")).status == 200
    assert (await api("GET", f"/deliveries/{identifier}")).json["status"] == "PENDING"
    assert len(receiver.received) == 1
    await api("POST", f"/destinations/{target}/enable")
    assert (await house.settled(api, identifier))["status"] == "DELIVERED"


async def test_archiving_empties_the_queue_also_of_what_was_just_retried(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, ids = await dead(house, api, receiver, 3)
    await api("POST", f"/destinations/{target}/disable")
    await api("POST", f"/dlq/{ids[0]}/retry")
    await api("DELETE", f"/destinations/{target}")
    for identifier in ids:
        await house.until(
            api, f"/deliveries/{identifier}", lambda found: found["dlqStatus"] == "DISCARDED"
        )
        assert (await api("POST", f"/dlq/{identifier}/retry")).status == 404
    assert (await api("GET", "/dlq")).json["items"] == []
    assert len(receiver.received) == 3


async def test_an_event_that_is_gone_makes_a_retry_a_conflict(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, (identifier,) = await dead(house, api, receiver)
    await house.server.bridge.pool.execute("DELETE FROM events")
    refused = await api("POST", f"/dlq/{identifier}/retry")
    assert (refused.status, refused.code) == (409, "conflict")
    bulk = await api("POST", "/dlq/retry", {"deliveryIds": [identifier]})
    assert bulk.json == {"matched": 1, "retried": 0, "remaining": 0, "dryRun": False}


async def test_a_lane_takes_what_is_retried_at_its_tail(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    options = {"delivery": {"retrySchedule": [], "ordering": "KEY"}}
    target, ids = await dead(house, api, receiver, 3, **options)
    await api("POST", f"/destinations/{target}/disable")
    receiver.answer = lambda _: 204
    later = await post(api, customerExternalId="c1")
    bulk = await api("POST", "/dlq/retry", {"destinationId": target})
    assert bulk.json["retried"] == 3
    await api("POST", f"/destinations/{target}/enable")
    requests = (await receiver.reaches(7))[3:]
    events = [(await api("GET", f"/deliveries/{each}")).json["eventId"] for each in ids]
    assert [request.event for request in requests] == [later, *events]


# --- in bulk

BODIES: dict[str, tuple[dict[str, Any], int]] = {
    "a type": ({"eventType": "e.1"}, 2),
    "an error": ({"errorCategory": "HTTP_5XX"}, 5),
    "another error": ({"errorCategory": "DNS"}, 0),
    "a time": ({"from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}, 5),
    "long ago": ({"to": "2020-01-01T00:00:00Z"}, 0),
    "ids": ({"deliveryIds": ["first", "third", "first"]}, 2),
    "ids of a type": ({"deliveryIds": ["first", "second"], "eventType": "e.0"}, 1),
    "a destination": ({"destinationId": "target"}, 5),
}


@pytest.mark.parametrize("verb", ["retry", "discard"])
async def test_in_bulk_exactly_what_was_counted_before_is_done(
    house: ServiceHouse, api: Caller, receiver: Receiver, verb: str
) -> None:
    word = {"retry": "retried", "discard": "discarded"}[verb]
    target, ids = await dead(house, api, receiver, 5)
    await api("POST", f"/destinations/{target}/disable")  # retried deliveries wait
    names = {"first": ids[0], "second": ids[1], "third": ids[2], "target": target}
    for body, count in BODIES.values():
        filled = {
            key: [names.get(each, each) for each in value]
            if isinstance(value, list)
            else names.get(value, value)
            for key, value in body.items()
        }
        counted = await api("POST", f"/dlq/{verb}", {**filled, "dryRun": True})
        assert counted.json == {"matched": count, word: 0, "remaining": count, "dryRun": True}
    assert (await api("POST", f"/dlq/{verb}", {"destinationId": UNKNOWN})).status == 404
    assert (await api("POST", f"/dlq/{verb}", {"deliveryIds": [ids[0], UNKNOWN]})).status == 404
    listed = (await api("GET", "/dlq")).json["items"]
    done = await api("POST", f"/dlq/{verb}", {"eventType": "e.1"})
    assert done.json == {"matched": 2, word: 2, "remaining": 0, "dryRun": False}
    again = await api("POST", f"/dlq/{verb}", {"eventType": "e.1"})
    assert again.json == {"matched": 0, word: 0, "remaining": 0, "dryRun": False}
    left = (await api("GET", "/dlq")).json["items"]
    of_the_other_type = {ids[0], ids[2], ids[4]}
    assert left == [item for item in listed if item["id"] in of_the_other_type]
    shown = (await api("GET", f"/deliveries/{ids[1]}")).json
    expected = ("PENDING", "RETRIED_FROM_DLQ") if verb == "retry" else ("FAILED", "DISCARDED")
    assert (shown["status"], shown["dlqStatus"]) == expected
    assert shown["attemptCount"] == 1


async def test_a_request_has_a_bound_says_what_it_left_and_the_next_one_goes_on(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "CHUNK", 2)
    monkeypatch.setattr(commands, "MOST", 4)
    monkeypatch.setattr(dead_letters, "COUNTED", 2)
    target, _ = await dead(house, api, receiver, 9)
    receiver.answer = lambda _: 204
    found = [(await api("POST", "/dlq/retry", {"destinationId": target})).json for _ in range(3)]
    assert [(each["matched"], each["retried"], each["remaining"]) for each in found] == [
        (9, 4, 5),
        (5, 4, 1),
        (1, 1, 0),
    ]
    await receiver.reaches(18)
    sent = Counter(request.event for request in receiver.received)
    assert set(sent.values()) == {2}


@each_case(
    ("body", "path"),
    [
        ({}, None),
        ({"dryRun": True}, None),
        ({"deliveryIds": []}, "deliveryIds"),
        ({"deliveryIds": ["x"]}, "deliveryIds[0]"),
        ({"deliveryIds": [UNKNOWN] * 1001}, "deliveryIds"),
        ({"errorCategory": "NOPE"}, "errorCategory"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "from"),
        ({"from": "yesterday"}, "from"),
        ({"eventType": ""}, "eventType"),
        ({"destinationId": "x"}, "destinationId"),
        ({"dryRun": "yes", "eventType": "a"}, "dryRun"),
        ({"unknown": 1}, "unknown"),
    ],
)
async def test_a_selection_that_says_nothing_or_nonsense_is_a_400(
    api: Caller, body: dict[str, Any], path: str | None
) -> None:
    for verb in ("retry", "discard"):
        refused = await api("POST", f"/dlq/{verb}", body)
        assert (refused.status, refused.code) == (400, "invalid_request"), verb
        assert refused.paths == ([] if path is None else [path]), verb


async def test_the_audit_log_has_one_entry_for_each_request_that_did_something(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "CHUNK", 2)
    target, ids = await dead(house, api, receiver, 6)
    await api("POST", f"/destinations/{target}/disable")
    await api("POST", f"/dlq/{ids[0]}/retry")
    await api("POST", f"/dlq/{ids[0]}/retry")
    await api("POST", "/dlq/retry", {"eventType": "e.1"})
    await api("POST", "/dlq/discard", {"destinationId": target})
    await api("POST", "/dlq/discard", {"destinationId": target})
    rows = await house.server.bridge.pool.fetch(
        "SELECT action, object_id, convert_from(changes, 'UTF8')::jsonb::text AS changes"
        " FROM audit_log WHERE object_type = 'dlq' ORDER BY id"
    )
    assert [(row["action"], row["object_id"]) for row in rows] == [
        ("dlq.retry", ids[0]),
        ("dlq.retry", "*"),
        ("dlq.discard", "*"),
    ]
    assert '"retried": {"to": 3, "from": 0}' in rows[1]["changes"]
    assert '"filter": {"to": {"eventType": "e.1"}, "from": null}' in rows[1]["changes"]
    assert '"discarded": {"to": 2, "from": 0}' in rows[2]["changes"]


async def test_discarding_leaves_the_counters_as_they_are(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, _ = await dead(house, api, receiver, 2)
    pool = house.server.bridge.pool
    before = await pool.fetch("SELECT * FROM destination_minutes")
    await api("POST", "/dlq/discard", {"destinationId": target})
    assert await pool.fetch("SELECT * FROM destination_minutes") == before


# --- access


async def test_another_workspace_sees_and_changes_nothing(
    house: ServiceHouse, api: Caller, neighbour: Caller, receiver: Receiver
) -> None:
    target, (identifier,) = await dead(house, api, receiver)
    assert (await neighbour("GET", "/dlq")).json["items"] == []
    assert (await neighbour("GET", f"/dlq/{identifier}")).status == 404
    assert (await neighbour("POST", f"/dlq/{identifier}/retry")).status == 404
    for verb in ("retry", "discard"):
        path = f"/dlq/{verb}"
        assert (await neighbour("POST", path, {"destinationId": target})).status == 404
        assert (await neighbour("POST", path, {"deliveryIds": [identifier]})).status == 404
    assert (await api("GET", f"/dlq/{identifier}")).json["dlqStatus"] == "IN_DLQ"


async def test_a_browser_session_works_with_what_is_its_customers(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    _, theirs = await dead(house, api, receiver, 1, customerExternalId="c1")
    # Another dead delivery of the same customer, to a shared destination.
    _, shared = await dead(house, api, receiver, 1)
    await house.until(api, "/dlq", lambda page: len(page["items"]) == 3)
    made = await api("POST", "/embed/sessions", {"customerExternalId": "c1"})
    browser = house.caller_with(made.json["token"])
    mine = [item["id"] for item in (await browser("GET", "/dlq")).json["items"]]
    assert len(mine) == 2
    assert theirs[0] in mine
    assert (await browser("GET", f"/dlq/{shared[0]}")).status == 404
    assert (await browser("POST", f"/dlq/{shared[0]}/retry")).status == 404
    for named, status in ((mine, 200), ([*mine, *shared], 404)):
        body = {"deliveryIds": named, "dryRun": True}
        assert (await browser("POST", "/dlq/discard", body)).status == status
    assert (await browser("POST", f"/dlq/{theirs[0]}/retry")).status == 200
    assert (await browser("POST", "/dlq/discard", {"errorCategory": "HTTP_5XX"})).status == 200
    assert (await api("GET", f"/dlq/{shared[0]}")).json["dlqStatus"] == "IN_DLQ"


async def test_a_reader_may_look_and_not_act(
    house: ServiceHouse, api: Caller, receiver: Receiver, tenant: Any
) -> None:
    _, (identifier,) = await dead(house, api, receiver)
    reader = await house.caller(tenant, Scope.READ)
    assert len((await reader("GET", "/dlq")).json["items"]) == 1
    assert (await reader("POST", f"/dlq/{identifier}/retry")).status == 403
    for verb in ("retry", "discard"):
        assert (await reader("POST", f"/dlq/{verb}", {"eventType": "e.0"})).status == 403
