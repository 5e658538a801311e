"""The route that tests a destination with a sample event. The event is sent immediately and recorded.
Other work does not delay the test, and no test is left half done."""

import trio

from engine.core.records import Outcome
from engine.core.vocabulary import DeliveryOrigin, ErrorCategory, Origin
from engine.model.configuration import Tenant
from tests.api.house import Caller, Growing, House
from tests.api.test_destinations import make


async def test_a_sample_is_sent_and_recorded_also_when_disabled(api: Caller, house: House) -> None:
    made = await make(api)
    await api("POST", f"/destinations/{made['id']}/disable")
    response = await api("POST", f"/destinations/{made['id']}/test", {})
    ((transmission, _),) = house.sender.sent
    ((delivery, attempt),) = house.log.inspections
    assert response.json == {
        "deliveryId": delivery.id,
        "success": True,
        "skipped": False,
        "responseStatus": 204,
        "durationMs": 12,
        "errorCategory": None,
        "errorMessage": None,
        "responseBody": "",
        "request": None,
    }
    assert transmission.delivery is delivery
    assert (transmission.number, transmission.destination.id) == (1, made["id"])
    assert (delivery.origin, delivery.event.origin) == (DeliveryOrigin.INSPECTION, Origin.TEST)
    assert attempt.destination_version == 2


async def test_a_failure_is_told_not_raised(api: Caller, house: House) -> None:
    made = await make(api)
    house.sender.outcome = Outcome(
        1.0, 5, success=False, category=ErrorCategory.CONNECTION, message="refused"
    )
    told = (await api("POST", f"/destinations/{made['id']}/test")).json
    assert told["success"] is False
    assert (told["errorCategory"], told["errorMessage"]) == ("CONNECTION", "refused")
    assert told["responseBody"] is told["responseStatus"] is None


async def test_a_client_that_hangs_up_leaves_a_record(
    api: Caller, house: House, tenant: Tenant
) -> None:
    made = await make(api)
    house.sender.outcome = None
    path = f"/destinations/{made['id']}/test"
    hasty = await house.caller(await house.key(tenant))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hasty, "POST", path)
        await house.sender.sent.reaches(1)
        # A slow receiver does not delay changes of configuration.
        assert (await api("PATCH", f"/destinations/{made['id']}", {"name": "x"})).status == 200
        nursery.cancel_scope.cancel()
    house.streams[-1].socket.close()
    ((_, done),) = house.sender.sent
    done(Outcome(1.0, 5, success=True, status=200))
    await house.log.inspections.reaches(1)


async def test_few_tests_are_under_way_at_once(api: Caller, house: House, tenant: Tenant) -> None:
    made = await make(api)
    house.sender.outcome = None
    path = f"/destinations/{made['id']}/test"
    key = await house.key(tenant)
    statuses = Growing()

    async def test() -> None:
        statuses.append((await (await house.caller(key))("POST", path)).status)

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(test)
        await house.sender.sent.reaches(8)
        await statuses.reaches(2)
        assert statuses == [503, 503]
        for _, done in house.sender.sent:
            done(Outcome(1.0, 5, success=True, status=200))
    assert statuses.count(200) == 8
