"""Lists of the delivery log with the API's filters, on a whole server."""

from typing import Any

import pytest

from storage.log import searching, walk
from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of, destination, post
from tests.service.receiver import Receiver


async def listed(api: Caller, path: str) -> list[str]:
    answer = await api("GET", path)
    assert answer.status == 200, answer.body
    return [each["id"] for each in answer.json["items"]]


async def test_deliveries_are_listed_by_type_customer_answer_and_replay_job(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 503 if request.path == "/bad" else 204
    never: dict[str, Any] = {"delivery": {"retrySchedule": []}}
    good = await destination(api, receiver.url(), ["a.*"], customerExternalId="c1")
    await destination(api, receiver.url("/bad"), ["b.*"], **never)
    one = await post(api, "a.one", customerExternalId="c1")
    two = await post(api, "b.two")
    (fine,), (bad,) = [await listed(api, f"/events/{each}/deliveries") for each in (one, two)]
    for each in (fine, bad):
        await house.settled(api, each)
    assert await listed(api, "/deliveries?eventType=a.one") == [fine]
    assert await listed(api, "/deliveries?customerExternalId=c1") == [fine]
    assert await listed(api, "/deliveries?responseStatus=503") == [bad]
    assert await listed(api, "/deliveries?responseStatus=204&eventType=b.two") == []
    job = (await api("POST", "/replay-jobs", {"destinationId": good})).json["id"]
    await house.until(api, f"/replay-jobs/{job}", lambda each: each["status"] == "COMPLETED")
    (again,) = await listed(api, f"/deliveries?replayJobId={job}")
    assert again not in (fine, bad)
    own, other = await browser_of(house, api, "c1"), await browser_of(house, api, "c2")
    assert await listed(own, "/deliveries?customerExternalId=c1") == [again, fine]
    assert await listed(other, "/deliveries?customerExternalId=c1") == []
    assert await listed(own, "/deliveries?responseStatus=503") == []


async def test_events_are_listed_by_their_names_and_by_whether_they_were_delivered(
    api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url(), ["a.*"])
    fields = {"correlationId": "c", "requestId": "r", "idempotencyKey": "k"}
    named, missed = await post(api, "a.one", **fields), await post(api, "b.one")
    for query in ("correlationId=c", "requestId=r", "idempotencyKey=k", "undelivered=false"):
        assert await listed(api, f"/events?{query}") == [named]
    assert await listed(api, "/events?undelivered=true") == [missed]
    assert await listed(api, "/events?undelivered=true&correlationId=c") == []


async def test_filters_that_are_repeated_pass_what_has_any_of_their_values(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 503 if request.path == "/bad" else 204
    await destination(api, receiver.url(), ["a.*"])
    never: dict[str, Any] = {"delivery": {"retrySchedule": []}}
    second = await destination(api, receiver.url("/bad"), ["b.*", "c.*"], **never)
    names = ("a.one", "b.two", "c.three", "d.none")
    events, deliveries = [], []
    for name in names:  # one after the other, so that the order of deaths is known
        events.append(await post(api, name, correlationId=name))
        for each in await listed(api, f"/events/{events[-1]}/deliveries"):
            await house.settled(api, each)
            deliveries.append(each)
    a, b, _, d = events
    fine, bad, worse = deliveries
    for query, expected in {
        "status=FAILED&status=DELIVERED": [worse, bad, fine],
        "status=FAILED&status=PENDING": [worse, bad],
        "eventType=a.one&eventType=c.three": [worse, fine],
        f"eventId={a}&eventId={b}": [bad, fine],
        "responseStatus=204&responseStatus=503&eventType=b.two": [bad],
        "errorCategory=HTTP_5XX&errorCategory=TIMEOUT": [worse, bad],
        "kind=EVENT&kind=FILE&priority=HIGH&priority=STANDARD": [worse, bad, fine],
        f"destinationId={second}&destinationId={a}": [worse, bad],
    }.items():
        assert await listed(api, f"/deliveries?{query}") == expected, query
    assert await listed(api, "/events?eventType=a.one&eventType=d.none") == [d, a]
    assert await listed(api, "/events?correlationId=b.two&correlationId=d.none") == [d, b]
    assert await listed(api, "/dlq?eventType=b.two&eventType=c.three&errorCategory=HTTP_5XX") == [
        worse, bad,
    ]  # fmt: skip
    assert len(await listed(api, f"/routing-rules?destinationId={second}&destinationId={a}")) == 1
    made = await listed(api, "/audit-logs?action=destination.create&action=routing_rule.create")
    assert len(made) == 4
    assert len(await listed(api, f"/audit-logs?objectId={second}&objectId={a}")) == 1


async def test_a_value_that_one_old_row_has_is_found_in_one_request(
    api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "EXAMINED", 5)
    monkeypatch.setattr(walk, "FIRST", 3)
    wanted = await post(api, "rare")
    for _ in range(20):
        await post(api, "common")
    page = (await api("GET", "/events?eventType=rare&limit=2")).json
    assert ([each["id"] for each in page["items"]], page["nextCursor"]) == ([wanted], None)
    assert "searchedTo" not in page


async def test_a_page_that_had_to_stop_says_how_far_it_searched(
    api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "EXAMINED", 5)
    monkeypatch.setattr(walk, "FIRST", 3)
    slow = searching._SEARCH.replace("OFFSET", "AND pg_sleep(1)::text IS NOT NULL OFFSET")
    monkeypatch.setattr(searching, "_SEARCH", slow)
    wanted = await post(api, "rare")
    common = [await post(api, "common") for _ in range(20)]
    page = (await api("GET", "/events?eventType=rare&limit=2")).json
    assert page["items"] == []
    assert page["nextCursor"] is not None
    shown = [(await api("GET", f"/events/{each}")).json["receivedAt"] for each in common]
    assert page["searchedTo"] in shown
    whole = (await api("GET", "/events?eventType=rare&limit=2&examine=100")).json
    assert [each["id"] for each in whole["items"]] == [wanted]
    assert "searchedTo" not in whole
    full = (await api("GET", "/events?limit=2")).json
    assert "searchedTo" not in full


async def test_a_page_of_changes_says_how_far_it_searched(
    api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdefgh":
        await destination(api, f"http://127.0.0.1:9/{name}")
    entries = (await api("GET", "/audit-logs?limit=100")).json
    assert "searchedTo" not in entries
    monkeypatch.setattr(walk, "EXAMINED", 5)
    monkeypatch.setattr(walk, "FIRST", 3)
    path = "/audit-logs?objectType=destination&action=routing_rule.create&limit=2"
    page = (await api("GET", path)).json
    assert page["items"] == []
    assert page["nextCursor"] is not None
    assert page["searchedTo"] in [each["createdAt"] for each in entries["items"]]
    while page["nextCursor"] is not None:
        page = (await api("GET", f"{path}&cursor={page['nextCursor']}")).json
    assert "searchedTo" not in page
