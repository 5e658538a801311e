"""Whole attempts: an event goes through a template and the real HTTP client to a simulated service."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio
from msgspec import structs

from engine.core.destination import Destination, Template, Transform
from engine.core.records import Delivery, Event, Outcome
from engine.core.vocabulary import DeliveryClass
from engine.outbound import OutboundSender
from engine.outbound.ports import Transformed
from engine.ports import Transmission
from engine.runtime.clock import Clock
from engine.runtime.timers import Timers
from engine.templates.catalog import Catalog, read_catalog
from engine.templates.renderer import Renderer
from tests.outbound.fakes import Unchanged
from tests.patience import HANGS_S
from tests.templates.doubles import SERVICES, Answer, Double
from tests.wire.street import Street, a_destination, an_event, open_street

IDS = sorted(SERVICES)
SCRIPT = Transform("t", 1, "source")


@dataclass
class Post:
    street: Street
    sender: OutboundSender
    double: Double
    destination: Destination

    async def attempt(self, event: Event) -> Outcome:
        delivery = Delivery(
            id=event.id, event=event, destination=self.destination.id, queue=DeliveryClass.STANDARD
        )
        send, receive = trio.open_memory_channel[Outcome](10)
        self.sender.send(Transmission(self.destination, delivery, 1), send.send_nowait)
        with trio.fail_after(HANGS_S):
            return await receive.receive()


def made_for(catalog: Catalog, name: str, origin: str) -> Destination:
    service, definition = SERVICES[name], catalog.get(name)
    assert definition is not None
    config = {**service.config, service.address: origin + service.at}
    definition.check(config)
    destined = definition.target(config)
    for secret in definition.secrets & config.keys():
        assert str(config[secret]) not in destined.shown_url
    headers = tuple((key.encode(), value.encode()) for key, value in destined.headers)
    raw = json.dumps(config).encode()
    return a_destination(destined.url, headers=headers, template=Template(name, raw, raw))


@asynccontextmanager
async def open_post(name: str, stages: Unchanged | None = None) -> AsyncIterator[Post]:
    double = Double(name)
    async with open_street() as street, trio.open_nursery() as nursery:
        receiver = await street.open(double.serve)
        origin = receiver.url.removesuffix("/hook")
        host = origin.removeprefix("http://")
        catalog = read_catalog(hosts=[(name, host)])
        timers = Timers(street.errors.append)
        nursery.start_soon(timers.run)
        between = stages or Unchanged()
        catalogue = Renderer(catalog)
        sender = OutboundSender(
            street.client, between, between, catalogue, between, timers, Clock()
        )
        yield Post(street, sender, double, made_for(catalog, name, origin))
        nursery.cancel_scope.cancel()


EVENTS = [
    an_event(1, b'{"text": "Order 42", "total": 19.90}'),
    an_event(2, json.dumps({"text": "\x00\U0001d518`<&@" * 10_000}).encode()),
    an_event(3, b'{"severity": "critical", "n": 123456789012345678901234567890}'),
    an_event(4, b"{}"),
]


@pytest.mark.parametrize("name", IDS)
async def test_a_service_takes_what_its_template_sends(name: str) -> None:
    async with open_post(name) as post:
        for event in EVENTS:
            outcome = await post.attempt(event)
            assert post.double.refused == []
            assert outcome.success, outcome.message
            assert outcome.category is None
        assert len(post.double.requests) == len(EVENTS)


@pytest.mark.parametrize("name", IDS)
async def test_a_service_that_refuses_is_heard(name: str) -> None:
    if name == "webhook":
        reason = "bad signature"
        answer: Any = Answer(400, reason)
    else:
        reason = {"slack": "invalid_payload", "slack-bot": "invalid_blocks"}.get(name, "of its own")
        answer = SERVICES[name].bad(reason)
    async with open_post(name) as post:
        post.double.instead = answer
        outcome = await post.attempt(EVENTS[0])
    assert not outcome.success
    assert outcome.category is not None
    assert outcome.category.name == "HTTP_4XX"
    assert outcome.status == answer.status
    if name not in ("webhook", "zapier", "discord"):
        assert reason in (outcome.message or "")


LIMITED: list[tuple[str, Answer, float | None]] = [
    ("slack", Answer(429, "rate_limited", {"Retry-After": "7"}), 7.0),
    ("slack-bot", Answer(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": "9"}), 9.0),
    ("slack-bot", Answer(200, {"ok": False, "error": "ratelimited"}), 30.0),
    ("slack-bot", Answer(200, {"ok": False, "error": "ratelimited"}, {"Retry-After": "3"}), 3.0),
    (
        "discord",
        Answer(
            429,
            {"message": "You are being rate limited.", "retry_after": 1.337, "global": False},
            {"Retry-After": "2", "X-RateLimit-Reset-After": "1.337"},
        ),
        1.337,
    ),
    ("discord", Answer(429, "error code: 1015", {"Retry-After": "600"}), 600.0),
    (
        "teams",
        Answer(429, {"error": {"message": "Rate limit is exceeded."}}, {"Retry-After": "20"}),
        20.0,
    ),
    ("pagerduty", Answer(429, {"status": "throttle exceeded", "message": "too many"}), 30.0),
    ("opsgenie", Answer(429, {"message": "too fast"}, {"X-RateLimit-Period-In-Sec": "60"}), 60.0),
    ("opsgenie", Answer(429, {"message": "too fast"}), 60.0),
    (
        "datadog",
        Answer(
            429, {"errors": ["Too many"]}, {"X-RateLimit-Reset": "11", "X-RateLimit-Period": "60"}
        ),
        11.0,
    ),
    ("zapier", Answer(429, {"status": "error"}), 60.0),
    ("make", Answer(429, "Too many requests"), 10.0),
    ("make", Answer(400, "Queue is full."), 60.0),
    (
        "github",
        Answer(
            403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "90"}
        ),
        90.0,
    ),
    ("github", Answer(429, {"message": "You have exceeded a secondary rate limit."}), 60.0),
    (
        "github",
        Answer(
            403,
            {"message": "secondary rate limit"},
            {"X-RateLimit-Remaining": "9", "X-RateLimit-Reset": "4000000000"},
        ),
        60.0,
    ),
    (
        "google-chat",
        Answer(429, {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}),
        60.0,
    ),
    (
        "telegram",
        Answer(
            429,
            {
                "ok": False,
                "error_code": 429,
                "description": "Too Many Requests: retry after 5",
                "parameters": {"retry_after": 5},
            },
        ),
        5.0,
    ),
    (
        "resend",
        Answer(
            429,
            {"name": "rate_limit_exceeded", "message": "Too many"},
            {"ratelimit-reset": "1", "retry-after": "2"},
        ),
        2.0,
    ),
    (
        "resend",
        Answer(
            429, {"name": "rate_limit_exceeded", "message": "Too many"}, {"ratelimit-reset": "1"}
        ),
        1.0,
    ),
    ("postmark", Answer(429, {"ErrorCode": 429, "Message": "Rate Limit Exceeded"}), None),
]


@pytest.mark.parametrize(("name", "answer", "wait"), LIMITED)
async def test_a_service_that_asks_for_time_gets_it(
    name: str, answer: Answer, wait: float | None
) -> None:
    async with open_post(name) as post:
        post.double.instead = answer
        outcome = await post.attempt(EVENTS[0])
        assert not outcome.success
        assert outcome.category is not None
        assert outcome.category.name == "RATE_LIMITED"
        assert outcome.retry_after_s == wait
        post.double.instead = None
        assert (await post.attempt(EVENTS[0])).success


@pytest.mark.parametrize("name", ["github", "sendgrid"])
async def test_an_instant_is_waited_for_as_the_time_that_is_left_until_it(name: str) -> None:
    async with open_post(name) as post:
        before = Clock().now()
        reset = int(before) + 1_000
        headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
        status = 403 if name == "github" else 429
        post.double.instead = Answer(status, {"message": "API rate limit exceeded"}, headers)
        outcome = await post.attempt(EVENTS[0])
        took_s = Clock().now() - before
    assert outcome.category is not None
    assert outcome.category.name == "RATE_LIMITED"
    assert outcome.retry_after_s is not None
    assert 998 - took_s < outcome.retry_after_s <= 1_000


ENDED: list[tuple[str, Answer, str, str]] = [
    ("slack", Answer(404, "no_service"), "HTTP_4XX", "no_service"),
    ("slack", Answer(410, "channel_is_archived"), "DESTINATION_GONE", "channel_is_archived"),
    ("slack", Answer(500, "rollup_error"), "HTTP_5XX", "rollup_error"),
    ("slack", Answer(200, "<html>sign in</html>"), "HTTP_4XX", "sign in"),
    (
        "slack-bot",
        Answer(200, {"ok": False, "error": "channel_not_found"}),
        "HTTP_4XX",
        "channel_not_found",
    ),
    ("slack-bot", Answer(200, {"ok": False, "error": "fatal_error"}), "HTTP_5XX", "fatal_error"),
    ("slack-bot", Answer(200, "<html>"), "HTTP_4XX", "but that it failed"),
    (
        "discord",
        Answer(404, {"code": 10015, "message": "Unknown Webhook"}),
        "HTTP_4XX",
        "Unknown Webhook",
    ),
    (
        "telegram",
        Answer(403, {"ok": False, "error_code": 403, "description": "Forbidden: bot was kicked"}),
        "HTTP_4XX",
        "kicked",
    ),
    (
        "postmark",
        Answer(200, {"ErrorCode": 406, "Message": "Inactive recipient"}),
        "HTTP_4XX",
        "Inactive",
    ),
    (
        "mattermost",
        Answer(404, {"id": "x", "message": "Invalid webhook", "status_code": 404}),
        "HTTP_4XX",
        "Invalid webhook",
    ),
    (
        "sendgrid",
        Answer(401, {"errors": [{"message": "Permission denied"}]}),
        "HTTP_4XX",
        "Permission denied",
    ),
    (
        "pagerduty",
        Answer(202, {"status": "invalid event", "errors": ["routing_key"]}),
        "HTTP_4XX",
        "routing_key",
    ),
    ("github", Answer(404, {"message": "Not Found"}), "HTTP_4XX", "Not Found"),
    ("github", Answer(403, {"message": "Resource not accessible"}), "HTTP_4XX", "not accessible"),
    (
        "n8n",
        Answer(404, {"code": 404, "message": "The requested webhook is not registered."}),
        "HTTP_4XX",
        "not registered",
    ),
    ("teams", Answer(302, "", {"Location": "https://login.example.com"}), "REDIRECT", "302"),
]


@pytest.mark.parametrize(("name", "answer", "category", "words"), ENDED)
async def test_a_no_is_told_in_the_services_words(
    name: str, answer: Answer, category: str, words: str
) -> None:
    async with open_post(name) as post:
        post.double.instead = answer
        outcome = await post.attempt(EVENTS[0])
    assert not outcome.success
    assert outcome.category is not None
    assert outcome.category.name == category
    assert words in (outcome.message or "")
    assert outcome.retry_after_s is None


async def test_an_answer_that_is_longer_than_what_is_read_is_judged_by_what_came() -> None:
    async with open_post("slack-bot") as post:
        post.double.instead = Answer(200, {"ok": True, "message": "x" * 40_000})
        assert (await post.attempt(EVENTS[0])).success
        post.double.instead = Answer(200, {"ok": False, "error": "no_text", "more": "x" * 40_000})
        outcome = await post.attempt(EVENTS[0])
        assert not outcome.success
        assert "no_text" in (outcome.message or "")
        post.double.instead = Answer(200, {"more": "x" * 40_000, "ok": False})
        assert (await post.attempt(EVENTS[0])).success


async def test_a_service_that_repeats_a_secret_does_not_bring_it_into_the_record() -> None:
    async with open_post("telegram") as post:
        said = {
            "ok": False,
            "error_code": 401,
            "description": "no bot 12345:abcdefghijklmnopqrstuvwxyz",
        }
        post.double.instead = Answer(401, said)
        outcome = await post.attempt(EVENTS[0])
    assert outcome.message == "the receiver answered 401: no bot ***"


class Scripted(Unchanged):
    def __init__(self, made: bytes) -> None:
        self.made = made

    def run(self, script: Any, body: bytes, now_ms: int, seed: str, done: Any) -> None:
        done(Transformed(self.made))


@pytest.mark.parametrize(
    "made", [b"null", b'"text"', b'{"data": []}', b"[1.50]", b'{"text": "only"}']
)
@pytest.mark.parametrize("name", ["slack", "pagerduty", "resend", "github"])
async def test_what_a_script_made_is_rendered_too(name: str, made: bytes) -> None:
    async with open_post(name, Scripted(made)) as post:
        post.destination = structs.replace(post.destination, transform=SCRIPT)
        outcome = await post.attempt(EVENTS[0])
        assert post.double.refused == []
        assert outcome.success
        assert outcome.transform_version == 1


async def test_an_event_that_cannot_be_rendered_is_a_failed_attempt_that_reaches_nobody() -> None:
    async with open_post("slack", Scripted(b"no json")) as post:
        post.destination = structs.replace(post.destination, transform=SCRIPT)
        outcome = await post.attempt(EVENTS[0])
        assert not outcome.success
        assert outcome.category is not None
        assert outcome.category.name == "TRANSFORM"
        assert post.double.requests == []
