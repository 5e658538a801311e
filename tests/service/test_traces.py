"""Traces through a whole server. A trace leads from the producer's request to the request that a receiver
gets. The server sends the trace's spans to a collector."""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import structlog.testing
import trio

from engine.actors.decisions import NAME as DECISIONS
from engine.core.vocabulary import Environment, Scope
from engine.model.trace import attempt_span
from engine.submission.submission import NAME as ROUTING
from engine.tracing.tracer import Tracer
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.collector import Collector, Seen, open_collector
from tests.door.http2_client import Http2Client
from tests.service.house import ServiceHouse, destination, open_service
from tests.service.receiver import Receiver
from tests.service.test_replay import ended, start

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"
STATE = "congo=t61rcWkgMzE"
EVENT = {"eventType": "e.one", "payload": {}}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with open_collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=ours")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "webhooks")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
        yield collector


@pytest.fixture
async def traced(bridge: Bridge, collector: Collector) -> AsyncIterator[ServiceHouse]:
    """A server that continues sampled traces and starts none."""
    async with open_service(bridge, traces_sample=0.0) as house:
        yield house


@pytest.fixture
async def api(traced: ServiceHouse) -> Caller:
    return await traced.caller(await traced.tenant("acme"))


async def post(api: Caller, path: str = "/events", body: Any = EVENT, **headers: str) -> Any:
    told = await api("POST", path, body, headers=headers)
    assert told.status == 202, told.body
    return told.json


async def spans(collector: Collector, *names: str) -> list[Seen]:
    """Wait until there are exactly the spans with these names. Return them, sorted by start time."""
    return await trio.to_thread.run_sync(collector.wait_named, *names)


async def test_a_sampled_trace_goes_from_the_producer_to_receiver_and_collector(
    traced: ServiceHouse, api: Caller, receiver: Receiver, collector: Collector
) -> None:
    to = await destination(api, receiver.url())
    event = (await post(api, traceparent=SAMPLED, tracestate=STATE))["id"]
    accept, commit, wait, attempt = sorted(
        await spans(collector, "accept", "commit", "wait", "attempt"),
        key=lambda each: ("accept", "commit", "wait", "attempt").index(each.name),
    )
    assert {each.trace for each in (accept, commit, wait, attempt)} == {TRACE}
    assert {each.state for each in (accept, commit, wait, attempt)} == {STATE}
    assert accept.parent == SPAN
    assert commit.parent == wait.parent == attempt.parent == accept.span
    assert accept.started <= commit.started <= commit.ended <= wait.started
    assert wait.started <= wait.ended == attempt.started <= attempt.ended
    (got,) = receiver.received
    assert got.headers["traceparent"] == f"00-{TRACE}-{attempt.span}-01"
    assert got.headers["tracestate"] == STATE
    assert accept.attributes["http.route"] == "/events"
    assert accept.attributes["http.response.status_code"] == 202
    assert accept.attributes["angarium.environment"] == "DEVELOPMENT"
    assert commit.attributes["angarium.event.id"] == event
    delivery = got.headers["angarium-delivery-id"]
    assert attempt.attributes == {
        "angarium.workspace.id": accept.attributes["angarium.workspace.id"],
        "angarium.destination.id": to,
        "angarium.delivery.id": delivery,
        "angarium.delivery.origin": "NORMAL",
        "angarium.event.id": event,
        "angarium.event.type": "e.one",
        "angarium.attempt.number": 1,
        "angarium.attempt.outcome": "SUCCESS",
        "http.request.method": "POST",
        "http.response.status_code": 204,
        "server.address": "127.0.0.1",
        "server.port": receiver.port,
        "url.scheme": "http",
    }
    assert attempt.resource["service.name"] == "webhooks"
    assert attempt.resource["deployment.environment.name"] == "test"
    assert {each["x-tenant"] for each in collector.headers} == {"ours"}
    shown = (await api("GET", f"/events/{event}")).json
    assert shown["traceparent"] == f"00-{TRACE}-{accept.span}-01"
    assert (await api("GET", "/events")).json["items"][0]["traceparent"] == shown["traceparent"]
    request = (await traced.settled(api, delivery))["request"]
    assert request["headers"]["traceparent"] == got.headers["traceparent"]
    assert request["headers"]["tracestate"] == STATE
    erased = (await api("DELETE", f"/events/{event}/payload", {})).json
    assert erased["traceparent"] == shown["traceparent"]
    rows = await traced.server.bridge.pool.fetch("SELECT trace FROM events WHERE trace IS NOT NULL")
    assert [row["trace"] for row in rows] == [shown["traceparent"]], "erased: no vendor's state"


async def test_a_trace_that_is_not_sampled_passes_through_without_spans(
    traced: ServiceHouse, api: Caller, receiver: Receiver, collector: Collector
) -> None:
    await destination(api, receiver.url())
    await post(api, traceparent=UNSAMPLED, tracestate=STATE)
    await post(api, traceparent=SAMPLED.upper(), tracestate=STATE)
    await post(api)
    got = {each.headers.get("traceparent") for each in await receiver.reaches(3)}
    assert got == {UNSAMPLED, None}
    tracing = traced.server.tracing
    assert tracing is not None
    assert tracing.queue.statistics().waiting == 0
    assert collector.spans() == []


async def test_without_the_setting_a_trace_passes_through(
    house: ServiceHouse, receiver: Receiver
) -> None:
    assert house.server.tracing is None
    api = await house.caller(await house.tenant("acme"))
    await destination(api, receiver.url())
    await destination(api, receiver.url("/own"), headers={"Traceparent": "mine"})
    event = (await post(api, traceparent=SAMPLED, tracestate=STATE))["id"]
    got = {each.path: each for each in await receiver.reaches(2)}
    assert got["/hook"].headers["traceparent"] == SAMPLED
    assert got["/hook"].headers["tracestate"] == STATE
    assert got["/own"].headers["traceparent"] == "mine", "the destination's own headers win"
    assert "tracestate" not in got["/own"].headers
    assert (await api("GET", f"/events/{event}")).json["traceparent"] == SAMPLED
    for each in got.values():
        shown = await house.settled(api, each.headers["angarium-delivery-id"])
        named = {name.lower(): value for name, value in shown["request"]["headers"].items()}
        assert named["traceparent"] == each.headers["traceparent"]


async def test_retries_and_replays_continue_the_trace(
    traced: ServiceHouse, api: Caller, receiver: Receiver, collector: Collector
) -> None:
    receiver.answer = lambda _: 204 if len(receiver.received) else 500
    to = await destination(api, receiver.url(), delivery={"retrySchedule": [1]})
    await post(api, traceparent=SAMPLED)
    found = await spans(collector, "accept", "commit", "wait", "attempt", "wait", "attempt")
    first, second = [each for each in found if each.name == "attempt"]
    _, again = [each for each in found if each.name == "wait"]
    assert first.failed
    assert first.attributes["angarium.attempt.outcome"] == "HTTP_5XX"
    assert first.attributes["error.type"] == "500"
    assert (second.failed, second.attributes["http.request.resend_count"]) == (False, 1)
    assert first.parent == second.parent
    assert again.started == first.ended
    sent = [each.headers["traceparent"][36:52] for each in receiver.received]
    assert sent == [first.span, second.span]
    delivery = receiver.received[0].headers["angarium-delivery-id"]
    assert sent == [attempt_span(delivery, 1), attempt_span(delivery, 2)]
    await traced.settled(api, delivery)
    await ended(traced, api, await start(api, destinationId=to))
    more = await trio.to_thread.run_sync(collector.wait, lambda seen: len(seen) == 8)
    replay = more[-1] if more[-1].name == "attempt" else more[-2]
    assert replay.parent == first.parent
    assert replay.attributes["angarium.delivery.origin"] == "REPLAY"
    assert receiver.received[2].headers["traceparent"][36:52] == replay.span


async def test_a_batch_belongs_to_the_trace_of_its_request(
    traced: ServiceHouse, api: Caller, receiver: Receiver, collector: Collector
) -> None:
    await destination(api, receiver.url(), delivery={"ordering": "STRICT"})
    body = {"events": [EVENT | {"payload": {"n": n}} for n in range(3)]}
    await post(api, "/events/batch", body, traceparent=SAMPLED)
    names = ("accept", "commit", *(["wait", "attempt"] * 3))
    found = await spans(collector, *names)
    (accept,) = [each for each in found if each.name == "accept"]
    (commit,) = [each for each in found if each.name == "commit"]
    assert accept.attributes["http.route"] == "/events/batch"
    assert commit.attributes["angarium.events"] == 3
    attempts = [each for each in found if each.name == "attempt"]
    assert {each.parent for each in attempts} == {accept.span}
    assert [each.json["data"]["n"] for each in receiver.received] == [0, 1, 2]
    sent = [each.headers["traceparent"][36:52] for each in receiver.received]
    assert sent == [each.span for each in attempts]


async def test_an_event_of_a_batch_can_have_a_trace_of_its_own(
    traced: ServiceHouse, api: Caller, receiver: Receiver, collector: Collector
) -> None:
    await destination(api, receiver.url(), delivery={"ordering": "STRICT"})
    own = f"00-{TRACE[::-1]}-{SPAN}-01"
    events: list[dict[str, Any]] = [
        EVENT | {"traceparent": own, "tracestate": STATE},
        EVENT,
        EVENT | {"traceparent": "none", "tracestate": "b=2"},  # ignored, as the standard says
        EVENT | {"traceparent": UNSAMPLED, "tracestate": None},
    ]
    batch = {"events": [each | {"payload": {"n": n}} for n, each in enumerate(events)]}
    made = (await post(api, "/events/batch", batch, traceparent=SAMPLED))["results"]
    found = await spans(collector, "accept", *(["commit"] * 2), *(["wait", "attempt"] * 3))
    (accept,) = [each for each in found if each.name == "accept"]
    of_its_own = [each for each in found if each.trace == TRACE[::-1]]
    assert [each.name for each in of_its_own] == ["commit", "wait", "attempt"]
    assert {(each.parent, each.state) for each in of_its_own} == {(SPAN, STATE)}
    got = {each.json["data"]["n"]: each.headers for each in await receiver.reaches(4)}
    assert got[0]["traceparent"] == f"00-{TRACE[::-1]}-{of_its_own[2].span}-01"
    assert [got[n]["traceparent"][3:35] for n in range(4)] == [TRACE[::-1], *[TRACE] * 3]
    assert got[3]["traceparent"] == UNSAMPLED
    assert ["tracestate" in got[n] for n in range(4)] == [True, False, False, False]
    shown = (await api("GET", f"/events/{made[1]['id']}")).json["traceparent"]
    assert shown == f"00-{TRACE}-{accept.span}-01"
    one = (await post(api, body=EVENT | {"traceparent": UNSAMPLED}))["id"]
    assert (await api("GET", f"/events/{one}")).json["traceparent"] == UNSAMPLED
    bad = await api("POST", "/events", EVENT | {"traceparent": "x" * 257})
    assert (bad.status, bad.json["details"][0]["path"]) == (400, "traceparent")


async def test_a_file_belongs_to_the_trace_of_its_upload(
    api: Caller, receiver: Receiver, collector: Collector
) -> None:
    await destination(api, receiver.url())
    await post(api, "/files", {"content": "YQ==", "fileName": "a"}, traceparent=SAMPLED)
    found = await spans(collector, "accept", "commit", "wait", "attempt")
    (accept,) = [each for each in found if each.name == "accept"]
    assert (accept.parent, accept.attributes["http.route"]) == (SPAN, "/files")
    assert receiver.received[0].headers["traceparent"].startswith(f"00-{TRACE}-")


async def test_a_trace_comes_by_http2_as_well(
    traced: ServiceHouse, receiver: Receiver, collector: Collector
) -> None:
    tenant = await traced.tenant("two")
    await destination(await traced.caller(tenant), receiver.url())
    key = await traced.keys.create(tenant, Scope.INGEST, Environment.DEVELOPMENT, "a test's")
    stream = await trio.open_tcp_stream("127.0.0.1", traced.door.address[1])
    traced.streams.append(stream)
    client = Http2Client(stream)
    await client.start()
    fields = [
        ("authorization", f"Bearer {key.secret}"),
        ("content-type", "application/json"),
        ("traceparent", SAMPLED),
        ("tracestate", "a=1"),
        ("tracestate", "b=2"),
    ]
    body = b'{"eventType":"e.one","payload":{}}'
    for _ in range(2):  # the second time, the head is already known
        assert (await client.ask("POST", "/events", fields, body)).status == 202
    found = await spans(collector, *(["accept", "commit", "wait", "attempt"] * 2))
    assert {each.parent for each in found if each.name == "accept"} == {SPAN}
    assert len({each.span for each in found}) == 8
    assert {each.state for each in found} == {"a=1,b=2"}
    assert {each.headers["tracestate"] for each in receiver.received} == {"a=1,b=2"}


async def test_requests_without_a_trace_begin_one_if_they_are_chosen(
    bridge: Bridge, receiver: Receiver, collector: Collector
) -> None:
    async with open_service(bridge, traces_sample=1.0) as house:
        api = await house.caller(await house.tenant("acme"))
        await destination(api, receiver.url())
        await post(api)
        await post(api, traceparent=UNSAMPLED)
        found = await spans(collector, "accept", "commit", "wait", "attempt")
        (accept,) = [each for each in found if each.name == "accept"]
        assert accept.parent == ""
        assert accept.trace != TRACE
        got = sorted(each.headers["traceparent"][3:35] for each in await receiver.reaches(2))
        assert got == sorted([accept.trace, TRACE])


async def test_refusals_and_duplicates_end_their_span(
    traced: ServiceHouse, api: Caller, collector: Collector
) -> None:
    once = EVENT | {"idempotencyKey": "k"}
    await post(api, body=once, traceparent=SAMPLED)
    event = await post(api, body=once, traceparent=SAMPLED)
    assert event["duplicate"]
    bad = await api("POST", "/events", {"eventType": "!"}, headers={"traceparent": SAMPLED})
    assert bad.status == 400
    found = await spans(collector, "accept", "commit", "accept", "accept")
    accepts = [each for each in found if each.name == "accept"]
    statuses = [each.attributes["http.response.status_code"] for each in accepts]
    assert statuses == [202, 202, 400]
    assert accepts[2].attributes["error.type"] == "invalid_request"
    assert not accepts[2].failed, "a refusal is the client's fault"


async def test_lines_of_the_log_name_the_trace(
    bridge: Bridge, receiver: Receiver, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.DEBUG, DECISIONS),
        caplog.at_level(logging.DEBUG, ROUTING),
        structlog.testing.capture_logs() as lines,
    ):
        async with open_service(bridge, traces_sample=0.0) as house:
            api = await house.caller(await house.tenant("acme"))
            receiver.answer = lambda _: 204 if len(receiver.received) else 500
            await destination(api, receiver.url(), delivery={"retrySchedule": [1]})
            await post(api, traceparent=SAMPLED)
            found = await spans(collector, "accept", "commit", *(["wait", "attempt"] * 2))
            await post(api)
            for each in await receiver.reaches(3):
                await house.settled(api, each.headers["angarium-delivery-id"])
    (accept,) = [each.span for each in found if each.name == "accept"]
    traced, _ = [line for line in lines if line["event"] == "event.routed"]
    assert (traced["trace_id"], traced["span_id"]) == (TRACE, accept)
    delivery = receiver.received[0].headers["angarium-delivery-id"]
    decided = [line for line in lines if line["event"] == "delivery.decided"]
    assert {line["trace_id"] for line in decided if line["delivery"] == delivery} == {TRACE}
    assert {line["delivery"] for line in decided if "trace_id" in line} == {delivery}


async def test_a_span_that_breaks_costs_nothing_but_itself(
    bridge: Bridge, receiver: Receiver, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_kwargs: object) -> None:
        raise RuntimeError("the library broke")

    for step in ("accept", "committed", "attempt"):
        monkeypatch.setattr(Tracer, step, broken)
    with structlog.testing.capture_logs() as lines:
        async with open_service(bridge, traces_sample=1.0) as house:
            api = await house.caller(await house.tenant("acme"))
            await destination(api, receiver.url())
            await post(api, traceparent=SAMPLED)
            (got,) = await receiver.reaches(1)
            await house.settled(api, got.headers["angarium-delivery-id"])
    assert got.headers["traceparent"] == SAMPLED, "it passes through"
    assert [line["event"] for line in lines].count("traces.span_broke") == 3
    assert collector.spans() == []


async def test_a_collector_that_hangs_holds_nothing_up(
    bridge: Bridge, receiver: Receiver, collector: Collector
) -> None:
    collector.gate.clear()
    async with open_service(bridge, traces_sample=1.0) as house:
        api = await house.caller(await house.tenant("acme"))
        await destination(api, receiver.url())
        await post(api)
        await trio.to_thread.run_sync(collector.asked.wait)
        await post(api)
        for each in await receiver.reaches(2):
            await house.settled(api, each.headers["angarium-delivery-id"])
        tracing = house.server.tracing
        assert tracing is not None
        assert tracing.queue.statistics().exported == 0
    counts = tracing.queue.statistics()
    assert counts.dropped + counts.waiting == 8, "the server has stopped without them"
