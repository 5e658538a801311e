"""Ingestion from bytes to reply, with a real router and intake and a fake store."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.vocabulary import Environment
from engine.ingest import ingest as ingest_module
from engine.ingest.ingest import Ingest, Reply
from engine.intake.intake import Intake
from engine.model.identity import Identity
from engine.model.read_models import EnvironmentModel, Models
from engine.routing.router import Router
from engine.settings import Settings
from engine.submission.receipts import Accepted
from tests.engine.fakes import FakeDestinations, FakeIntakeStore
from tests.engine.test_router import destination, rule

ENVIRONMENT = EnvironmentModel(1, "w", Environment.DEVELOPMENT)


class Door:
    """Posts to an Ingest and collects its replies."""

    def __init__(self, ingest: Ingest, store: FakeIntakeStore, arrived: FakeDestinations) -> None:
        self.ingest, self.store, self.arrived = ingest, store, arrived

    async def post(self, body: bytes | dict[str, Any], *, batch: bool = False) -> Reply:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        replies: list[Reply] = []
        self.ingest.submit(ENVIRONMENT, raw, batch, replies.append)
        await wait_all_tasks_blocked()
        (reply,) = replies
        return reply


@asynccontextmanager
async def opened() -> AsyncIterator[Door]:
    models = Models()
    for each in ("d1", "d2"):
        models.put_destination(destination(each + "-00"))
        models.put_rule(rule("r-" + each, each + "-00", "order.*"))
    store, arrived, identity = FakeIntakeStore(), FakeDestinations(), Identity()
    intake = Intake(store, arrived, identity, Settings(), trio.current_time)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(intake.run)
        ingest = Ingest(Router(models), intake.submit, identity, nursery.start_soon)
        yield Door(ingest, store, arrived)
        nursery.cancel_scope.cancel()


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


def order(**more: object) -> dict[str, Any]:
    return {"eventType": "order.created", "payload": {"n": 1}, **more}


async def test_an_event_is_accepted_with_its_deliveries() -> None:
    async with opened() as door:
        reply = await door.post(order(customerExternalId="c", source="s", metadata={"m": 1}))
        body = json.loads(reply.body)
        assert reply.status == 202
        assert body["eventType"] == "order.created"
        assert (body["duplicate"], body["deliveries"]) == (False, 2)
        (event,) = door.store.groups[0].events
        assert (event.id, event.payload, event.metadata) == (body["id"], b'{"n": 1}', b'{"m": 1}')
        assert [each.id for each in door.arrived.deliveries] == [
            body["id"][:-3] + "001",
            body["id"][:-3] + "002",
        ]
        assert {each.lane for each in door.arrived.deliveries} == {"c:c"}


async def test_an_event_that_no_rule_matches_is_kept_all_the_same() -> None:
    async with opened() as door:
        reply = await door.post({"eventType": "other", "payload": {}})
        assert json.loads(reply.body)["deliveries"] == 0
        assert len(door.store.groups[0].events) == 1


async def test_a_key_answers_with_the_first_event() -> None:
    async with opened() as door:
        first = json.loads((await door.post(order(idempotencyKey="k"))).body)
        again = await door.post(order(idempotencyKey="k", source="ignored"))
        assert json.loads(again.body) == first | {"duplicate": True}
        other = await door.post(order(idempotencyKey="k") | {"payload": {"n": 2}})
        assert (other.status, other.code) == (400, "idempotency_mismatch")
        alone = await door.post({"events": [order(idempotencyKey="k", payload={})]}, batch=True)
        assert (alone.status, [each.path for each in alone.details]) == (
            400,
            ["events[0].idempotencyKey"],
        )
        customer = await door.post(order(idempotencyKey="k", customerExternalId="c"))
        assert customer.code == "idempotency_mismatch"


async def test_one_bad_event_of_a_batch_rejects_itself_only() -> None:
    async with opened() as door:
        events = [
            order(idempotencyKey="k"),
            {"eventType": "order.created"},
            order(idempotencyKey="k"),
            order(idempotencyKey="k", customerExternalId="c"),
            order(payload={"big": "x" * 256 * 1024}),
        ]
        reply = await door.post({"events": events}, batch=True)
        body = json.loads(reply.body)
        assert reply.status == 202
        assert (body["accepted"], body["duplicates"], body["rejected"]) == (1, 1, 3)
        lines = body["results"]
        assert [line["index"] for line in lines] == list(range(5))
        assert [line["status"] for line in lines] == [
            "ACCEPTED",
            "REJECTED",
            "DUPLICATE",
            "REJECTED",
            "REJECTED",
        ]
        assert lines[2]["id"] == lines[0]["id"]
        codes = [line["error"] and line["error"]["code"] for line in lines]
        assert codes == [None, "invalid_request", None, "idempotency_mismatch", "payload_too_large"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "invalid_request"),
        (b'{"events":[]}', 400, "invalid_request"),
        (b'{"events":[{},1]}', 400, "invalid_request"),
        (b'{"events":[' + b",".join([b"{}"] * 1001) + b"]}", 413, "payload_too_large"),
    ],
)
async def test_a_batch_without_a_valid_event_is_refused(
    body: bytes, status: int, code: str
) -> None:
    async with opened() as door:
        reply = await door.post(body, batch=True)
        assert (reply.status, reply.code) == (status, code)
        assert not door.store.groups


async def test_an_event_within_a_batch_may_nest_two_levels_less() -> None:
    deep = '{"eventType":"order.created","payload":' + '{"a":' * 61 + "1" + "}" * 61 + "}"
    async with opened() as door:
        assert (await door.post(deep.encode())).status == 202
        assert (await door.post(f'{{"events":[{deep}]}}'.encode(), batch=True)).status == 202
        deeper = deep.replace(":1}", ':{"b":1}}')
        assert (await door.post(deeper.encode())).status == 202
        assert (await door.post(f'{{"events":[{deeper}]}}'.encode(), batch=True)).status == 400


async def test_overload_asks_to_come_back() -> None:
    async with opened() as door:
        door.ingest._submit.__self__.close()  # type: ignore[attr-defined]  # the intake of this door
        reply = await door.post(order())
        assert (reply.status, reply.code, reply.retry_after_s) == (503, "overloaded", 1)


async def test_a_large_batch_lets_others_run(autojump_clock: MockClock) -> None:
    async with opened() as door:
        body = json.dumps({"events": [order() for _ in range(1000)]}).encode()
        replies: list[Reply] = []
        door.ingest.submit(ENVIRONMENT, body, True, replies.append)
        assert replies == []
        await wait_all_tasks_blocked()
        assert json.loads(replies[0].body)["accepted"] == 1000


async def test_large_batches_are_read_one_at_a_time_and_each_environment_in_turn(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    monkeypatch.setattr(ingest_module, "SLICE_S", 0.0)  # give way at every look at the clock
    order_of: list[int] = []
    read = Ingest._accept

    def accept(
        self: Ingest, environment: int, body: bytes, max_depth: int, hops: int, trace: str | None
    ) -> Accepted:
        if not order_of or order_of[-1] != environment:
            order_of.append(environment)
        return read(self, environment, body, max_depth, hops, trace)

    monkeypatch.setattr(Ingest, "_accept", accept)
    large = json.dumps({"events": [order(source="x" * 200)] * 400}).encode()
    small = json.dumps({"events": [order()]}).encode()
    assert len(large) > ingest_module.SMALL_BYTES
    async with opened() as door:
        replies: list[Reply] = []
        other = EnvironmentModel(2, "v", Environment.DEVELOPMENT)
        third = EnvironmentModel(3, "u", Environment.DEVELOPMENT)
        door.ingest.submit(ENVIRONMENT, large, True, replies.append)
        while not order_of:  # tasks that start together run in any order
            await trio.lowlevel.checkpoint()
        for environment, body in (
            (ENVIRONMENT, large), (ENVIRONMENT, large), (other, large), (third, small),
        ):  # fmt: skip
            door.ingest.submit(environment, body, True, replies.append)
        await trio.sleep(1)  # under load, groups gather
    assert [reply.status for reply in replies] == [202] * 5
    without_small = [each for each in order_of if each != 3]
    joined = [
        each for at, each in enumerate(without_small) if without_small[at - 1] != each or not at
    ]
    # The first environment's second body waits for the other environment's.
    assert joined == [1, 2, 1]
    # A small body does not wait for the large ones' end.
    assert order_of.index(3) < len(order_of) - 1
