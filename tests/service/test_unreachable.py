"""Unreachable addresses. A request that creates a destination with such an address, or gives a
destination such an address, is refused (400)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from storage.database.bridge import Bridge
from tests.api.house import Caller, Response
from tests.service.house import open_service

PUBLIC = "https://93.184.216.34/hook"  # an address, so that no test asks a name server
# `localhost` resolves to private addresses on every machine.
UNREACHABLE = ("10.0.0.5", "169.254.169.254", "127.0.0.1", "[::1]", "[fd00::1]", "localhost")


@pytest.fixture
async def strict(bridge: Bridge) -> AsyncIterator[Caller]:
    """A caller. Its server must not connect to private networks."""
    async with open_service(bridge, egress_allow="") as house:
        yield await house.caller(await house.tenant("acme"))


def told(answer: Response, field: str, host: str) -> None:
    assert (answer.status, answer.code) == (400, "invalid_request"), answer.body
    (detail,) = answer.json["details"]
    assert detail["path"] == field
    assert host.strip("[]") in detail["message"]
    assert "ANGARIUM_EGRESS_ALLOW" in detail["message"]


async def test_a_destination_with_an_unreachable_address_is_neither_made_nor_changed(
    strict: Caller,
) -> None:
    made = await strict("POST", "/destinations", {"name": "public", "url": PUBLIC})
    assert made.status == 201, made.body
    path = f"/destinations/{made.json['id']}"
    for host in UNREACHABLE:
        url = f"http://{host}:8080/hook"
        told(await strict("POST", "/destinations", {"name": "private", "url": url}), "url", host)
        told(await strict("PATCH", path, {"url": url}), "url", host)
    present = (await strict("GET", path)).json
    assert (present["url"], present["updatedAt"]) == (PUBLIC, made.json["updatedAt"])
    assert len((await strict("GET", "/destinations")).json["items"]) == 1


async def test_a_token_endpoint_with_an_unreachable_address_is_refused(strict: Caller) -> None:
    def document(host: str) -> dict[str, Any]:
        return {
            "kind": "OAUTH2_CLIENT_CREDENTIALS",
            "tokenUrl": f"https://{host}/token",
            "clientId": "c",
            "clientSecret": "s3cret",
        }

    fields = {"name": "public", "url": PUBLIC}
    made = await strict(
        "POST", "/destinations", {**fields, "authentication": document("93.184.216.34")}
    )
    assert made.status == 201, made.body
    for host in UNREACHABLE:
        change = {"authentication": document(host)}
        field = "authentication.tokenUrl"
        told(await strict("POST", "/destinations", {**fields, **change}), field, host)
        told(await strict("PATCH", f"/destinations/{made.json['id']}", change), field, host)


async def test_a_network_that_is_allowed_is_no_objection(bridge: Bridge) -> None:
    async with open_service(bridge, egress_allow="10.0.0.0/8") as house:
        caller = await house.caller(await house.tenant("acme"))
        for url, status in (("http://10.0.0.5/", 201), ("http://192.168.0.5/", 400)):
            made = await caller("POST", "/destinations", {"name": "inside", "url": url})
            assert made.status == status, made.body
