"""The health of destinations on a whole server, as the API shows it, from the live actor."""

import time
from typing import Any

import pytest
import trio

from engine.model.identity import created_at_ms
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, open_service, post
from tests.service.receiver import Receiver
from tests.service.test_orders import waiting


def path_of(made: str) -> str:
    return f"/destinations/{made}/health"


def has_nothing_left(told: Any) -> bool:
    return bool(told["queue"]["pending"] + told["queue"]["inFlight"] == 0)


async def test_a_destination_without_attempts_is_idle(api: Caller, receiver: Receiver) -> None:
    made = await destination(api, receiver.url(), delivery={"concurrency": 3})
    assert (await api("GET", path_of(made))).json == {
        "destinationId": made,
        "state": "IDLE",
        "circuit": {"state": "CLOSED", "openedAt": None, "nextProbeAt": None},
        "hold": None,
        "successRate": None,
        "consecutiveFailures": 0,
        "failingSince": None,
        "latencyMs": {"p50": None, "p95": None, "p99": None},
        "lastSuccessAt": None,
        "lastFailureAt": None,
        "lastError": None,
        "queue": {
            "pending": 0,
            "inFlight": 0,
            "concurrency": 3,
            "effectiveConcurrency": 3,
            "suggestedConcurrency": None,
            "oldestPendingSeconds": None,
            "arrivalsPerSecond": 0.0,
            "deliveredPerSecond": 0.0,
            "drainSeconds": None,
        },
        "actor": {
            "state": "AT_REST", "restarts": 0, "mailbox": 0, "startedAt": None, "snapshotAt": None,
        },
    }  # fmt: skip


async def test_what_is_in_flight_and_what_waits_is_told_while_it_does(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.hold = trio.Event()
    made = await destination(api, receiver.url(), delivery={"concurrency": 2})
    for _ in range(5):
        await post(api)
    await receiver.reaches(2)
    told = await house.until(api, path_of(made), lambda told: told["queue"]["pending"] == 3)
    assert told["state"] == "HEALTHY"
    assert told["successRate"] is None
    assert told["queue"]["inFlight"] == 2
    assert told["queue"]["oldestPendingSeconds"] >= 0
    assert told["actor"]["state"] == "RUNNING"
    assert told["actor"]["startedAt"] is not None
    receiver.hold.set()
    told = await house.until(api, path_of(made), has_nothing_left)
    assert (told["state"], told["successRate"]) == ("HEALTHY", 1.0)
    assert told["lastSuccessAt"] is not None
    assert told["latencyMs"]["p50"] <= told["latencyMs"]["p99"]


@pytest.mark.parametrize("ordering", ["KEY", "STRICT", "NONE"])
async def test_the_oldest_delivery_that_waits_only_in_the_database_has_its_age(
    house: ServiceHouse, api: Caller, receiver: Receiver, ordering: str
) -> None:
    options = {"retrySchedule": [3_600], "ordering": ordering}
    target, (head, *_) = await waiting(house, api, receiver, 3, types=["e.*"], delivery=options)
    made_s = created_at_ms(head) / 1000
    await house.until(api, path_of(target), lambda told: told["queue"]["pending"] == 3)
    # More deliveries wait for another destination, but for a shorter time.
    other = await destination(api, receiver.url(), ["later.*"])
    assert (await api("POST", f"/destinations/{other}/disable")).status == 200
    for _ in range(4):
        await post(api, "later.one")
    await house.until(api, path_of(other), lambda told: told["queue"]["pending"] == 4)
    for path in (path_of(target), "/destinations/summaries?sort=age"):
        before_s = time.time()
        told = (await api("GET", path)).json
        after_s = time.time()
        health = told["items"][0]["health"] if "items" in told else told
        age_s = health["queue"]["oldestPendingSeconds"]
        assert before_s - made_s - 0.11 <= age_s <= after_s - made_s  # ages are truncated to tenths


async def test_a_concurrency_that_adapts_grows_with_what_waits_and_is_told(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    made = await destination(api, receiver.url(), delivery={"concurrency": "auto"})
    told = (await api("GET", path_of(made))).json
    assert told["queue"]["concurrency"] == 8
    receiver.hold = trio.Event()
    for _ in range(80):
        await post(api)
    await receiver.reaches(8)
    receiver.hold.set()
    told = await house.until(api, path_of(made), has_nothing_left)
    assert told["queue"]["concurrency"] > 8
    assert told["queue"]["suggestedConcurrency"] >= 1


async def test_the_share_of_successes_makes_it_healthy_degraded_or_failing(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    answers: list[int] = []
    receiver.answer = lambda _: answers.pop(0)
    options = {"retrySchedule": [], "ordering": "STRICT"}
    made = await destination(api, receiver.url(), delivery=options)

    async def after(*statuses: int) -> dict[str, Any]:
        answers.extend(statuses)
        before = len(receiver.received)
        for _ in statuses:
            await post(api)
        await receiver.reaches(before + len(statuses))
        told: dict[str, Any] = await house.until(api, path_of(made), has_nothing_left)
        return told

    told = await after(*[204] * 9)
    assert (told["state"], told["successRate"]) == ("HEALTHY", 1.0)
    told = await after(500)
    assert (told["state"], told["successRate"], told["consecutiveFailures"]) == ("DEGRADED", 0.9, 1)
    assert (told["lastError"] is None, told["lastFailureAt"] is None) == (False, False)
    told = await after(*[500] * 8, 204)
    assert (told["successRate"], told["consecutiveFailures"]) == (0.5263, 0)  # 10 of 19
    assert told["state"] == "DEGRADED"
    told = await after(500, 500)
    assert (told["state"], told["circuit"]["state"]) == ("FAILING", "CLOSED")


async def test_an_open_circuit_is_failing_and_says_when_it_probes(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 503
    made = await destination(api, receiver.url(), delivery={"retrySchedule": [3600]})
    for _ in range(15):
        await post(api)
    told = await house.until(
        api, path_of(made), lambda told: told["circuit"]["state"] in ("OPEN", "HALF_OPEN")
    )
    assert told["state"] == "FAILING"
    assert told["circuit"]["openedAt"] is not None
    assert told["consecutiveFailures"] >= 10
    await house.until(api, path_of(made), lambda told: told["failingSince"] is not None)
    assert told["queue"]["pending"] + told["queue"]["inFlight"] == 15
    # Deliveries that wait for a retry count as pending.
    await house.until(api, path_of(made), lambda told: told["queue"]["pending"] == 15)
    retrying = (await api("GET", "/deliveries?status=RETRYING&limit=100")).json["items"]
    assert len(retrying) >= 10


async def test_a_disabled_destination_says_so_and_what_it_holds(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    made = await destination(api, receiver.url())
    assert (await api("POST", f"/destinations/{made}/disable", {})).status == 200
    for _ in range(4):
        await post(api)
    told = await house.until(api, path_of(made), lambda told: told["queue"]["pending"] == 4)
    assert told["state"] == "DISABLED"
    assert (await api("DELETE", f"/destinations/{made}", {})).status == 200
    told = await house.until(api, path_of(made), lambda told: told["queue"]["pending"] == 0)
    assert told["state"] == "DISABLED"


async def test_an_actor_at_rest_keeps_its_health(bridge: Bridge, receiver: Receiver) -> None:
    async with open_service(bridge, passivate_after=0.05) as house:
        api = await house.caller(await house.tenant("acme"))
        receiver.answer = lambda _: 500
        made = await destination(api, receiver.url(), delivery={"retrySchedule": []})
        await post(api)
        told = await house.until(
            api,
            path_of(made),
            lambda told: told["actor"]["state"] == "AT_REST" and told["consecutiveFailures"] == 1,
        )
        assert (told["state"], told["successRate"]) == ("FAILING", 0.0)
        assert told["lastError"] is not None
