"""Tokens of OAuth 2.0 client credentials, fetched from a token endpoint over real sockets."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import time
from typing import Any

import pytest
import trio

from engine.core.destination import ClientCredentials
from engine.core.vocabulary import ErrorCategory
from engine.outbound.ports import Failure
from engine.outbound.tokens import (
    AT_ONCE,
    AT_ONCE_CUSTOMER,
    AT_ONCE_EACH,
    Tokens,
    token_of,
    token_request,
)
from engine.runtime.background import Background
from tests.wire.street import Gate, Receiver, Street, Visit, answering, open_street

CLIENT = ClientCredentials("http://issuer.example/", "id:1", "s&cret", "a b", None, "HEADER")


def answer(document: Any, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n%b" % (status, more, len(body), body)


TOKEN = answer({"access_token": "abc", "token_type": "Bearer", "expires_in": 100})


ENDPOINT = "the token endpoint "


class Desk:
    def __init__(self, street: Street, background: Background) -> None:
        self.street = street
        self.tokens = Tokens(street.client.wiring, background.spawn, time)
        self.got: list[bytes | Failure] = []

    def key(self, receiver: Receiver, environment: int = 1, **changes: Any) -> Any:
        fields = {
            "token_url": receiver.url, "client_id": "c", "client_secret": "s", "scope": None,
            "audience": None, "client_authentication": "HEADER",
        }  # fmt: skip
        return environment, f"w{environment}", ClientCredentials(**(fields | changes))

    async def ask(
        self, key: Any, times: int = 1, customer: str | None = None
    ) -> list[bytes | Failure]:
        came = trio.Event()
        got: list[bytes | Failure] = []

        def take(result: bytes | Failure) -> None:
            got.append(result)
            if len(got) == times:
                came.set()

        for _ in range(times):
            self.tokens.get(key, take, customer)
        await came.wait()
        return got


@asynccontextmanager
async def open_desk(**settings: Any) -> AsyncIterator[Desk]:
    async with open_street(**settings) as street, trio.open_nursery() as nursery:
        background = Background()
        await nursery.start(background.run)
        yield Desk(street, background)
        nursery.cancel_scope.cancel()


async def test_one_fetch_serves_all_that_wait_and_those_after() -> None:
    gate = Gate()

    async def serve(visit: Visit) -> None:
        await visit.request()
        await gate.opened.wait()
        await visit.send(TOKEN)

    async with open_desk() as desk:
        endpoint = await desk.street.open(serve)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.ask, desk.key(endpoint), 50)
            await endpoint.seen.wait()
            nursery.start_soon(desk.ask, desk.key(endpoint), 50)
            gate.opened.set()
        assert await desk.ask(desk.key(endpoint)) == [b"Bearer abc"]
        assert len(endpoint.requests) == 1


async def test_attempts_beside_one_that_raises_get_the_token() -> None:
    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(TOKEN)

    def breaks(_: bytes | Failure) -> None:
        raise RuntimeError

    async with open_desk() as desk:
        key = desk.key(await desk.street.open(serve))
        desk.tokens.get(key, breaks, None)
        assert await desk.ask(key, 2) == [b"Bearer abc"] * 2


async def test_a_refused_token_is_fetched_anew_and_an_older_one_is_not() -> None:
    async with open_desk() as desk:
        endpoint = await desk.street.open(answering(TOKEN))
        key = desk.key(endpoint)
        (token,) = await desk.ask(key)
        desk.tokens.refused(key, b"Bearer of before")
        await desk.ask(key)
        assert len(endpoint.requests) == 1
        assert isinstance(token, bytes)
        desk.tokens.refused(key, token)
        await desk.ask(key)
        assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (answer({"error": "invalid_client"}, b"401 No"), ENDPOINT + "answered 401 (invalid_client)"),
        (answer({"error": "<script>"}, b"400 No"), ENDPOINT + "answered 400"),
        (answer(b"<html>"), ENDPOINT + "answered without a bearer token"),
        (answer({"access_token": "a", "token_type": "mac"}), ENDPOINT + "answered without a bearer"),
        (answer({"access_token": "a\r\nb: c"}), ENDPOINT + "answered with a token that no header"),
        (answer(b"x" * 70_000), "the token endpoint: its answer is too long"),
        (answer({}, b"302 Found", b"location: http://127.0.0.1/\r\n"), ENDPOINT + "answered 302"),
        (b"HTTP/1.1", "the token endpoint: the answer is malformed: the connection was closed"),
    ],
)  # fmt: skip
async def test_a_failure_of_the_endpoint_is_an_outcome(
    given: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.outbound.tokens.FAILED_S", 3600.0)

    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(given)

    async with open_desk() as desk:
        endpoint = await desk.street.open(serve)
        for _ in range(2):
            (failure,) = await desk.ask(desk.key(endpoint))
            assert isinstance(failure, Failure)
            assert failure.category is ErrorCategory.AUTHENTICATION
            assert failure.message.startswith(words)
        assert len(endpoint.requests) == 1, "it is left alone for a while"


async def test_a_retry_after_of_the_endpoint_is_passed_on() -> None:
    given = answer({}, b"503 Busy", b"retry-after: 7\r\n")
    async with open_desk() as desk:
        endpoint = await desk.street.open(answering(given))
        (failure,) = await desk.ask(desk.key(endpoint))
        assert isinstance(failure, Failure)
        assert failure.retry_after_s == 7


async def test_a_customers_endpoints_that_hang_leave_turns_to_other_customers() -> None:
    async def hang(visit: Visit) -> None:
        await visit.request()
        await trio.sleep_forever()

    async with open_desk() as desk, trio.open_nursery() as nursery:
        hanging = await desk.street.open(hang)
        for number in range(AT_ONCE_EACH):
            key = desk.key(hanging, client_id=str(number))
            nursery.start_soon(desk.ask, key, 1, "a")
        await hanging.seen.wait()
        endpoint = await desk.street.open(answering(TOKEN))
        assert await desk.ask(desk.key(endpoint), customer="b") == [b"Bearer abc"]
        assert hanging.connections <= AT_ONCE_CUSTOMER
        nursery.cancel_scope.cancel()


async def test_endpoints_of_many_tenants_that_hang_leave_turns_to_others() -> None:
    async def hang(visit: Visit) -> None:
        await visit.request()
        await trio.sleep_forever()

    async with open_desk() as desk, trio.open_nursery() as nursery:
        hanging = await desk.street.open(hang)
        tenants = AT_ONCE // AT_ONCE_EACH  # enough tenants to take all places
        for tenant in range(tenants):
            for number in range(AT_ONCE_EACH):
                key = desk.key(hanging, environment=2 + tenant, client_id=str(number))
                nursery.start_soon(desk.ask, key)
        await hanging.seen.wait()
        endpoint = await desk.street.open(answering(TOKEN))
        assert await desk.ask(desk.key(endpoint)) == [b"Bearer abc"]
        nursery.cancel_scope.cancel()


async def test_a_tenant_with_very_many_clients_evicts_no_other_tenants_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.outbound.tokens.KEPT", 3)
    async with open_desk() as desk:
        endpoint = await desk.street.open(answering(TOKEN))
        await desk.ask(desk.key(endpoint))
        for number in range(6):
            await desk.ask(desk.key(endpoint, environment=2, client_id=str(number)))
        assert desk.tokens.fetched == 7
        await desk.ask(desk.key(endpoint))
        assert desk.tokens.fetched == 7, "it is still there"


async def test_the_egress_guard_judges_token_endpoints() -> None:
    async with open_desk(allow="10.0.0.0/8") as desk:
        endpoint = await desk.street.open(answering(TOKEN))
        (failure,) = await desk.ask(desk.key(endpoint))
        assert isinstance(failure, Failure)
        assert failure.category is ErrorCategory.BLOCKED_ADDRESS
        assert "ANGARIUM_EGRESS_ALLOW" in failure.message
        assert endpoint.connections == 0


def test_a_request_has_the_form_and_the_client_as_the_rfc_says() -> None:
    headers, body = token_request(CLIENT)
    assert body == b"grant_type=client_credentials&scope=a+b"
    assert dict(headers)[b"authorization"] == b"Basic aWQlM0ExOnMlMjZjcmV0"  # id%3A1:s%26cret
    in_body = ClientCredentials("http://i/", "c", "s", None, "api", "BODY")
    headers, body = token_request(in_body)
    assert body == b"grant_type=client_credentials&audience=api&client_id=c&client_secret=s"
    assert b"authorization" not in dict(headers)


@pytest.mark.parametrize(
    ("life", "kept_s"),
    [
        (3600, 3570),
        (100, 80),
        ("100", 80),
        (None, 3570),
        (-1, 3570),
        ("soon", 3570),
        (True, 3570),
        ("²", 3570),
        (1e-9, 8e-10),
    ],
)
def test_a_token_is_renewed_before_it_expires(life: object, kept_s: float) -> None:
    document = {"access_token": "t"} | ({} if life is None else {"expires_in": life})
    assert token_of(json.dumps(document).encode()) == (b"Bearer t", kept_s)
