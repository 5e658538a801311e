"""The synchronous and the asynchronous client. They send correct requests, retry safe requests, and raise
the right errors."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import trio

import angarium
from angarium.calls import instant
from angarium.filters import DeliveryFilter
from tests.patience import HANGS_S

ADDRESS = "http://service.test:8080/"
KEY = "ang_dev_secret"
QUICK = angarium.RetryPolicy(retries=2, first_delay_s=0.0)
Script = Callable[[httpx.Request], httpx.Response]


class Service:
    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        kept = {"content-type", "retry-after", "location"}
        headers = {name: value for name, value in answer.headers.items() if name in kept}
        return httpx.Response(answer.status_code, headers=headers, content=answer.content)

    def sync_client(self, **options: Any) -> angarium.Client:
        return angarium.Client(
            ADDRESS, KEY, retry=QUICK, transport=httpx.MockTransport(self), **options
        )

    def async_client(self, **options: Any) -> angarium.AsyncClient:
        return angarium.AsyncClient(
            ADDRESS, KEY, retry=QUICK, transport=httpx.MockTransport(self), **options
        )

    def body(self, number: int = -1) -> Any:
        return json.loads(self.requests[number].content)


def ok(body: Any = None, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={} if body is None else body)


def refused(status: int, code: str, headers: dict[str, str] | None = None) -> httpx.Response:
    envelope = {
        "code": code,
        "message": "no",
        "requestId": "r1",
        "details": [{"path": "delivery.timeoutMs", "message": "too small"}],
    }
    return httpx.Response(status, json=envelope, headers=headers)


Use = Callable[[angarium.Client], Any]
CALLS: list[tuple[str, Use, str, str]] = [
    ("context", lambda c: c.auth_context(), "GET", "/auth/context"),
    ("send", lambda c: c.events.send("a.b", {}), "POST", "/events"),
    ("batch", lambda c: c.events.send_batch([]), "POST", "/events/batch"),
    ("event", lambda c: c.events.get("i"), "GET", "/events/i"),
    ("events", lambda c: c.events.list(limit=5), "GET", "/events?limit=5"),
    ("create", lambda c: c.destinations.create("n", "u"), "POST", "/destinations"),
    ("get", lambda c: c.destinations.get("a/b"), "GET", "/destinations/a%2Fb"),
    ("list", lambda c: c.destinations.list(status="ACTIVE"), "GET", "/destinations?status=ACTIVE"),
    ("update", lambda c: c.destinations.update("i", {"name": "x"}), "PATCH", "/destinations/i"),
    ("rotate", lambda c: c.destinations.rotate_secret("i"), "PATCH", "/destinations/i"),
    ("archive", lambda c: c.destinations.archive("i"), "DELETE", "/destinations/i"),
    ("enable", lambda c: c.destinations.enable("i"), "POST", "/destinations/i/enable"),
    ("disable", lambda c: c.destinations.disable("i"), "POST", "/destinations/i/disable"),
    ("test", lambda c: c.destinations.test("i"), "POST", "/destinations/i/test"),
    ("health", lambda c: c.destinations.health("i"), "GET", "/destinations/i/health"),
    ("rule", lambda c: c.routing_rules.create("n", "d", ["*"]), "POST", "/routing-rules"),
    ("rule get", lambda c: c.routing_rules.get("i"), "GET", "/routing-rules/i"),
    ("rules", lambda c: c.routing_rules.list(enabled=True), "GET", "/routing-rules?enabled=true"),
    ("rule up", lambda c: c.routing_rules.update("i", {}), "PATCH", "/routing-rules/i"),
    ("rule del", lambda c: c.routing_rules.delete("i"), "DELETE", "/routing-rules/i"),
    ("rule on", lambda c: c.routing_rules.enable("i"), "POST", "/routing-rules/i/enable"),
    ("rule off", lambda c: c.routing_rules.disable("i"), "POST", "/routing-rules/i/disable"),
    ("delivery", lambda c: c.deliveries.get("i"), "GET", "/deliveries/i"),
    ("deliveries", lambda c: c.deliveries.list(), "GET", "/deliveries"),
]


@pytest.mark.parametrize(
    ("use", "method", "path"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS]
)
async def test_both_clients_make_the_same_request(use: Use, method: str, path: str) -> None:
    service = Service(ok())
    with service.sync_client() as client:
        use(client)
    async with service.async_client() as aclient:
        await use(aclient)  # type: ignore[arg-type]  # the same methods, awaited
    for request in service.requests:
        assert (request.method, request.url.raw_path.decode()) == (method, path)
        assert request.headers["authorization"] == f"Bearer {KEY}"
    first, second = service.requests
    bodies = [json.loads(r.content) if r.content else None for r in (first, second)]
    for body in bodies:
        if body:
            body.pop("idempotencyKey", None)
    assert bodies[0] == bodies[1]


def test_an_event_is_written_in_the_apis_words() -> None:
    service = Service(ok(status=202))
    with service.sync_client() as client:
        client.events.send(
            "a.b",
            {"n": 1},
            occurred_at=datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=UTC),
            customer_external_id="c",
            idempotency_key="k",
            correlation_id="o",
            traceparent="00-1-2-01",
            tracestate="a=1",
        )
    assert service.body() == {
        "eventType": "a.b",
        "payload": {"n": 1},
        "occurredAt": "2026-01-02T03:04:05.006Z",
        "customerExternalId": "c",
        "idempotencyKey": "k",
        "correlationId": "o",
        "traceparent": "00-1-2-01",
        "tracestate": "a=1",
    }


def test_retries_of_an_event_carry_one_idempotency_key() -> None:
    service = Service(refused(500, "internal"), httpx.ReadError("reset"), ok(status=202))
    with service.sync_client() as client:
        client.events.send("a.b", {})
    keys = [service.body(number)["idempotencyKey"] for number in range(3)]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_each_event_of_a_batch_gets_a_key_unless_it_has_one() -> None:
    service = Service(ok(status=202))
    events: list[Any] = [
        {"eventType": "a", "payload": {}},
        {"eventType": "b", "payload": {}, "idempotencyKey": "mine"},
        {"eventType": "c", "payload": {}},
    ]
    with service.sync_client() as client:
        client.events.send_batch(events)
    keys = [event["idempotencyKey"] for event in service.body()["events"]]
    assert keys[1] == "mine"
    assert len(set(keys)) == 3
    assert "idempotencyKey" not in events[0], "the caller's own data is left alone"


@pytest.mark.parametrize(
    ("answer", "tries"),
    [
        (refused(503, "overloaded", {"retry-after": "0"}), 3),
        (httpx.Response(503, text="<html>upstream is gone</html>"), 1),
        (refused(429, "rate_limited", {"retry-after": "0"}), 3),
        (refused(429, "rate_limited", {"retry-after": "3600"}), 1),
        (refused(500, "internal"), 1),
        (httpx.ReadTimeout("late"), 1),
        (httpx.ConnectError("refused"), 3),
    ],
    ids=[
        "overloaded",
        "a proxy's 503",
        "limited",
        "limited for long",
        "internal",
        "no answer",
        "not reached",
    ],
)
def test_a_create_is_repeated_only_when_it_surely_did_nothing(
    answer: httpx.Response | Exception, tries: int
) -> None:
    service = Service(answer)
    with service.sync_client() as client, pytest.raises(angarium.AngariumError):
        client.destinations.create("n", "u")
    assert len(service.requests) == tries


async def test_the_asynchronous_client_retries_under_trio() -> None:
    service = Service(refused(503, "overloaded"), httpx.ConnectError("refused"), ok({"id": "i"}))
    async with service.async_client() as client:
        with trio.fail_after(HANGS_S):
            assert (await client.destinations.get("i"))["id"] == "i"
    assert len(service.requests) == 3


async def test_the_asynchronous_client_retries_under_asyncio() -> None:
    service = Service(refused(503, "overloaded"), httpx.ConnectError("refused"), ok({"id": "i"}))

    async def use() -> str:
        async with service.async_client() as client:
            return (await client.destinations.get("i"))["id"]

    with trio.fail_after(HANGS_S):
        assert await trio.to_thread.run_sync(asyncio.run, use()) == "i"
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_request", angarium.InvalidRequestError),
        (401, "unauthorized", angarium.AuthenticationError),
        (402, "plan_limit", angarium.PlanLimitError),
        (403, "forbidden", angarium.PermissionDeniedError),
        (404, "not_found", angarium.NotFoundError),
        (405, "method_not_allowed", angarium.InvalidRequestError),
        (408, "request_timeout", angarium.ServerError),
        (409, "conflict", angarium.ConflictError),
        (413, "payload_too_large", angarium.InvalidRequestError),
        (415, "unsupported_media_type", angarium.InvalidRequestError),
        (429, "rate_limited", angarium.RateLimitedError),
        (500, "internal", angarium.ServerError),
        (503, "overloaded", angarium.ServerError),
    ],
)
def test_each_refusal_has_its_error(status: int, code: str, kind: type[angarium.ApiError]) -> None:
    service = Service(refused(status, code, {"retry-after": "0"}))
    with service.sync_client() as client, pytest.raises(kind) as raised:
        client.destinations.get("i")
    error = raised.value
    assert (error.status, error.code, error.request_id) == (status, code, "r1")
    assert error.details[0].path == "delivery.timeoutMs"
    assert "delivery.timeoutMs: too small" in str(error)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(404, text="<html>"),
        httpx.Response(404, json=["no"]),
        httpx.Response(302, headers={"location": "http://elsewhere.test/"}),
    ],
)
def test_an_answer_of_something_else_is_said_to_be_one(answer: httpx.Response) -> None:
    service = Service(answer)
    with service.sync_client() as client, pytest.raises(angarium.UnexpectedAnswerError):
        client.destinations.get("i")
    assert {request.url.host for request in service.requests} == {"service.test"}


def page(items: list[int], cursor: str | None) -> httpx.Response:
    return ok({"items": [{"id": str(item)} for item in items], "nextCursor": cursor})


async def test_iteration_goes_on_over_short_and_empty_pages_to_the_end() -> None:
    answers = [page([3], "a"), page([], "b"), page([2, 1], None)]
    service = Service(*answers, *answers)
    chosen = DeliveryFilter(status="FAILED", is_replay=False, since="2026-01-01T00:00:00Z")
    with service.sync_client() as client:
        assert [entry["id"] for entry in client.deliveries.iterate(**chosen)] == ["3", "2", "1"]
    async with service.async_client() as aclient:
        assert [entry["id"] async for entry in aclient.deliveries.iterate(**chosen)] == [
            "3",
            "2",
            "1",
        ]
    cursors = [request.url.params.get("cursor") for request in service.requests]
    assert cursors == [None, "a", "b"] * 2
    assert dict(service.requests[0].url.params) == {
        "status": "FAILED",
        "isReplay": "false",
        "from": "2026-01-01T00:00:00Z",
        "limit": "100",
    }


def test_an_mcp_key_names_its_environment_on_every_call() -> None:
    service = Service(ok())
    with service.sync_client(environment="STAGING") as client:
        client.auth_context()
    assert service.requests[0].headers["x-environment"] == "STAGING"


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("service.test", KEY),
        ("http://", KEY),
        ("http://.", KEY),
        ("http://a:port", KEY),
        ("ftp://a", KEY),
        ("http://a", ""),
        ("http://a", "a b"),
        ("http://a", "a\r\nx: y"),
    ],
)
def test_a_wrong_address_or_key_is_said_at_once(address: str, key: str) -> None:
    with pytest.raises(ValueError, match=r"base_url|key"):
        angarium.Client(address, key)


@pytest.mark.parametrize("identifier", ["", ".", ".."])
def test_what_is_no_id_is_refused_before_it_names_something_else(identifier: str) -> None:
    service = Service(ok())
    with service.sync_client() as client, pytest.raises(angarium.ArgumentError, match="no id"):
        client.routing_rules.delete(identifier)
    assert service.requests == []


def test_a_delete_whose_first_answer_was_lost_is_done() -> None:
    service = Service(httpx.ReadError("reset"), refused(404, "not_found"))
    with service.sync_client() as client:
        assert client.routing_rules.delete("i") == {"success": True}
    unknown = Service(refused(404, "not_found"))
    with unknown.sync_client() as client, pytest.raises(angarium.NotFoundError):
        client.routing_rules.delete("i")


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c.dlq.retry("i"),
        lambda c: c.replay_jobs.create(destination_id="d"),
        lambda c: c.replay_jobs.cancel("i"),
        lambda c: c.schemas.create("a.b", {}),
        lambda c: c.schemas.activate("i"),
        lambda c: c.schemas.infer("a.b", create=True),
        lambda c: c.api_keys.create("n", "read"),
        lambda c: c.api_keys.rotate("i"),
        lambda c: c.destinations.rotate_secret("i"),
        lambda c: c.destinations.test("i"),
        lambda c: c.routing_rules.create("n", "d", ["*"]),
    ],
)
def test_what_may_have_been_done_is_not_done_twice(use: Use) -> None:
    service = Service(httpx.ReadTimeout("late"))
    with service.sync_client() as client, pytest.raises(angarium.ConnectionFailedError):
        use(client)
    assert len(service.requests) == 1


def test_a_test_is_given_the_time_that_a_destination_may_take() -> None:
    service = Service(ok())
    with service.sync_client(timeout_s=5) as client:
        client.destinations.test("i")
        client.destinations.health("i")
    reads = [request.extensions["timeout"]["read"] for request in service.requests]
    assert reads == [75.0, 5]
    connects = [request.extensions["timeout"]["connect"] for request in service.requests]
    assert connects == [5, 5]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "schema_violation", angarium.SchemaViolationError),
        (400, "idempotency_mismatch", angarium.IdempotencyMismatchError),
        (413, "payload_too_large", angarium.PayloadTooLargeError),
        (503, "overloaded", angarium.OverloadedError),
    ],
)
def test_codes_that_a_program_treats_apart_have_errors_of_their_own(
    status: int, code: str, kind: type[angarium.ApiError]
) -> None:
    service = Service(refused(status, code, {"retry-after": "0"}))
    with service.sync_client() as client, pytest.raises(kind) as raised:
        client.events.send("a.b", {})
    assert raised.type is kind


async def test_a_job_is_watched_until_it_is_finished() -> None:
    answers = [ok({"status": status}) for status in ("PENDING", "RUNNING", "CANCELLED")]
    service = Service(*answers, *answers)
    with service.sync_client() as client:
        states = [each["status"] for each in client.replay_jobs.watch("i", every_s=0)]
    assert states == ["PENDING", "RUNNING", "CANCELLED"]
    async with service.async_client() as aclient:
        watched = aclient.replay_jobs.watch("i", every_s=0)
        assert [each["status"] async for each in watched] == states


def test_a_datetime_without_a_zone_is_refused() -> None:
    with pytest.raises(angarium.ArgumentError, match="time zone"):
        instant(datetime(2026, 1, 1))
