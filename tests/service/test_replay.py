"""Replay jobs through a whole server: what is sent again, to whom, and what the job says of it."""

from typing import Any

from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver

FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


async def start(api: Caller, **fields: Any) -> str:
    made = await api("POST", "/replay-jobs", fields)
    assert made.status == 201, made.body
    return str(made.json["id"])


async def ended(house: ServiceHouse, api: Caller, job: str) -> Any:
    return await house.until(api, f"/replay-jobs/{job}", lambda found: found["status"] in FINISHED)


async def all_settled(house: ServiceHouse, api: Caller, count: int) -> None:
    await house.until(
        api,
        "/deliveries?limit=100&status=DELIVERED",
        lambda page: len(page["items"]) == count,
    )


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
