"""Destinations that lead back to this service. The hop limit ends the loop, and the refusal states the
reason."""

from typing import Any

import pytest

from engine.model.hops import HEADER, MOST, Hops
from engine.settings import Settings
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller
from tests.service.house import ServiceHouse, open_service, post
from tests.service.receiver import Receiver

NAME = HEADER.decode()
AGAIN = 'function transform(event) { return {eventType: "loop.again", payload: {}}; }'
BATCH = """
function transform(event) { return {events: [{eventType: "loop.again", payload: {}}]}; }
"""
FILES = 'function transform(event) { return {eventType: "loop.again", content: "YQ=="}; }'
LIMIT = Settings().hop_limit


async def loop(house: ServiceHouse, api: Caller, path: str, source: str | None) -> str:
    """Create a destination whose URL is a path of this server. Create a rule that routes the loop's
    events to this destination."""
    body = {
        "name": "loop",
        "url": f"http://127.0.0.1:{house.door.address[1]}{path}",
        "headers": {"Authorization": api._headers["Authorization"]},
        "delivery": {"retrySchedule": []},
    }
    made = await api("POST", "/destinations", body)
    assert made.status == 201, made.body
    to = str(made.json["id"])
    rule = {"name": "r", "destinationId": to, "eventTypes": ["loop.*"]}
    assert (await api("POST", "/routing-rules", rule)).status == 201
    if source is not None:
        script = {"destinationId": to, "name": "s", "source": source}
        made = await api("POST", "/transform-scripts", script)
        assert made.status == 201, made.body
        published = await api("POST", f"/transform-scripts/{made.json['id']}/publish", {})
        assert published.status == 200
    return to


async def ended(house: ServiceHouse, api: Caller, to: str) -> Any:
    page = await house.until(
        api, f"/deliveries?destinationId={to}&status=FAILED", lambda page: page["items"]
    )
    (last,) = page["items"]
    return (await api("GET", f"/deliveries/{last['id']}")).json


@pytest.mark.parametrize(
    ("path", "source"), [("/events", AGAIN), ("/events/batch", BATCH), ("/files", FILES)]
)
async def test_a_destination_that_is_the_service_itself_ends_at_the_limit(
    house: ServiceHouse, api: Caller, path: str, source: str
) -> None:
    to = await loop(house, api, path, source)
    await post(api, "loop.first")
    last = await ended(house, api, to)
    listed = (await api("GET", "/events?limit=100")).json["items"]
    events = [each for each in listed if each["eventType"].startswith("loop.")]
    assert len(events) == 1 + LIMIT
    assert last["eventId"] == events[0]["id"]
    attempt = last["attempts"][0]
    assert attempt["responseStatus"] == 400
    assert "loop_detected" in attempt["responseBody"]
    counts = await house.server.bridge.pool.fetch(
        "SELECT hops FROM events WHERE type LIKE 'loop.%' ORDER BY id"
    )
    assert [row["hops"] for row in counts] == [None, *range(1, LIMIT + 1)]


async def test_a_loop_that_feeds_on_its_own_dead_letters_ends(
    house: ServiceHouse, api: Caller
) -> None:
    to = await loop(house, api, "/events", AGAIN)
    rule = {"name": "r", "destinationId": to, "eventTypes": ["angarium.*"]}
    assert (await api("POST", "/routing-rules", rule)).status == 201
    await post(api, "loop.first")
    # The loop's last delivery dies, and the service sends an event about this death. The delivery of that
    # event dies too, but about the second death the service sends no event.
    page = await house.until(
        api, f"/deliveries?destinationId={to}&status=FAILED", lambda page: len(page["items"]) == 2
    )
    assert {each["eventType"] for each in page["items"]} == {
        "angarium.delivery.dead_lettered",
        "loop.again",
    }
    await house.server.own_events.wait_empty()
    assert len((await api("GET", "/events?limit=100")).json["items"]) == 2 + LIMIT


async def test_the_count_outlives_the_process(bridge: Bridge, receiver: Receiver) -> None:
    stated = Hops(SecretBox([b"k" * 32]).derived(b"angarium hops v1"), LIMIT)
    value = stated.line(4).partition(b": ")[2].strip().decode()
    async with open_service(bridge) as house:
        api = await house.caller(await house.tenant("acme"))
        body = {"name": "d", "url": receiver.url()}
        to = (await api("POST", "/destinations", body)).json["id"]
        rule = {"name": "r", "destinationId": to, "eventTypes": ["*"]}
        assert (await api("POST", "/routing-rules", rule)).status == 201
        assert (await api("POST", f"/destinations/{to}/disable", {})).status == 200
        event = {"eventType": "e", "payload": {}}
        told = await api("POST", "/events", event, headers={NAME: value})
        assert told.status == 202, told.body
    async with open_service(bridge) as house:
        api = await house.caller(await house.keys.workspace("acme"))
        assert (await api("POST", f"/destinations/{to}/enable", {})).status == 200
        (received,) = await receiver.reaches(1)
        assert stated.count(received.headers[NAME].encode()) == 6


async def test_what_was_not_signed_here_says_nothing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    to = (await api("POST", "/destinations", {"name": "d", "url": receiver.url()})).json["id"]
    rule = {"name": "r", "destinationId": to, "eventTypes": ["*"]}
    assert (await api("POST", "/routing-rules", rule)).status == 201
    elsewhere = Hops({b"k": b"x" * 32}, LIMIT).line(LIMIT).partition(b": ")[2].strip().decode()
    event = {"eventType": "e", "payload": {}}
    for value in (elsewhere, "99", "9." + "A" * 22, ""):
        told = await api("POST", "/events", event, headers={NAME: value})
        assert told.status == 202, told.body
    for each in await receiver.reaches(4):
        assert house.server.hops.count(each.headers[NAME].encode()) == 1


async def test_nobody_else_writes_the_header(api: Caller) -> None:
    body = {"name": "d", "url": "https://example.com/", "headers": {"Angarium-Hops": "1"}}
    refused = await api("POST", "/destinations", body)
    assert (refused.status, refused.paths) == (400, ["headers.Angarium-Hops"])


def test_any_key_is_recognised_and_the_first_one_signs() -> None:
    old, new = {b"o": b"o" * 32}, {b"n": b"n" * 32}
    before, hops = Hops(old, 8), Hops({**new, **old}, 8)
    for count in (0, 7, MOST - 1, MOST, 10 * MOST):
        was, now = (each.line(count).partition(b": ")[2].strip() for each in (before, hops))
        assert was != now
        assert hops.count(was) == hops.count(now) == min(count + 1, MOST)
        assert before.count(now) == 0
    hops.use(new)
    assert hops.count(before.line(0).partition(b": ")[2].strip()) == 0
