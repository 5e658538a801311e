"""Views of many destinations at once: summaries, counts, and an environment's analytics."""

from typing import Any

from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, post
from tests.service.receiver import Receiver

NEVER: dict[str, list[int]] = {"retrySchedule": []}
SUMMARIES = "/destinations/summaries"


async def named(api: Caller, name: str, url: str, **more: Any) -> str:
    made = await api("POST", "/destinations", {"name": name, "url": url, **more})
    assert made.status == 201, made.body
    return str(made.json["id"])


async def listed(api: Caller, query: str = "") -> list[str]:
    answer = await api("GET", f"{SUMMARIES}?{query}")
    assert answer.status == 200, answer.body
    return [each["destination"]["name"] for each in answer.json["items"]]


async def test_a_summary_has_the_destination_its_health_its_day_and_its_dead_letters(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500 if request.path == "/dead" else 204
    well = await destination(api, receiver.url("/well"), ["e.*"])
    dead = await destination(api, receiver.url("/dead"), ["e.*"], delivery=NEVER)
    event = await post(api)
    for item in (await api("GET", f"/events/{event}/deliveries")).json["items"]:
        await house.settled(api, item["id"])
    found = {
        each["destination"]["id"]: each for each in (await api("GET", SUMMARIES)).json["items"]
    }
    assert [found[each]["inDlq"] for each in (well, dead)] == [0, 1]
    assert found[dead]["atLeast"] is False
    for each in (well, dead):
        day = (await api("GET", f"/destinations/{each}/analytics")).json
        summary = found[each]
        assert summary["destination"] == (await api("GET", f"/destinations/{each}")).json
        assert summary["health"]["destinationId"] == each
        for name, total in summary["totals"].items():
            assert total == day["totals"][name]
            assert total == sum(point[name] for point in summary["series"])
    assert found[dead]["totals"]["deadLettered"] == 1


async def test_summaries_put_destinations_in_trouble_first(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500 if request.path == "/failing" else 204
    await named(api, "idle", receiver.url())
    off = await named(api, "off", receiver.url())
    for name in ("well", "failing"):
        made = await named(api, name, receiver.url(f"/{name}"), delivery=NEVER)
        rule = {"name": "r", "destinationId": made, "eventTypes": ["e.*"]}
        assert (await api("POST", "/routing-rules", rule)).status == 201
    await api("POST", f"/destinations/{off}/disable")
    event = await post(api)
    for item in (await api("GET", f"/events/{event}/deliveries")).json["items"]:
        await house.settled(api, item["id"])
    await house.until(
        api, SUMMARIES, lambda page: page["items"][0]["destination"]["name"] == "failing"
    )
    assert await listed(api) == ["failing", "well", "idle", "off"]
    assert await listed(api, "sort=name") == ["failing", "idle", "off", "well"]
    assert await listed(api, "state=FAILING") == ["failing"]
    assert await listed(api, "state=DISABLED") == ["off"]
    assert await listed(api, "name=L&sort=name") == ["failing", "idle", "well"]
    rule = {"name": "r", "destinationId": off, "eventTypes": ["e.*"]}
    assert (await api("POST", "/routing-rules", rule)).status == 201
    await post(api)  # it waits for a disabled destination
    await house.until(api, SUMMARIES, lambda page: page["items"][0]["destination"]["name"] == "off")


async def test_every_order_of_summaries_is_paged_without_gaps(api: Caller) -> None:
    names = [f"d{number}" for number in range(7)]
    for name in reversed(names):
        await named(api, name, "https://example.com/hooks")
    for sort in ("trouble", "pending", "age", "name"):
        found: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            more = f"&cursor={cursor}" if cursor else ""
            page = (await api("GET", f"{SUMMARIES}?sort={sort}&limit=3{more}")).json
            found += [each["destination"]["name"] for each in page["items"]]
            cursor = page["nextCursor"]
        assert sorted(found) == names
        assert sort != "name" or found == names


async def test_a_cursor_of_summaries_is_good_for_its_order_alone(api: Caller) -> None:
    for name in ("a", "b"):
        await named(api, name, "https://example.com/hooks")
    cursor = (await api("GET", f"{SUMMARIES}?limit=1")).json["nextCursor"]
    answer = await api("GET", f"{SUMMARIES}?limit=1&sort=name&cursor={cursor}")
    assert (answer.status, answer.paths) == (400, ["cursor"])


async def test_an_embed_session_has_summaries_and_analytics_of_its_own_destinations(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    own = await destination(api, receiver.url(), ["e.*"], customerExternalId="ada")
    others = await destination(api, receiver.url(), ["e.*"], customerExternalId="bob")
    for customer in ("ada", "bob", "bob"):
        event = await post(api, customerExternalId=customer)
        for item in (await api("GET", f"/events/{event}/deliveries")).json["items"]:
            await house.settled(api, item["id"])
    ada = await browser_of(house, api, "ada")
    page = (await ada("GET", SUMMARIES)).json
    assert [each["destination"]["id"] for each in page["items"]] == [own]
    counted = (await ada("GET", "/observability/analytics")).json
    assert counted["totals"]["delivered"] == 1
    assert [each["destinationId"] for each in counted["topDestinations"]] == [own]
    whole = (await api("GET", "/observability/analytics")).json
    assert [each["destinationId"] for each in whole["topDestinations"]] == [others, own]
    account = (await api("GET", "/customers/bob")).json["customerAccountId"]
    bobs = f"/observability/analytics?customerAccountId={account}"
    counted = (await api("GET", bobs)).json
    assert counted["totals"]["delivered"] == 2
    assert [each["destinationId"] for each in counted["topDestinations"]] == [others]
    hidden = (await ada("GET", bobs)).json
    assert (hidden["totals"]["attempts"], hidden["topDestinations"]) == (0, [])
    assert await listed(api, "customerExternalId=bob") == ["a test's"]
    assert (await ada("GET", "/observability/counts")).status == 403


async def test_an_environments_analytics_are_the_sums_of_its_destinations(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500 if request.path == "/dead" else 204
    made = [
        await destination(api, receiver.url(path), ["e.*"], delivery=NEVER)
        for path in ("/well", "/dead")
    ]
    event = await post(api)
    for item in (await api("GET", f"/events/{event}/deliveries")).json["items"]:
        await house.settled(api, item["id"])
    for query in ("period=1h", "period=24h&granularity=minute", "period=7d", "period=30d"):
        paths = ["/observability", *(f"/destinations/{each}" for each in made)]
        told: list[Any] = []
        while len({each["to"] for each in told}) != 1:  # until all answers are from the same minute
            asked = [await api("GET", f"{path}/analytics?{query}", check=False) for path in paths]
            told = [each.json for each in asked]
        whole, *parts = told
        for name in ("attempts", "delivered", "failed", "retried", "deadLettered"):
            assert whole["totals"][name] == sum(part["totals"][name] for part in parts)
            assert [point[name] for point in whole["series"]] == [
                sum(each) for each in zip(*([p[name] for p in part["series"]] for part in parts),
                                          strict=True)
            ]  # fmt: skip
        assert whole["errorCategories"] == {"HTTP_5XX": 1}
        assert {each["destinationId"] for each in whole["topDestinations"]} == set(made)


async def test_counts_say_what_waits_is_dead_and_is_switched_off(
    house: ServiceHouse, api: Caller, tenant: Tenant, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 500
    await destination(api, receiver.url(), ["dead"], delivery=NEVER)
    await destination(api, receiver.url(), ["later"], delivery={"retrySchedule": [3600]})
    off = await destination(api, receiver.url(), ["held"])
    await api("POST", f"/destinations/{off}/disable")
    for event_type in ("dead", "later", "held"):
        await post(api, event_type)
    counted = await house.until(
        api,
        "/observability/counts",
        lambda now: (
            now["inDlq"] and now["retrying"] and now["pending"] == 2 and not now["inFlight"]
        ),
    )
    del counted["at"]
    assert counted == {
        "pending": 2,
        "inFlight": 0,
        "retrying": 1,
        "inDlq": 1,
        "atLeast": False,
        "openCircuits": 0,
        "disabled": 1,
    }
