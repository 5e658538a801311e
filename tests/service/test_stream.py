"""The live stream: its events, its listeners' rights, and the ends of streams."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from api.live import MOST_LISTENERS
from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.door.house import Client
from tests.patience import HANGS_S
from tests.service.house import LOOK_EVERY_S, ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.test_orders import waiting

NEVER: dict[str, list[int]] = {"retrySchedule": []}


class Listener:
    def __init__(self, client: Client) -> None:
        self._client = client
        self.status = 0
        self.heard: dict[str, list[Any]] = defaultdict(list)

    async def chunk(self) -> bytes:
        size = int(await self._client.until(b"\r\n"), 16)
        data = await self._client.exactly(size)
        await self._client.exactly(2)
        return data

    async def hears(self, topic: str) -> Any:
        """Return the data of a topic's next event. Each event is returned once."""
        with trio.fail_after(HANGS_S):
            while not self.heard[topic]:
                for told in (await self.chunk()).decode().split("\n\n")[:-1]:
                    name, _, data = told.partition("\n")
                    event = name.removeprefix("event: ")
                    self.heard[event].append(json.loads(data.removeprefix("data: ")))
        return self.heard[topic].pop(0)

    async def ends(self) -> None:
        with trio.fail_after(HANGS_S):
            while await self.chunk():
                pass


@asynccontextmanager
async def listening(house: ServiceHouse, secret: str, query: str = "") -> AsyncIterator[Listener]:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    async with stream:
        client = Client(stream)
        head = f"GET /stream{query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n\r\n"
        await client.send(head.encode())
        told = await client.until(b"\r\n\r\n")
        listener = Listener(client)
        listener.status = int(told.split(b" ")[1])
        if listener.status == 200:
            assert b"text/event-stream" in told
            assert await listener.chunk() == b"retry: 3000\n\n"
        yield listener


async def secret_of(house: ServiceHouse, tenant: Tenant, scope: Scope = Scope.READ) -> str:
    return (await house.keys.create(tenant, scope, tenant.environments[0].name, "x")).secret


async def unfollowed(house: ServiceHouse) -> None:
    """Poll until the server has noticed that all listeners of the stream have left."""
    with trio.fail_after(HANGS_S):
        while True:
            if not house.server.feed.followed:
                return
            await trio.sleep(LOOK_EVERY_S)


async def test_a_listener_hears_of_outcomes_deaths_health_and_rates(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    target = await destination(api, receiver.url(), ["e.*"], delivery=NEVER)
    async with listening(house, await secret_of(house, tenant)) as listener:
        event = await post(api)
        told = await listener.hears("deliveries")
        (item,) = (await api("GET", f"/events/{event}/deliveries")).json["items"]
        (outcome,) = told["items"]
        assert told["omitted"] == 0
        assert outcome["eventId"] == event
        for name in ("id", "eventType", "destinationId", "status", "dlqStatus", "errorCategory"):
            assert outcome[name] == item[name]
        assert (await listener.hears("dlq"))["items"] == [{"destinationId": target, "count": 1}]
        assert (await listener.hears("throughput"))["attempts"] >= 0
        health = await listener.hears("health")
        assert [each["destinationId"] for each in health["items"]] == [target]
    await unfollowed(house)


async def test_a_listener_of_some_topics_or_one_destination_hears_no_others(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    await destination(api, receiver.url("/a"), ["e.*"])
    second = await destination(api, receiver.url("/b"), ["e.*"])
    query = f"?topics=deliveries&destinationId={second}"
    async with listening(house, await secret_of(house, tenant), query) as listener:
        await post(api)
        told = await listener.hears("deliveries")
        assert [each["destinationId"] for each in told["items"]] == [second]


async def test_a_stream_of_one_destination_has_the_age_of_what_waits_in_the_database(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    options = {"delivery": {"retrySchedule": [3_600], "ordering": "STRICT"}}
    target, _ = await waiting(house, api, receiver, 2, **options)
    path = f"/destinations/{target}/health"
    told = await house.until(api, path, lambda told: told["queue"]["pending"] == 2)
    least_s = told["queue"]["oldestPendingSeconds"]
    secret = await secret_of(house, tenant)
    for query, known in ((f"&destinationId={target}", True), ("", False)):
        async with listening(house, secret, f"?topics=health{query}") as listener:
            (health,) = (await listener.hears("health"))["items"]
            age_s = health["queue"]["oldestPendingSeconds"]
            assert age_s >= least_s if known else age_s is None
        await unfollowed(house)


async def test_an_embed_session_hears_of_its_own_destinations_alone(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    others = await destination(api, receiver.url("/all"), ["e.*"])
    own = await destination(api, receiver.url("/own"), ["e.*"], customerExternalId="ada")
    made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    async with listening(house, made.json["token"]) as listener:
        await post(api, customerExternalId="ada")
        told = await listener.hears("deliveries")
        assert {each["destinationId"] for each in told["items"]} == {own}
    query = f"?topics=health,replays&destinationId={others}"
    async with listening(house, made.json["token"], query) as listener:
        await listener.hears("replays")  # a channel sends this after health
        assert not listener.heard["health"]
    refused = await house.caller_with(made.json["token"])("GET", "/stream?topics=throughput")
    assert (refused.status, refused.paths) == (400, ["topics"])


async def test_a_replay_is_told_when_it_changes(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    target = await destination(api, receiver.url(), ["e.*"])
    event = await post(api)
    (item,) = (await api("GET", f"/events/{event}/deliveries")).json["items"]
    await house.settled(api, item["id"])
    async with listening(house, await secret_of(house, tenant), "?topics=replays") as listener:
        assert (await listener.hears("replays"))["items"] == []
        job = (await api("POST", "/replay-jobs", {"destinationId": target})).json
        assert [each["id"] for each in (await listener.hears("replays"))["items"]] == [job["id"]]


async def test_a_workspace_has_so_many_streams_and_gets_them_back(
    house: ServiceHouse, tenant: Tenant
) -> None:
    secret = await secret_of(house, tenant)
    async with trio.open_nursery() as nursery:
        ready = [trio.Event() for _ in range(MOST_LISTENERS)]

        async def hold(event: trio.Event) -> None:
            async with listening(house, secret) as listener:
                assert listener.status == 200
                event.set()
                await trio.sleep_forever()

        for event in ready:
            nursery.start_soon(hold, event)
        for event in ready:
            await event.wait()
        async with listening(house, secret) as refused:
            assert refused.status == 503
        nursery.cancel_scope.cancel()
    await unfollowed(house)
    async with listening(house, secret) as again:
        assert again.status == 200


async def test_a_stream_ends_with_its_key(house: ServiceHouse, api: Caller) -> None:
    body = {"kind": "API_KEY", "name": "k", "scope": "read", "environment": "DEVELOPMENT"}
    made = (await api("POST", "/api-keys", body)).json
    async with listening(house, made["secret"]) as listener:
        await api("DELETE", f"/api-keys/{made['id']}")
        await listener.ends()


async def test_a_stream_ends_when_its_session_may_see_other_things(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda _: 500
    await destination(api, receiver.url(), ["e.*"], customerExternalId="ada", delivery=NEVER)
    token = (await api("POST", "/embed/sessions", {"customerExternalId": "ada"})).json["token"]
    async with listening(house, token, "?topics=health") as listener:
        await post(api, customerExternalId="ada")
        told: dict[str, Any] = {"lastError": None}
        while told["lastError"] is None:  # an event can precede the attempt's end
            (told,) = (await listener.hears("health"))["items"]
        denied = {"permissions": {"viewPayloads": False}}
        assert (await api("PUT", "/customers/ada", denied)).status == 200
        await listener.ends()
    async with listening(house, token, "?topics=health") as listener:
        (told,) = (await listener.hears("health"))["items"]
        assert told["lastError"] is None


async def test_streams_end_when_the_server_stops(house: ServiceHouse, tenant: Tenant) -> None:
    async with listening(house, await secret_of(house, tenant)) as listener:
        house.server.live.stop()
        await listener.ends()


async def test_an_unknown_topic_is_refused(api: Caller) -> None:
    for topics in ("", "deliveries,", "deliveries,deliveries", "events"):
        refused = await api("GET", f"/stream?topics={topics}")
        assert (refused.status, refused.paths) == (400, ["topics"])
