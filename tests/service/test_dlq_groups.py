"""The dead-letter queue: lists in order of death, lists of groups, and bulk changes. A bulk change can
concern one group, or have a limit on its number or rate."""

import pytest

from api.cli.remote.dlq import MOST
from engine.control.dlq import MOST as OF_ONE_REQUEST
from storage.dead_letters import listing
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver
from tests.service.test_dlq import dead

STATUSES = {"e.one": 500, "e.two": 404}


async def dead_of_two_causes(house: ServiceHouse, api: Caller, receiver: Receiver) -> str:
    """Let three deliveries die with status 500, and two with 404."""
    receiver.answer = lambda request: STATUSES[request.json["type"]]
    target = await destination(api, receiver.url(), ["e.*"], delivery={"retrySchedule": []})
    for number, event_type in enumerate(("e.one", "e.two", "e.one", "e.two", "e.one"), 1):
        await post(api, event_type)  # one after the other, so that the order of deaths is known
        await house.until(api, "/dlq", lambda page, number=number: len(page["items"]) == number)
    return target


async def test_groups_count_what_died_of_the_same(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target = await dead_of_two_causes(house, api, receiver)
    found = (await api("GET", "/dlq/groups")).json["items"]
    entries = {each["id"]: each for each in (await api("GET", "/dlq")).json["items"]}
    shown = [
        (each["destinationId"], each["errorCategory"], each["responseStatus"], each["count"])
        for each in found
    ]
    assert shown == [(target, "HTTP_5XX", 500, 3), (target, "HTTP_4XX", 404, 2)]
    for each in found:
        sample = entries[each["sampleId"]]
        assert each["atLeast"] is False
        assert each["lastError"] == sample["lastError"]
        assert each["eventTypes"] == [sample["eventType"]]
        assert each["firstAt"] <= each["lastAt"] == sample["deadLetteredAt"]
        of_group = await api("GET", f"/dlq?signature={each['signature']}")
        assert len(of_group.json["items"]) == each["count"]


async def test_groups_are_paged(house: ServiceHouse, api: Caller, receiver: Receiver) -> None:
    await dead_of_two_causes(house, api, receiver)
    first = (await api("GET", "/dlq/groups?limit=1")).json
    second = (await api("GET", f"/dlq/groups?limit=1&cursor={first['nextCursor']}")).json
    assert [each["count"] for each in first["items"] + second["items"]] == [3, 2]
    assert second["nextCursor"] is None


async def test_a_group_is_retried_and_another_discarded(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    await dead_of_two_causes(house, api, receiver)
    large, small = (each["signature"] for each in (await api("GET", "/dlq/groups")).json["items"])
    receiver.answer = lambda _: 204
    retried = (await api("POST", "/dlq/retry", {"signature": large})).json
    discarded = (await api("POST", "/dlq/discard", {"signature": small})).json
    assert (retried["matched"], retried["retried"]) == (3, 3)
    assert (discarded["matched"], discarded["discarded"]) == (2, 2)
    assert (await api("GET", "/dlq/groups")).json["items"] == []


async def test_a_limit_leaves_the_rest_in_the_queue(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, _ = await dead(house, api, receiver, 5)
    answer = await api("POST", "/dlq/discard", {"destinationId": target, "limit": 2})
    assert answer.json == {"matched": 5, "discarded": 2, "remaining": 3, "dryRun": False}


async def test_a_rate_bounds_what_one_request_does(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, _ = await dead(house, api, receiver, 7)
    body = {"destinationId": target, "ratePerSecond": 0.5}
    answer = (await api("POST", "/dlq/discard", body)).json
    assert 0 < answer["discarded"] <= 3  # as many as fit in five seconds
    assert answer["discarded"] + answer["remaining"] == 7


async def test_the_queue_is_in_the_order_of_death(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    target, born = await dead(house, api, receiver, 4)
    again = born[0]  # the oldest, which dies again and is then the latest dead
    await api("POST", f"/dlq/{again}/retry", {})
    await house.until(
        api, f"/dlq/{again}", lambda entry: entry is not None and entry["attemptCount"] == 2
    )
    order = [again, *reversed(born[1:])]
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await api("GET", f"/dlq?limit=3{cursor and '&cursor=' + cursor}")).json
        found += [each["id"] for each in page["items"]]
        cursor = page["nextCursor"]
    times = {each: (await api("GET", f"/dlq/{each}")).json["deadLetteredAt"] for each in born}
    assert found[0] == again
    assert found == sorted(order, key=lambda each: (times[each], each), reverse=True)
    latest = times[again]
    for query, expected in ((f"from={latest}", {again}), (f"to={latest}", set(born) - {again})):
        page = (await api("GET", f"/dlq?destinationId={target}&{query}")).json
        assert {each["id"] for each in page["items"]} == expected
    body = {"from": latest, "dryRun": True}
    assert (await api("POST", "/dlq/discard", body)).json["matched"] == 1


def test_the_command_asks_for_no_more_than_a_request_does() -> None:
    assert MOST == OF_ONE_REQUEST


async def test_a_page_that_had_to_stop_says_how_far_back_in_death_it_searched(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dead_of_two_causes(house, api, receiver)
    entries = (await api("GET", "/dlq")).json["items"]
    deaths = [each["deadLetteredAt"] for each in entries]
    monkeypatch.setattr(listing, "EXAMINED", 2)
    monkeypatch.setattr(listing, "SCATTERED", 2)
    # Make the search beyond the examined rows exceed its time limit.
    slow = listing._SEARCH.replace("ORDER BY", "AND pg_sleep(1)::text IS NOT NULL ORDER BY")
    monkeypatch.setattr(listing, "_SEARCH", slow)
    listing.search_statement.cache_clear()
    try:
        path = f"/dlq?eventType={entries[-1]['eventType']}&errorCategory=HTTP_5XX&limit=5"
        pages = [(await api("GET", path)).json]
        while pages[-1]["nextCursor"] is not None:
            pages.append((await api("GET", f"{path}&cursor={pages[-1]['nextCursor']}")).json)
    finally:
        listing.search_statement.cache_clear()
    assert [page.get("searchedTo") for page in pages] == [deaths[1], deaths[3], None]
    found = [each["id"] for page in pages for each in page["items"]]
    assert found == [each["id"] for each in entries if each["eventType"] == "e.one"]
    full = (await api("GET", "/dlq?limit=2")).json
    assert len(full["items"]) == 2
    assert "searchedTo" not in full


async def test_groups_say_how_far_back_in_death_they_were_counted(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await dead_of_two_causes(house, api, receiver)
    deaths = [each["deadLetteredAt"] for each in (await api("GET", "/dlq")).json["items"]]
    whole = (await api("GET", "/dlq/groups")).json
    assert "searchedTo" not in whole
    monkeypatch.setattr(listing, "GROUPED", 3)
    part = (await api("GET", "/dlq/groups")).json
    assert (part["searchedTo"], sum(each["count"] for each in part["items"])) == (deaths[2], 3)
    assert all(each["atLeast"] for each in part["items"])
    none = (await api("GET", "/dlq/groups?eventType=e.none")).json
    assert none == {"items": [], "nextCursor": None, "searchedTo": deaths[2]}
    assert (await api("GET", "/dlq/groups?eventType=e.none&to=2020-01-01T00:00:00Z")).json == {
        "items": [],
        "nextCursor": None,
    }
