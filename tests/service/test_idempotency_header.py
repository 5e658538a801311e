"""The header Idempotency-Key on a whole server. It has the same effect as `idempotencyKey` in the
body."""

from typing import Any

from tests.api.house import Caller
from tests.cases import each_case

EVENT: dict[str, Any] = {"eventType": "order.paid", "payload": {"id": 1}}
FILE: dict[str, Any] = {"source": {"kind": "INLINE", "uri": "data:text/plain,hello"}}


@each_case(("path", "body"), [("/events", EVENT), ("/files", FILE)])
async def test_the_header_is_the_key_of_the_body(
    api: Caller, path: str, body: dict[str, Any]
) -> None:
    one, two = f"{path[1:]}-1", f"{path[1:]}-2"
    first = await api("POST", path, body, headers={"Idempotency-Key": one})
    assert (first.status, first.json["duplicate"]) == (202, False), first
    for more, headers in (
        ({}, {"Idempotency-Key": one}),
        ({"idempotencyKey": one}, {}),
        ({"idempotencyKey": one}, {"Idempotency-Key": one}),
    ):
        again = await api("POST", path, {**body, **more}, headers=headers)
        assert (again.json["id"], again.json["duplicate"]) == (first.json["id"], True)
    other = await api("POST", path, body, headers={"Idempotency-Key": two})
    assert other.json["duplicate"] is False


@each_case(("path", "body"), [("/events", EVENT), ("/files", FILE)])
async def test_a_header_that_differs_from_the_body_is_refused(
    api: Caller, path: str, body: dict[str, Any]
) -> None:
    given = {**body, "idempotencyKey": f"{path[1:]}-3"}
    refused = await api("POST", path, given, headers={"Idempotency-Key": "k-3"})
    assert (refused.status, refused.paths) == (400, ["idempotencyKey"])
    for key in ("k" * 257, "a b", "\u00e4"):
        refused = await api("POST", path, body, headers={"Idempotency-Key": key})
        assert (key, refused.status, refused.paths) == (key, 400, ["Idempotency-Key"])
    assert (await api("POST", path, given)).json["duplicate"] is False


async def test_a_batch_with_the_header_is_refused(api: Caller) -> None:
    body = {"events": [EVENT]}
    refused = await api("POST", "/events/batch", body, headers={"Idempotency-Key": "k-4"})
    assert (refused.status, refused.code) == (400, "invalid_request")
    assert "its own idempotencyKey" in refused.json["message"]
