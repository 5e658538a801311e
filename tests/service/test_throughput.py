"""Throughput on a whole server: accepted and settled events are shown immediately."""

from engine.core.vocabulary import Environment
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

PATH = "/observability/throughput?environment=DEVELOPMENT"


async def test_what_was_accepted_delivered_and_failed_is_in_the_rates_and_in_the_series(
    house: ServiceHouse, api: Caller, neighbour: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500 if request.path == "/bad" else 204
    await destination(api, receiver.url(), ["good.*"])
    await destination(api, receiver.url("/bad"), ["bad.*"], delivery={"retrySchedule": []})
    for number in range(5):
        await post(api, "good.one", idempotencyKey=str(number))
    await post(api, "good.one", idempotencyKey="0")  # a duplicate is not accepted again
    await post(api, "bad.one")
    await house.until(  # the notice of the dead letter, which no producer sent
        api, "/events?eventType=angarium.delivery.dead_lettered", lambda page: page["items"]
    )
    found = await house.until(api, PATH, lambda now: now["attempts"] == 0.1)
    assert found["environment"] == "DEVELOPMENT"
    assert found["windowSeconds"] == 60
    assert (found["accepted"], found["delivered"], found["failed"]) == (0.1, 0.083, 0.017)
    assert len(found["series"]) == 60
    sums = {
        name: sum(point[name] for point in found["series"])
        for name in ("accepted", "delivered", "failed", "attempts")
    }
    assert sums == {"accepted": 6, "delivered": 5, "failed": 1, "attempts": 6}
    assert found["pending"] == found["inFlight"] == 0
    other = (await neighbour("GET", PATH)).json
    assert other["accepted"] == other["attempts"] == 0


async def test_what_waits_is_told(house: ServiceHouse, api: Caller, receiver: Receiver) -> None:
    made = await destination(api, receiver.url())
    assert (await api("POST", f"/destinations/{made}/disable", {})).status == 200
    for _ in range(3):
        await post(api)
    assert (await house.until(api, PATH, lambda now: now["pending"] == 3))["inFlight"] == 0


async def test_the_environment_must_be_named_and_must_be_the_keys(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    missing = await api("GET", "/observability/throughput")
    assert (missing.status, missing.paths) == (400, ["environment"])
    assert (await api("GET", "/observability/throughput?environment=TEST")).status == 400
    assert (await api("GET", "/observability/throughput?environment=STAGING")).status == 403
    everywhere = await house.caller(tenant, environment=None)
    for name in Environment:
        path = f"/observability/throughput?environment={name.name}"
        assert (await everywhere("GET", path)).json["environment"] == name.name
    assert (await everywhere("GET", "/observability/throughput")).status == 400
