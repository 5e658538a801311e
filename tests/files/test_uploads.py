"""Files arrive as raw bytes, as a multipart form, or in JSON. Each file makes an event that describes it,
and the file's bytes are read back unchanged."""

import base64
import hashlib
import json
from typing import Any

import pytest
import trio

from api.multipart import BUFFER_BYTES
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller, Response
from tests.cases import each_case
from tests.files.sending import CONTENT, SHA256, Places, document, form, part, raw
from tests.patience import HANGS_S
from tests.service.house import LOOK_EVERY_S, ServiceHouse, destination, post
from tests.service.receiver import Receiver


async def settled(house: ServiceHouse) -> Places:
    places = Places(house)
    with trio.fail_after(HANGS_S):
        while True:
            if await places.clean():
                return places
            await trio.sleep(LOOK_EVERY_S)


async def shown(api: Caller, told: Response) -> Any:
    assert told.status == 202, told.body
    answer = await api("GET", f"/files/{told.json['id']}")
    assert answer.status == 200, answer.body
    return answer.json


async def test_bytes_as_they_are_become_a_file_and_an_event(
    house: ServiceHouse, api: Caller
) -> None:
    told = await raw(
        api,
        query="?eventType=invoice.made&customerExternalId=acme&fileType=invoice"
        "&metadata=%7B%22n%22%3A%201%7D",
        Content_Disposition="attachment; filename*=UTF-8''Rechnung%20%E2%82%AC.txt",
    )
    assert told.status == 202, told.body
    assert told.json == {
        "id": told.json["id"],
        "eventId": told.json["eventId"],
        "sizeBytes": len(CONTENT),
        "sha256": SHA256,
        "duplicate": False,
        "deliveries": 0,
    }
    file = await shown(api, told)
    assert file | {"createdAt": 0, "expiresAt": 0} == {
        "id": told.json["id"],
        "environment": "DEVELOPMENT",
        "state": "STORED",
        "purpose": "UPLOAD",
        "fileName": "Rechnung €.txt",
        "contentType": "text/plain",
        "fileType": "invoice",
        "sizeBytes": len(CONTENT),
        "sha256": SHA256,
        "metadata": {"n": 1},
        "source": "CONTENT",
        "customerExternalId": "acme",
        "eventId": told.json["eventId"],
        "error": None,
        "createdAt": 0,
        "expiresAt": 0,
    }
    event = (await api("GET", f"/events/{told.json['eventId']}")).json
    assert (event["eventType"], event["origin"]) == ("invoice.made", "FILE")
    assert event["customerExternalId"] == "acme"
    assert event["payload"] == {
        name: file[name]
        for name in (
            "id",
            "fileName",
            "contentType",
            "fileType",
            "sizeBytes",
            "sha256",
            "metadata",
        )
    }
    places = await settled(house)
    assert [each.name for each in places.blobs()] == [SHA256]
    assert places.blobs()[0].read_bytes() == CONTENT


async def test_a_form_is_taken_whatever_the_order_of_its_parts(
    house: ServiceHouse, api: Caller
) -> None:
    told = await form(
        api,
        part("eventType", b"scan.done"),
        part("file", CONTENT, "Content-Type: image/png\r\n", "scan.png"),
        part("fileType", b"scan"),
        part("customerExternalId", b""),
    )
    file = await shown(api, told)
    assert (file["fileName"], file["contentType"], file["fileType"]) == (
        "scan.png",
        "image/png",
        "scan",
    )
    assert (file["sha256"], file["customerExternalId"]) == (SHA256, None)
    told = await form(
        api,
        part("file", CONTENT, "", "scan.png"),
        part("fileName", b"other.png"),
        part("contentType", b"image/gif"),
    )
    file = await shown(api, told)
    assert (file["fileName"], file["contentType"]) == ("other.png", "image/gif")
    assert len((await settled(house)).blobs()) == 1


@pytest.mark.parametrize("content", [b"", b"\r\n", b"\r\n--a-boundar", b"\n" * 70_000, b"--" * 9])
async def test_a_form_gives_back_exactly_its_file(
    house: ServiceHouse, api: Caller, content: bytes
) -> None:
    told = await form(api, part("file", content, "", "f"), part("fileType", b"t"))
    assert told.status == 202, told.body
    assert told.json["sha256"] == hashlib.sha256(content).hexdigest()
    assert (await settled(house)).blobs()[0].read_bytes() == content


async def test_json_takes_base64_data_uris_and_urls(house: ServiceHouse, api: Caller) -> None:
    encoded = base64.b64encode(CONTENT).decode()
    told = await document(api, content=encoded, fileName="a.txt")
    file = await shown(api, told)
    assert (file["sha256"], file["contentType"], file["source"]) == (SHA256, None, "CONTENT")
    uri = f"data:text/plain;charset=utf-8;base64,{encoded}"
    file = await shown(api, await document(api, content=uri))
    assert file["contentType"] == "text/plain;charset=utf-8"
    file = await shown(api, await document(api, source={"kind": "INLINE", "uri": uri}))
    assert (file["sha256"], file["source"]) == (SHA256, "INLINE")
    source = {"kind": "URL", "uri": "https://example.com/f?signature=secret-of-a-url"}
    told = await document(api, source=source)
    assert (told.json["sizeBytes"], told.json["sha256"]) == (None, None)
    answer = await api("GET", f"/files/{told.json['id']}")
    assert answer.json["source"] == "URL"
    assert b"secret-of-a-url" not in answer.body
    stored = await house.server.bridge.pool.fetch_value(
        "SELECT source_url FROM files WHERE source_url IS NOT NULL"
    )
    assert b"secret-of-a-url" not in stored


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "content"),
    "both": ({"content": "", "source": {"kind": "INLINE", "uri": "data:,"}}, "content"),
    "no base64": ({"content": "a b"}, "content"),
    "other base64": ({"content": "QQ"}, "content"),
    "no data URI": ({"source": {"kind": "INLINE", "uri": "https://e.com"}}, "source.uri"),
    "no URL": ({"source": {"kind": "URL", "uri": "ftp://e.com"}}, "source.uri"),
    "a password": ({"source": {"kind": "URL", "uri": "http://u:p@e.com"}}, "source.uri"),
    "another kind": ({"source": {"kind": "FILE", "uri": "x"}}, "source.kind"),
    "a type of ours": ({"content": "", "eventType": "angarium.x"}, "eventType"),
    "no type": ({"content": "", "eventType": "a b"}, "eventType"),
    "a broken type": ({"content": "", "contentType": "text"}, "contentType"),
    "a line in a type": ({"content": "", "contentType": "text/plain;\r\nX: y"}, "contentType"),
    "a long name": ({"content": "", "fileName": "n" * 256}, "fileName"),
    "an unknown field": ({"content": "", "colour": "red"}, "colour"),
    "too much metadata": ({"content": "", "metadata": {"m": "x" * 17_000}}, "metadata"),
}


@each_case("name", REFUSED)
async def test_what_is_wrong_in_json_is_named(house: ServiceHouse, api: Caller, name: str) -> None:
    fields, path = REFUSED[name]
    answer = await document(api, **fields)
    assert (answer.status, answer.code, answer.paths) == (400, "invalid_request", [path])
    assert (await settled(house)).blobs() == []


FORMS = {
    "no file": (part("fileType", b"t"),),
    "two files": (part("file", b"1", "", "a"), part("file", b"2", "", "b")),
    "a file of another name": (part("attachment", b"1", "", "a"),),
    "a field twice": (part("fileType", b"t"), part("fileType", b"t"), part("file", b"1", "", "a")),
    "an unknown field": (part("file", b"1", "", "a"), part("colour", b"red")),
    "broken metadata": (part("file", b"1", "", "a"), part("metadata", b"{")),
    "metadata that is no object": (part("file", b"1", "", "a"), part("metadata", b"[]")),
    "text that is no UTF-8": (part("file", b"1", "", "a"), part("fileType", b"\xff")),
    "NUL": (part("file", b"1", "", "a"), part("fileType", b"a\0b")),
    "NUL in a name": (part("file", b"1", "", "a\0b"),),
    "a number that is too large": (part("file", b"1", "", "a"), part("metadata", b'{"m":1e999}')),
}


@each_case("name", FORMS)
async def test_what_is_wrong_in_a_form_is_refused_and_leaves_nothing(
    house: ServiceHouse, api: Caller, name: str
) -> None:
    answer = await form(api, *FORMS[name])
    assert (answer.status, answer.code) == (400, "invalid_request"), answer.body
    places = await settled(house)
    assert (places.blobs(), await places.count("files")) == ([], 0)


async def test_a_form_that_breaks_off_is_refused(house: ServiceHouse, api: Caller) -> None:
    assert (await form(api, part("file", CONTENT, "", "a"), end=b"")).status == 400
    answer = await api("POST", "/files", body=b"x", headers={"Content-Type": "multipart/form-data"})
    assert answer.status == 400
    huge = await form(api, part("fileType", b"x" * 70_000), part("file", b"1", "", "a"))
    assert huge.code == "payload_too_large"
    assert (await settled(house)).blobs() == []


async def test_the_head_of_a_part_is_bounded(house: ServiceHouse, api: Caller) -> None:
    wide = part("file", b"1", "X-Much: " + "y" * BUFFER_BYTES + "\r\n", "a")
    assert (await form(api, wide)).code == "payload_too_large"
    assert (await settled(house)).blobs() == []


async def test_names_and_numbers_that_cannot_be_kept_are_refused_in_headers_too(
    house: ServiceHouse, api: Caller
) -> None:
    """PostgreSQL cannot store a name with a zero byte. An infinite number in the metadata would make each
    list that contains the file invalid JSON."""
    named = await raw(api, Content_Disposition="attachment; filename*=UTF-8''a%00b")
    assert (named.status, named.paths) == (400, ["fileName"])
    numbered = await raw(api, query="?metadata=%7B%22m%22%3A-1e999%7D")
    assert (numbered.status, numbered.paths) == (400, ["metadata"])
    told = await api(
        "POST",
        "/files",
        body=b'{"content": "", "metadata": {"m": 1e999}}',
        headers={"Content-Type": "application/json"},
    )
    assert (told.status, told.code) == (400, "invalid_request")
    assert (await settled(house)).blobs() == []


async def test_fields_stand_where_the_form_has_them(api: Caller) -> None:
    answer = await api("POST", "/files?fileType=t", {"content": ""})
    assert (answer.status, answer.paths) == (400, ["fileType"])
    answer = await raw(api, query="?colour=red")
    assert (answer.status, answer.paths) == (400, ["colour"])
    assert (await raw(api, b"")).status == 400
    assert (await raw(api, Content_Type="text/pl ain")).paths == ["contentType"]
    said = await raw(api, query="?contentType=application/json", Content_Type="text/plain")
    assert (await shown(api, said))["contentType"] == "application/json"
    assert (await raw(api, query="?contentType=text")).paths == ["contentType"]
    unsaid = await raw(api, Content_Type="application/x-www-form-urlencoded")
    assert (await shown(api, unsaid))["contentType"] is None


async def test_files_go_where_events_go(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    wanted = await destination(api, receiver.url("/all"), ["file.received"])
    rule = {
        "name": "large ones",
        "destinationId": wanted,
        "eventTypes": ["scan.*"],
        "filter": "event.payload.sizeBytes > 100",
    }
    assert (await api("POST", "/routing-rules", rule)).status == 201
    told = await raw(api)
    assert told.json["deliveries"] == 1
    assert (await raw(api, query="?eventType=scan.done")).json["deliveries"] == 0
    assert (await raw(api, b"x" * 101, "?eventType=scan.done")).json["deliveries"] == 1
    deliveries = (await api("GET", f"/events/{told.json['eventId']}/deliveries")).json["items"]
    assert [each["kind"] for each in deliveries] == ["FILE"]
    assert (await house.settled(api, deliveries[0]["id"]))["status"] == "DELIVERED"
    assert (await api("GET", "/deliveries?kind=FILE")).json["items"]


async def test_the_schema_of_a_type_judges_files(house: ServiceHouse, api: Caller) -> None:
    schema = {"properties": {"contentType": {"const": "image/png"}}}
    made = (await api("POST", "/schemas", {"eventType": "scan", "schema": schema})).json
    first = await raw(api, query="?eventType=scan&idempotencyKey=k")
    assert (await api("POST", f"/schemas/{made['id']}/activate", {})).status == 200
    refused = await raw(api, b"another", query="?eventType=scan")
    assert (refused.status, refused.code) == (400, "schema_violation")
    again = await raw(api, query="?eventType=scan&idempotencyKey=k")  # its key is checked first
    assert (again.status, again.json["duplicate"]) == (202, True)
    assert again.json["id"] == first.json["id"]
    places = await settled(house)
    assert (len(places.blobs()), await places.count("files")) == (1, 1)


async def test_a_key_makes_one_file(house: ServiceHouse, api: Caller) -> None:
    first = await raw(api, query="?idempotencyKey=k&fileName=a")
    again = await raw(api, query="?idempotencyKey=k&fileName=a")
    assert again.json == {**first.json, "duplicate": True}
    for content, query in (
        (b"another", "?idempotencyKey=k&fileName=a"),
        (CONTENT, "?idempotencyKey=k&fileName=b"),
        (CONTENT, "?idempotencyKey=k&fileName=a&eventType=other"),
        (CONTENT, "?idempotencyKey=k&fileName=a&customerExternalId=c"),
    ):
        answer = await raw(api, content, query)
        assert (answer.status, answer.code) == (400, "idempotency_mismatch")
    places = await settled(house)
    assert (len(places.blobs()), await places.count("files")) == (1, 1)
    url = {"kind": "URL", "uri": "https://example.com/1"}
    told = await document(api, source=url, idempotencyKey="u")
    again = await document(api, source=url, idempotencyKey="u")
    assert (again.json["id"], again.json["duplicate"]) == (told.json["id"], True)
    other = await document(api, source={**url, "uri": "https://e.com/2"}, idempotencyKey="u")
    assert other.code == "idempotency_mismatch"
    await post(api, "file.received", idempotencyKey="e")
    assert (await raw(api, query="?idempotencyKey=e")).code == "idempotency_mismatch"


async def test_of_many_at_once_with_one_key_one_wins(house: ServiceHouse, tenant: Tenant) -> None:
    told: list[Response] = []
    callers = [await house.caller(tenant) for _ in range(8)]

    async def send(caller: Caller) -> None:
        told.append(await raw(caller, query="?idempotencyKey=k"))

    async with trio.open_nursery() as nursery:
        for caller in callers:
            nursery.start_soon(send, caller)
    assert {each.status for each in told} == {202}
    assert len({each.json["id"] for each in told}) == 1
    assert [each.json["duplicate"] for each in told].count(False) == 1
    places = await settled(house)
    assert (len(places.blobs()), await places.count("files")) == (1, 1)


async def test_equal_content_is_kept_once_an_environment_and_by_nobody_for_two(
    house: ServiceHouse, tenant: Tenant, api: Caller, neighbour: Caller
) -> None:
    other = await house.caller(tenant, environment=Environment.STAGING)
    for caller in (api, api, neighbour, other):
        assert (await raw(caller)).json["duplicate"] is False
    places = await settled(house)
    assert sorted(each.name for each in places.blobs()) == [SHA256] * 3
    assert await places.count("files") == 4


async def test_lists_are_paged_and_filtered(api: Caller) -> None:
    ids = [(await raw(api, b"%d" % n)).json["id"] for n in range(5)]
    await document(api, source={"kind": "URL", "uri": "https://e.com/"}, customerExternalId="c")
    first = (await api("GET", "/files?limit=2&state=STORED")).json
    assert [each["id"] for each in first["items"]] == ids[:-3:-1]
    rest = (await api("GET", f"/files?state=STORED&cursor={first['nextCursor']}")).json
    assert [each["id"] for each in rest["items"]] == ids[-3::-1]
    for query, count in (
        ("state=PENDING", 1),
        ("purpose=UPLOAD", 6),
        ("purpose=ATTACHMENT", 0),
        ("customerExternalId=c", 1),
        ("to=2020-01-01T00:00:00Z", 0),
        ("from=2020-01-01T00:00:00Z", 6),
    ):
        assert len((await api("GET", f"/files?{query}")).json["items"]) == count, query
    assert (await api("GET", "/files?state=LOST")).status == 400


async def test_who_may(house: ServiceHouse, tenant: Tenant, api: Caller, neighbour: Caller) -> None:
    ingester = await house.caller(tenant, Scope.INGEST)
    reader = await house.caller(tenant, Scope.READ)
    told = await raw(ingester)
    assert told.status == 202
    assert (await raw(reader)).status == 403
    assert (await ingester("GET", f"/files/{told.json['id']}")).status == 403
    assert (await reader("GET", f"/files/{told.json['id']}")).status == 200
    assert (await neighbour("GET", f"/files/{told.json['id']}")).status == 404
    session = (await api("POST", "/embed/sessions", {"customerExternalId": "c"})).json["token"]
    embed = house.caller_with(session)
    assert (await embed("POST", "/files")).status == 403
    assert (await embed("GET", "/files")).json["items"] == []
    assert (await embed("GET", f"/files/{told.json['id']}")).status == 404
    mcp = await house.caller(tenant, environment=None)
    assert (await raw(mcp)).status == 400
    assert (await raw(mcp, query="?environment=STAGING")).status == 202


async def test_too_large_is_told_by_the_form(house: ServiceHouse, api: Caller) -> None:
    million = base64.b64encode(b"x" * (1024 * 1024 + 1)).decode()
    answer = await document(api, content=million)
    assert (answer.code, answer.paths) == ("payload_too_large", ["content"])
    edge = base64.b64encode(b"x" * 1024 * 1024).decode()
    assert (await document(api, content=edge)).status == 202
    assert (await document(api, content="x" * 1_600_000)).code == "payload_too_large"
    answer = await raw(api, b"", Content_Length=str(26 * 1024 * 1024))
    assert answer.code == "payload_too_large"
    assert json.loads(answer.body)["requestId"]
    assert len((await settled(house)).blobs()) == 1
