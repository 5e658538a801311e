"""The synchronous and the asynchronous producer. They send batches in order, wait for room, and report
each event's result."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

import angarium
from angarium.buffer import FAILURES_KEPT
from tests.patience import HANGS_S

QUICK = angarium.RetryPolicy(retries=1, first_delay_s=0.0)
Judge = Callable[[list[dict[str, Any]]], httpx.Response | None]


class Service:
    def __init__(self, judge: Judge = lambda _: None) -> None:
        self.judge = judge
        self.batches: list[list[dict[str, Any]]] = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert self.gate.wait(HANGS_S)
        events = json.loads(request.content)["events"]
        self.batches.append(events)
        return self.judge(events) or answer(events)

    @property
    def kinds(self) -> list[str]:
        return [event["eventType"] for batch in self.batches for event in batch]

    def client(self) -> angarium.Client:
        transport = httpx.MockTransport(self)
        return angarium.Client("http://service.test", "ang_dev_x", retry=QUICK, transport=transport)

    def async_client(self) -> angarium.AsyncClient:
        transport = httpx.MockTransport(self)
        return angarium.AsyncClient(
            "http://service.test", "ang_dev_x", retry=QUICK, transport=transport
        )


def answer(events: list[dict[str, Any]]) -> httpx.Response:
    """Accept events, except that "bad" ones are rejected and "old" ones are duplicates."""
    results = [entry(index, event["eventType"]) for index, event in enumerate(events)]
    counts = [sum(each["status"] == status for each in results) for status in STATUSES]
    named = dict(zip(("accepted", "duplicates", "rejected"), counts, strict=True))
    return httpx.Response(200, json={**named, "results": results})


STATUSES = ("ACCEPTED", "DUPLICATE", "REJECTED")


def entry(index: int, kind: str) -> dict[str, Any]:
    if kind == "bad":
        detail = {"path": "customerExternalId", "message": "is too long"}
        error = {
            "code": "invalid_request",
            "message": "the event is malformed",
            "details": [detail],
        }
        return {
            "index": index,
            "status": "REJECTED",
            "id": None,
            "deliveries": None,
            "error": error,
        }
    status = "DUPLICATE" if kind == "old" else "ACCEPTED"
    return {"index": index, "status": status, "id": f"id-{kind}", "deliveries": 1, "error": None}


def too_large(events: list[dict[str, Any]]) -> httpx.Response | None:
    envelope = {"code": "payload_too_large", "message": "too many deliveries", "details": []}
    return httpx.Response(413, json=envelope) if len(events) > 2 else None


def test_events_go_in_order_in_batches_each_with_a_key_and_an_outcome() -> None:
    service = Service()
    with angarium.Producer(service.client(), batch_events=10) as producer:
        outcomes = [producer.send(f"order.{n}", {"n": n}) for n in range(25)]
        report = producer.flush(HANGS_S)
        assert (report.accepted, report.duplicates, report.failed) == (25, 0, 0)
        assert outcomes[7].result().id == "id-order.7"
    assert service.kinds == [f"order.{n}" for n in range(25)]
    assert max(map(len, service.batches)) == 10
    sent = [event["idempotencyKey"] for batch in service.batches for event in batch]
    assert sent == [outcome.idempotency_key for outcome in outcomes]
    assert len(set(sent)) == 25


def test_a_rejected_event_fails_alone_in_the_callers_own_names() -> None:
    producer = angarium.Producer(Service().client())
    bad = producer.send("bad", {}, customer_external_id="x")
    old = producer.send("old", {}, idempotency_key="mine")
    good = producer.send("good", {})
    assert good.result(HANGS_S).deliveries == 1
    assert old.result(HANGS_S).duplicate
    assert old.idempotency_key == "mine"
    with pytest.raises(angarium.InvalidRequestError, match="customer_external_id: is too long"):
        bad.result(HANGS_S)
    with pytest.raises(angarium.EventsFailedError) as raised:
        producer.close(HANGS_S)
    assert raised.value.failed == 1
    assert raised.value.errors == (bad.error,)


def test_a_full_producer_makes_its_caller_wait() -> None:
    service = Service()
    service.gate.clear()
    with angarium.Producer(service.client(), buffer_events=3) as producer:
        for _ in range(3):
            producer.send("order", {})
        with pytest.raises(TimeoutError):
            producer.send("order", {}, timeout_s=0.01)
        with pytest.raises(TimeoutError):
            producer.flush(0.01)
        service.gate.set()
        producer.send("order", {}, timeout_s=HANGS_S)
    assert len(service.kinds) == 4


def test_what_a_closed_producer_could_not_send_has_failed() -> None:
    service = Service()
    service.gate.clear()
    producer = angarium.Producer(service.client(), batch_events=1)
    outcomes = [producer.send(str(n), {}) for n in range(3)]
    with pytest.raises(angarium.EventsFailedError):
        producer.close(0.01)
    with pytest.raises(angarium.ArgumentError):
        outcomes[2].result(HANGS_S)
    service.gate.set()
    assert outcomes[0].result(HANGS_S).id == "id-0"
    with pytest.raises(angarium.ArgumentError):
        producer.send("late", {})


def test_a_batch_that_is_too_large_goes_in_halves() -> None:
    service = Service(too_large)
    with angarium.Producer(service.client(), linger_s=HANGS_S, batch_events=8) as producer:
        for n in range(8):
            producer.send(str(n), {})
    accepted = [batch for batch in service.batches if len(batch) <= 2]
    assert [event["eventType"] for batch in accepted for event in batch] == list("01234567")


@pytest.mark.parametrize(
    "wrong",
    [
        httpx.Response(500, json={"code": "internal", "message": "a fault", "details": []}),
        httpx.Response(200, json={"results": []}),
        httpx.Response(200, json={}),
    ],
)
def test_every_event_has_an_outcome_whatever_is_answered(wrong: httpx.Response) -> None:
    service = Service(lambda _: httpx.Response(wrong.status_code, content=wrong.content))
    producer = angarium.Producer(service.client(), in_flight=2)
    outcomes = [producer.send("order", {}) for _ in range(FAILURES_KEPT + 5)]
    assert producer.flush(HANGS_S).failed == FAILURES_KEPT + 5
    assert all(isinstance(outcome.error, angarium.AngariumError) for outcome in outcomes)
    producer.close(HANGS_S)


def test_events_are_sent_when_a_program_ends_without_closing_its_producer() -> None:
    program = """
import atexit
atexit.register(lambda: print(good.result(0).id, bad.error.code))  # after the producer has ended
import angarium
from tests.client.test_producer import Service
service = Service()
producer = angarium.Producer(service.client(), linger_s=60.0)
bad = producer.send("bad", {})
good = producer.send("good", {})
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert "1 events were not accepted" in ended.stderr
    assert ended.stdout == "id-good invalid_request\n"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_asynchronous_producer_does_the_same(backend: str) -> None:
    async def use() -> None:
        service = Service()
        async with angarium.AsyncProducer(service.async_client(), batch_events=10) as producer:
            outcomes = [await producer.send(f"order.{n}", {}) for n in range(25)]
            assert (await outcomes[3].result()).id == "id-order.3"
            bad = await producer.send("bad", {})
            report = await producer.flush()
            assert (report.accepted, report.failed, bad.done) == (25, 1, True)
            last = await producer.send("last", {})
        assert last.done
        assert service.kinds == [*(f"order.{n}" for n in range(25)), "bad", "last"]
        with pytest.raises(angarium.ArgumentError):
            await producer.send("late", {})

    anyio.run(use, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_leaving_the_asynchronous_producer_tells_of_failures(backend: str) -> None:
    async def use() -> None:
        async with angarium.AsyncProducer(Service().async_client(), buffer_events=1) as producer:
            for kind in ("bad", "good", "bad"):
                await producer.send(kind, {})

    with pytest.raises(angarium.EventsFailedError) as raised:
        anyio.run(use, backend=backend)
    assert raised.value.failed == 2


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_producer_gives_every_event_an_outcome(backend: str) -> None:
    async def use() -> None:
        async def hang(_: httpx.Request) -> httpx.Response:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

        asked = anyio.Event()
        outcomes: list[angarium.AsyncOutcome] = []
        transport = httpx.MockTransport(hang)
        client = angarium.AsyncClient("http://service.test", "k", transport=transport)
        with anyio.CancelScope() as scope:
            async with angarium.AsyncProducer(client, batch_events=1) as producer:
                outcomes += [await producer.send("order", {}) for _ in range(3)]
                await asked.wait()
                scope.cancel()
        assert [outcome.done for outcome in outcomes] == [True] * 3

    anyio.run(use, backend=backend)
