"""Files on their way to a receiver in the real service: signed URLs, and the same bytes in every
attempt."""

import base64
import hashlib
import json
import os
from typing import Any

import pytest
import trio

from tests.api.house import Caller, Response
from tests.files_delivery.source import Origin, saying, whole
from tests.service.house import ServiceHouse, destination
from tests.service.receiver import Received, Receiver

CONTENT = os.urandom(300_000)
SCHEDULE: dict[str, Any] = {"delivery": {"retrySchedule": [1, 1, 1]}}


async def downloaded(house: ServiceHouse, url: str, **headers: str) -> Response:
    _, _, path = url.partition("//")
    return await house.caller_with(None, **headers)("GET", "/" + path.partition("/")[2])


async def uploaded(api: Caller, **fields: Any) -> Any:
    told = await api("POST", "/files", fields)
    assert told.status == 202, told.body
    return told.json


def urls_of(request: Received) -> list[str]:
    return request.headers["angarium-file-url"].split(", ")


async def only_delivery(house: ServiceHouse, api: Caller, event: str) -> Any:
    found = (await api("GET", f"/events/{event}/deliveries")).json["items"]
    assert len(found) == 1
    return await house.settled(api, found[0]["id"])


async def test_an_upload_is_delivered_by_a_signed_url(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    await destination(api, receiver.url())
    told = await uploaded(
        api,
        fileName="Übersicht.pdf",
        contentType="application/pdf",
        content=base64.b64encode(CONTENT).decode(),
        metadata={"order": 42},
    )
    (request,) = await receiver.reaches(1)
    assert request.json["data"] == {
        "id": told["id"],
        "fileName": "Übersicht.pdf",
        "contentType": "application/pdf",
        "fileType": None,
        "sizeBytes": len(CONTENT),
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "metadata": {"order": 42},
    }
    (url,) = urls_of(request)
    answer = await downloaded(house, url)
    assert answer.status == 200
    assert answer.body == CONTENT
    assert answer.headers["content-type"] == "application/pdf"
    assert answer.headers["content-disposition"].startswith("attachment; ")
    listed = (await api("GET", "/deliveries?kind=FILE")).json["items"]
    assert [each["eventId"] for each in listed] == [told["eventId"]]
    assert (await api("GET", "/deliveries?kind=EVENT")).json["items"] == []
    detail = await house.settled(api, listed[0]["id"])
    assert detail["kind"] == "FILE"
    assert detail["request"]["headers"]["angarium-file-url"] == "***"
    assert url.encode() not in (await api("GET", f"/deliveries/{listed[0]['id']}")).body


async def test_attachments_of_all_kinds_become_files(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    await destination(api, receiver.url())
    origin.answers["/a.pdf?secret=hunter2"] = whole(CONTENT)
    lender = await uploaded(
        api,
        fileName="lent.png",
        contentType="image/png",
        content=base64.b64encode(b"lent").decode(),
        eventType="not.this",
    )
    await receiver.reaches(1)
    event = json.dumps(
        {
            "eventType": "report.made",
            "payload": {},
            "attachments": [
                {
                    "source": {"kind": "INLINE", "uri": "data:text/csv;base64,YSxiCg=="},
                    "metadata": {"n": 123456789012345678901234567890},
                },
                {"source": {"kind": "FILE", "uri": lender["id"]}, "fileName": "mine.png"},
                {
                    "source": {"kind": "URL", "uri": origin.url("/a.pdf?secret=hunter2")},
                    "sizeBytes": 5,
                },
            ],
        },
        separators=(",", ":"),
    )
    told = await api("POST", "/events", body=event.encode())
    assert told.status == 202, told.body
    request = (await receiver.reaches(2))[1]
    assert b"hunter2" not in request.body
    assert b'"metadata":{"n":123456789012345678901234567890}' in request.body
    inline, lent, fetched = request.json["attachments"]
    assert {each["source"]["kind"] for each in (inline, lent, fetched)} == {"FILE"}
    assert (inline["contentType"], inline["sizeBytes"]) == ("text/csv", 4)
    assert (lent["fileName"], lent["contentType"], lent["sizeBytes"]) == (
        "mine.png",
        "image/png",
        4,
    )
    assert fetched["sizeBytes"] == len(CONTENT), "as it was measured, whatever its sender said"
    assert fetched["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert inline["sha256"] == hashlib.sha256(b"a,b\n").hexdigest()
    bodies = [(await downloaded(house, url)).body for url in urls_of(request)]
    assert bodies == [b"a,b\n", b"lent", CONTENT]
    shown = (await api("GET", f"/events/{told.json['id']}")).json["attachments"]
    assert shown == json.loads(request.body)["attachments"]
    for entry in shown:
        file = (await api("GET", f"/files/{entry['source']['uri']}")).json
        assert (file["state"], file["eventId"]) == ("STORED", told.json["id"])


async def test_every_attempt_sends_the_same_bytes_and_another_url(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    statuses = iter([500, 500, 204])
    receiver.answer = lambda _: next(statuses)
    origin.answers["/f"] = whole(CONTENT)
    await destination(api, receiver.url(), **SCHEDULE)
    told = await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
    assert (told["sizeBytes"], told["sha256"]) == (None, None)
    requests = await receiver.reaches(3)
    assert len({each.body for each in requests}) == 1
    assert requests[0].json["data"]["sizeBytes"] == len(CONTENT)
    assert len({each.headers["angarium-file-url"] for each in requests}) > 1
    assert origin.times("/f") == 1
    event = (await api("GET", f"/events/{told['eventId']}")).json
    assert event["payload"] == requests[0].json["data"]


async def test_a_source_that_fails_is_a_failed_attempt_and_is_tried_again(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    origin.answers["/f"] = saying(503)
    await destination(api, receiver.url(), **SCHEDULE)
    told = await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
    await origin.was_asked("/f")
    origin.answers["/f"] = whole(CONTENT)
    detail = await only_delivery(house, api, told["eventId"])
    assert detail["status"] == "DELIVERED"
    first, *_ = detail["attempts"]
    assert (first["errorCategory"], first["responseStatus"]) == ("HTTP_5XX", None)
    assert first["errorMessage"] == "the file's source answered 503"
    (request,) = receiver.received
    assert (await downloaded(house, urls_of(request)[0])).body == CONTENT


FAILURES = [
    (saying(404), "HTTP_4XX"),
    (saying(410), "HTTP_4XX"),
    (saying(429, "retry-after: 1"), "RATE_LIMITED"),
    (saying(302, "location: http://169.254.169.254/"), "BLOCKED_ADDRESS"),
    (saying(302, "location: /f"), "REDIRECT"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "PROTOCOL"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\nhello", "PROTOCOL"),
    (b"", "CONNECTION"),
]


@pytest.mark.parametrize(("answer", "category"), FAILURES, ids=[c for _, c in FAILURES])
async def test_a_source_that_never_gives_its_file_ends_in_the_dead_letter_queue(
    house: ServiceHouse,
    api: Caller,
    receiver: Receiver,
    origin: Origin,
    answer: bytes,
    category: str,
) -> None:
    origin.answers["/f"] = answer
    made = await destination(api, receiver.url(), delivery={"retrySchedule": []})
    told = await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
    detail = await only_delivery(house, api, told["eventId"])
    assert (detail["status"], detail["dlqStatus"]) == ("FAILED", "IN_DLQ")
    assert detail["errorCategory"] == category
    assert receiver.received == []
    # The source failed, not the destination, which stays ACTIVE.
    assert (await api("GET", f"/destinations/{made}")).json["status"] == "ACTIVE"
    assert (await api("GET", f"/files/{told['id']}")).json["state"] == "PENDING"
    assert (await api("GET", f"/files/{told['id']}/content")).code == "conflict"
    origin.answers["/f"] = whole(b"at last")
    # A source's failure is cached briefly and returned immediately.
    while detail["status"] != "DELIVERED":
        assert (await api("POST", f"/dlq/{detail['id']}/retry")).status == 200
        detail = await house.settled(api, detail["id"])
    (request,) = receiver.received
    assert (await downloaded(house, urls_of(request)[0])).body == b"at last"


async def test_failures_of_sources_open_no_circuit(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    origin.answers["/f"] = saying(500)
    made = await destination(api, receiver.url(), delivery={"retrySchedule": []})
    for _ in range(12):
        told = await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
        await only_delivery(house, api, told["eventId"])
    health = (await api("GET", f"/destinations/{made}/health")).json
    assert health["circuit"]["state"] == "CLOSED"
    await api("POST", "/events", {"eventType": "e", "payload": {}})
    await receiver.reaches(1)


async def test_many_destinations_ask_a_source_once(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    held = trio.Event()

    async def slowly(stream: trio.SocketStream) -> None:
        await held.wait()
        await stream.send_all(whole(CONTENT))

    origin.answers["/f"] = slowly
    for number in range(20):
        await destination(api, receiver.url(f"/{number}"))
    await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
    await origin.was_asked("/f")
    held.set()
    requests = await receiver.reaches(20)
    assert len({each.body for each in requests}) == 1
    assert origin.times("/f") == 1


async def test_a_file_that_no_rule_matched_is_fetched_all_the_same(
    house: ServiceHouse, api: Caller, origin: Origin
) -> None:
    origin.answers["/f"] = whole(CONTENT, "text/csv")
    told = await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
    assert told["deliveries"] == 0
    shown = await house.until(api, f"/files/{told['id']}", lambda file: file["state"] == "STORED")
    assert (shown["sizeBytes"], shown["contentType"]) == (len(CONTENT), "text/csv")
    assert (await api("GET", f"/files/{told['id']}/content")).body == CONTENT
    event = (await api("GET", f"/events/{told['eventId']}")).json
    assert event["payload"]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


async def test_a_replay_carries_the_file_again(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    origin.answers["/f"] = whole(CONTENT)
    made = await destination(api, receiver.url())
    told = await uploaded(api, source={"kind": "URL", "uri": origin.url("/f")})
    detail = await only_delivery(house, api, told["eventId"])
    job = await api("POST", "/replay-jobs", {"destinationId": made, "deliveryIds": [detail["id"]]})
    assert job.status == 201, job.body
    first, again = await receiver.reaches(2)
    assert first.body == again.body
    assert (await downloaded(house, urls_of(again)[0])).body == CONTENT
    assert origin.times("/f") == 1
