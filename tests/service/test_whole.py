"""The whole server: an event goes from its request to its receiver, and is in the log."""

from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver


async def test_an_event_is_delivered_and_its_delivery_says_so(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url())
    event = await post(api, "order.created", payload={"n": 1})
    (request,) = await receiver.reaches(1)
    assert request.event == event
    assert request.json["data"] == {"n": 1}
    found = await house.until(
        api, f"/events/{event}/deliveries", lambda page: page["items"][0]["status"] == "DELIVERED"
    )
    assert found["items"][0]["attemptCount"] == 1
