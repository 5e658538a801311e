"""A disabled destination shows deliveries that wait for a retry as PENDING, in every list and detail."""

from typing import Any

from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver


async def ids(api: Caller, query: str) -> list[str]:
    return [item["id"] for item in (await api("GET", f"/deliveries?{query}")).json["items"]]


async def test_what_is_retrying_is_held_as_pending_until_its_destination_is_enabled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    schedule: dict[str, Any] = {"delivery": {"retrySchedule": [3600]}}
    held, other = [await destination(api, receiver.url(), **schedule) for _ in range(2)]
    await post(api)
    page = await house.until(
        api, "/deliveries?status=RETRYING", lambda page: len(page["items"]) == 2
    )
    of = {item["destinationId"]: item["id"] for item in page["items"]}
    assert all(item["nextAttemptAt"] for item in page["items"])
    await api("POST", f"/destinations/{held}/disable")
    for query in ("", f"&destinationId={held}", f"&eventId={page['items'][0]['eventId']}"):
        assert await ids(api, f"status=PENDING{query}") == [of[held]]
    assert await ids(api, "status=RETRYING") == [of[other]]
    assert await ids(api, f"status=RETRYING&destinationId={held}") == []
    assert await ids(api, f"status=PENDING&destinationId={other}") == []
    shown = (await api("GET", f"/deliveries/{of[held]}")).json
    assert (shown["status"], shown["nextAttemptAt"]) == ("PENDING", None)
    assert (shown["attemptCount"], shown["errorCategory"]) == (1, "HTTP_5XX")
    listed = (await api("GET", f"/destinations/{held}/deliveries")).json["items"]
    assert [item["status"] for item in listed] == ["PENDING"]
    await api("POST", f"/destinations/{held}/enable")
    assert sorted(await ids(api, "status=RETRYING")) == sorted(of.values())
    shown = (await api("GET", f"/deliveries/{of[held]}")).json
    assert shown["nextAttemptAt"] is not None
