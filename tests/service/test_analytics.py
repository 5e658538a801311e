"""Analytics on a whole server: they equal the delivery log, at any moment and after a crash."""

import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest
import trio

from api.composition import Server
from engine.core.vocabulary import Environment, Scope
from engine.settings import Settings
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, open_service, post
from tests.service.receiver import Receiver

COUNTS = ("attempts", "delivered", "failed", "retried", "deadLettered")
LENGTHS = {"1h": 60, "6h": 360, "24h": 1_440, "7d": 10_080, "30d": 43_200}
SIZES = {"minute": 1, "hour": 60, "day": 1_440}


def minute_of(at: str) -> float:
    return datetime.fromisoformat(at).timestamp() / 60


async def told(api: Caller, made: str, query: str = "") -> dict[str, Any]:
    # A long answer is not checked against the OpenAPI document: for tens of thousands of points, the
    # check would take seconds.
    many = "minute" in query and any(long in query for long in ("24h", "7d", "30d"))
    answer = await api("GET", f"/destinations/{made}/analytics{query}", check=not many)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    for name in COUNTS:
        assert found["totals"][name] == sum(point[name] for point in found["series"])
    assert sum(found["errorCategories"].values()) == found["totals"]["failed"]
    assert all(found["errorCategories"].values())  # only categories that occurred
    return found


async def logged(api: Caller, made: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    page = (await api("GET", f"/destinations/{made}/deliveries?limit=100")).json
    assert page["nextCursor"] is None
    for item in page["items"]:
        detail = (await api("GET", f"/deliveries/{item['id']}")).json
        if detail["originKind"] == "INSPECTION":
            continue
        counts["delivered"] += detail["status"] == "DELIVERED"
        counts["deadLettered"] += detail["dlqStatus"] is not None
        for attempt in detail["attempts"]:
            counts["attempts"] += 1
            counts["failed"] += not attempt["success"]
            counts["retried"] += attempt["number"] > 1
    return counts


@pytest.mark.parametrize("granularity", [None, *SIZES])
async def test_every_period_is_as_long_as_it_says_and_its_points_are_whole_but_the_first_and_last(
    api: Caller, granularity: str | None
) -> None:
    made = await destination(api, "https://example.com/hooks")
    defaults = {"1h": "minute", "6h": "minute", "24h": "hour", "7d": "hour", "30d": "day"}
    for period, minutes in LENGTHS.items():
        asked = f"?period={period}" + (f"&granularity={granularity}" if granularity else "")
        found = await told(api, made, asked)
        assert found["period"] == period
        assert found["granularity"] == (granularity or defaults[period])
        start, end = minute_of(found["from"]), minute_of(found["to"])
        size = SIZES[found["granularity"]]
        assert end - start == minutes
        times = [minute_of(point["at"]) for point in found["series"]]
        whole = range(int(start) // size * size + size, int(end), size)
        assert times == [start, *whole]
        assert found["totals"]["latencyMs"] == {"p50": None, "p95": None, "p99": None}
        assert found["errorCategories"] == {}
    assert (await told(api, made))["period"] == "24h"


async def test_attempts_deliveries_and_errors_are_counted_and_samples_and_dry_runs_are_not(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    answers = iter([500, 204, 429, 404])
    receiver.answer = lambda request: (
        204 if request.json["type"] == "angarium.test" else next(answers)
    )
    delivery = {"retrySchedule": [1], "ordering": "STRICT"}
    made = await destination(api, receiver.url(), ["e.*"], delivery=delivery)
    dry = await destination(api, receiver.url(), ["e.*"], delivery={"dryRun": True})
    assert (await api("POST", f"/destinations/{made}/test", {})).json["success"]
    await post(api)
    await post(api)
    path = f"/destinations/{made}/analytics?period=1h"
    found = await house.until(
        api, path, lambda now: now["totals"]["delivered"] + now["totals"]["deadLettered"] == 2
    )
    assert {name: found["totals"][name] for name in COUNTS} == {
        "attempts": 4,
        "delivered": 1,
        "failed": 3,
        "retried": 2,
        "deadLettered": 1,
    }
    assert found["errorCategories"] == {"HTTP_5XX": 1, "RATE_LIMITED": 1, "HTTP_4XX": 1}
    latency = found["totals"]["latencyMs"]
    assert latency["p50"] <= latency["p95"] <= latency["p99"]
    assert (await told(api, dry, "?period=1h"))["totals"]["attempts"] == 0
    for query in (
        *(f"period={each}" for each in LENGTHS),
        *(f"granularity={each}" for each in SIZES),
    ):
        assert (await told(api, made, f"?{query}"))["totals"] == found["totals"]


async def test_sums_equal_the_log_whatever_becomes_of_the_dead(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    status = 500
    receiver.answer = lambda request: status
    made = await destination(api, receiver.url(), ["e.*"], delivery={"retrySchedule": []})
    path = f"/destinations/{made}/analytics?period=1h"

    async def agreed(attempts: int, **counts: int) -> None:
        found = await house.until(api, path, lambda now: now["totals"]["attempts"] == attempts)
        assert found["totals"] == found["totals"] | counts
        assert {name: found["totals"][name] for name in COUNTS} == await logged(api, made)

    for _ in range(4):
        await post(api, "e.one")
    await agreed(4, deadLettered=4)
    mended, dying, given_up, replayed = [
        item["id"] for item in (await api("GET", "/dlq")).json["items"]
    ]
    assert (await api("POST", f"/dlq/{dying}/retry", {})).status == 200
    await agreed(5, deadLettered=4)  # it dies again, but counts as one delivery
    status = 204
    assert (await api("POST", f"/dlq/{mended}/retry", {})).status == 200
    await agreed(6, delivered=1, deadLettered=4)
    assert (await api("POST", "/dlq/discard", {"deliveryIds": [given_up]})).status == 200
    await agreed(6, delivered=1, deadLettered=4)
    assert (await api("POST", "/replay-jobs", {"deliveryIds": [replayed]})).status == 201
    await agreed(7, delivered=2, deadLettered=4)


@asynccontextmanager
async def crashing(bridge: Bridge) -> AsyncIterator[ServiceHouse]:
    """Run a server and end it without finishing or flushing anything."""
    given = {"bind": "127.0.0.1:0", "egress_allow": "127.0.0.0/8"}
    server = Server(Settings.model_validate(given), bridge, SecretBox([b"k" * 32]), None)
    await server.prepare()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.supervisor.run)
        house = ServiceHouse(server)
        yield house
        server.wire.abort_all()  # as the kernel would at a crash
        nursery.cancel_scope.cancel()
    server.reactor.shut()
    for stream in house.streams:
        stream.socket.close()


async def test_sums_equal_the_delivery_log_after_crashes(
    bridge: Bridge, receiver: Receiver
) -> None:
    chance = random.Random(11)
    receiver.answer = lambda _: chance.choice((204, 204, 500, 404))
    lives, events = 4, 12
    async with crashing(bridge) as house:
        tenant = await house.tenant("acme")
        key = (await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "k")).secret
        schedule = {"retrySchedule": [1], "concurrency": 4}
        made = await destination(house.caller_with(key), receiver.url(), delivery=schedule)
    for _ in range(lives):
        async with crashing(bridge) as house:
            api = house.caller_with(key)
            before = len(receiver.received)
            for _ in range(events):
                await post(api)
            await receiver.reaches(before + chance.randrange(1, events))
            await told(api, made)
    async with open_service(bridge) as house:
        api = house.caller_with(key)
        path = f"/destinations/{made}/analytics?period=6h"
        await house.until(
            api,
            path,
            lambda now: (
                now["totals"]["delivered"] + now["totals"]["deadLettered"] == lives * events
            ),
        )
        found = await told(api, made, "?period=6h")
        assert {name: found["totals"][name] for name in COUNTS} == dict(await logged(api, made))
