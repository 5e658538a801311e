"""Attachments at ingestion: an accepted event's attachments become files. A refused or repeated event
leaves no file."""

import base64
from typing import Any

import trio

from engine.files.attachments import ATTACHMENTS_MOST
from tests.api.house import Caller
from tests.cases import each_case
from tests.files.sending import Places
from tests.files_delivery.source import Origin, whole
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination
from tests.service.receiver import Receiver

NOBODY = "01939b2e-0000-7000-8000-000000000000"


def inline(content: bytes) -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    return {"source": {"kind": "INLINE", "uri": f"data:text/plain;base64,{data}"}}


def event(*attachments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"eventType": "e.one", "payload": {}, "attachments": list(attachments), **fields}


def at(kind: str, uri: str) -> dict[str, Any]:
    return {"source": {"kind": kind, "uri": uri}}


async def only(house: ServiceHouse, blobs: int, files: int) -> None:
    places = Places(house)
    with trio.fail_after(HANGS_S):
        while not await places.clean():
            await house.server.bridge.pool.fetch_value("SELECT 1")
    assert (len(places.blobs()), await places.count("files")) == (blobs, files)


async def test_a_duplicate_leaves_no_file_behind(house: ServiceHouse, api: Caller) -> None:
    first = await api("POST", "/events", event(inline(b"one"), idempotencyKey="k"))
    again = await api("POST", "/events", event(inline(b"two"), idempotencyKey="k"))
    assert (first.status, again.status) == (202, 202)
    assert again.json["duplicate"] is True
    assert again.json["id"] == first.json["id"]
    await only(house, blobs=1, files=1)


async def test_equal_content_is_kept_once(house: ServiceHouse, api: Caller) -> None:
    for _ in range(2):
        assert (await api("POST", "/events", event(inline(b"x"), inline(b"x")))).status == 202
    await only(house, blobs=1, files=4)


async def test_a_refused_event_leaves_nothing_behind(house: ServiceHouse, api: Caller) -> None:
    told = await api("POST", "/events", event(inline(b"kept?"), at("FILE", NOBODY)))
    assert (told.status, told.paths) == (404, ["attachments[1].source.uri"])
    await only(house, blobs=0, files=0)


async def test_a_key_answers_as_before_when_the_file_it_named_is_gone(
    house: ServiceHouse, api: Caller
) -> None:
    lender = (await api("POST", "/files", {"content": "aGk="})).json
    given = event(at("FILE", lender["id"]), idempotencyKey="k")
    first = await api("POST", "/events", given)
    assert first.status == 202
    await house.server.bridge.pool.fetch("DELETE FROM files WHERE id = $1", lender["id"])
    again = await api("POST", "/events", given)
    assert (again.status, again.json["id"], again.json["duplicate"]) == (
        202,
        first.json["id"],
        True,
    )
    fresh = await api("POST", "/events", event(at("FILE", lender["id"])))
    assert fresh.status == 404


async def test_a_batch_takes_what_can_be_attached_and_refuses_the_rest(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    await destination(api, receiver.url())
    origin.answers["/f"] = whole(b"from afar")
    batch = [
        event(inline(b"a")),
        event(at("FILE", NOBODY)),
        {"eventType": "e.one", "payload": {}},
        event(at("URL", origin.url("/f")), inline(b"b")),
        event(inline(b"c"), idempotencyKey="twice"),
        event(inline(b"d"), idempotencyKey="twice"),
        event(inline(b"e"), at("FILE", "no id")),
    ]
    told = await api("POST", "/events/batch", {"events": batch})
    assert told.status == 202, told.body
    assert (told.json["accepted"], told.json["duplicates"], told.json["rejected"]) == (4, 1, 2)
    lines = told.json["results"]
    assert [line["status"] for line in lines] == [
        "ACCEPTED", "REJECTED", "ACCEPTED", "ACCEPTED", "ACCEPTED", "DUPLICATE", "REJECTED",
    ]  # fmt: skip
    assert {lines[1]["error"]["code"], lines[6]["error"]["code"]} == {"not_found"}
    requests = await receiver.reaches(4)
    counts = sorted(len(each.headers.get("angarium-file-url", "").split()) for each in requests)
    assert counts == [0, 1, 1, 2]
    await only(house, blobs=4, files=4)


async def test_a_batch_of_none_leaves_nothing_behind(house: ServiceHouse, api: Caller) -> None:
    told = await api(
        "POST", "/events/batch", {"events": [event(inline(b"x"), at("FILE", NOBODY))] * 3}
    )
    assert told.status == 400
    await only(house, blobs=0, files=0)


BAD = [
    (at("INLINE", "http://example.com/"), "attachments[0].source.uri"),
    (at("INLINE", "data:text/plain;base64,???"), "attachments[0].source.uri"),
    (at("URL", "ftp://example.com/"), "attachments[0].source.uri"),
    (at("URL", "http://user:word@example.com/"), "attachments[0].source.uri"),
    (at("URL", "http://example.com/" + "x" * 2_100), "attachments[0].source.uri"),
    ({**inline(b""), "fileName": "a\0b"}, "attachments[0].fileName"),
    ({**inline(b""), "fileName": "x" * 2_000}, "attachments[0].fileName"),
    ({**inline(b""), "contentType": "text/html\r\nx: y"}, "attachments[0].contentType"),
    ({**inline(b""), "contentType": "html"}, "attachments[0].contentType"),
    ({**inline(b""), "metadata": []}, "attachments[0].metadata"),
]


@each_case(("attachment", "path"), BAD)
async def test_what_cannot_become_a_file_is_refused_by_its_place(
    api: Caller, attachment: dict[str, Any], path: str
) -> None:
    told = await api("POST", "/events", event(attachment))
    assert (told.status, told.code, told.paths) == (400, "invalid_request", [path])


async def test_so_many_attachments_and_no_more(api: Caller) -> None:
    most = [inline(b"x")] * ATTACHMENTS_MOST
    assert (await api("POST", "/events", event(*most))).status == 202
    told = await api("POST", "/events", event(*most, inline(b"x")))
    assert (told.status, told.paths) == (400, ["attachments"])
    assert (await api("POST", "/events", event())).status == 202


async def test_a_file_that_retention_removed_is_a_failure_that_says_so(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    made = await destination(api, receiver.url(), delivery={"retrySchedule": []})
    assert (await api("POST", f"/destinations/{made}/disable")).status == 200
    told = await api("POST", "/events", event(inline(b"x")))
    await house.server.bridge.pool.fetch("DELETE FROM files")
    assert (await api("POST", f"/destinations/{made}/enable")).status == 200
    (delivery,) = (await api("GET", f"/events/{told.json['id']}/deliveries")).json["items"]
    detail = await house.settled(api, delivery["id"])
    assert detail["status"] == "FAILED"
    assert detail["attempts"][0]["errorMessage"].startswith("the file is gone")
    assert detail["request"] is None
    assert receiver.received == []


async def test_a_file_that_is_yet_to_be_fetched_can_be_attached(
    house: ServiceHouse, api: Caller, receiver: Receiver, origin: Origin
) -> None:
    pending = await api(
        "POST",
        "/files",
        {"source": {"kind": "URL", "uri": origin.url("/f")}, "eventType": "of.nobody"},
    )
    origin.answers["/f"] = whole(b"later")
    await destination(api, receiver.url(), ["e.*"])
    told = await api("POST", "/events", event(at("FILE", pending.json["id"])))
    assert told.status == 202
    (request,) = await receiver.reaches(1)
    assert origin.url("/f").encode() not in request.body
    path = "/" + request.headers["angarium-file-url"].partition("//")[2].partition("/")[2]
    assert (await house.caller_with(None)("GET", path)).body == b"later"
