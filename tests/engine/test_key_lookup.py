"""The look-up of a refused event's idempotency key: was an event with the same key accepted before?

Few look-ups run at once. If a look-up fails, the reply is an error of the service.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from engine.ingest.ingest import Ingest, Reply
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.ports import Claimed, StoreAwayError, StoreError
from engine.routing.router import Router
from engine.runtime.slices import no_pause
from engine.submission.key_lookup import AT_ONCE, MAX_WAITING, KeyLookup
from tests.engine.test_ingest import ENVIRONMENT

EVENT = b'{"eventType":"e","payload":{},"idempotencyKey":"k%d"}'


class Refusing:
    def check(self, payload: bytes, pause: Callable[[], None] = no_pause) -> None:
        raise Refusal("schema_violation", "payload: no")


class Reader:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[list[str]] = []
        self.go = trio.Event()

    async def holders(
        self, environment: int, keys: Sequence[str], now_ms: int
    ) -> dict[str, Claimed]:
        self.asked.append(list(keys))
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return {}


def ingest(reader: Reader | None, nursery: trio.Nursery) -> Ingest:
    models = Models()
    models.put_check(1, "e", Refusing())

    def submit(_: Any) -> None:
        raise AssertionError("a refused event was submitted")

    keys = None if reader is None else KeyLookup(reader, trio.current_time)
    return Ingest(Router(models), submit, Identity(), nursery.start_soon, keys)


async def test_look_ups_are_few_at_a_time_and_more_than_can_wait_are_told_so() -> None:
    reader, replies = Reader(), list[Reply]()
    async with trio.open_nursery() as nursery:
        door = ingest(reader, nursery)
        for number in range(MAX_WAITING + 1):
            door.submit(ENVIRONMENT, EVENT % number, False, replies.append)
        await wait_all_tasks_blocked()
        assert len(reader.asked) == AT_ONCE
        assert [(reply.status, reply.code) for reply in replies] == [(503, "overloaded")]
        reader.go.set()
    assert [reply.code for reply in replies[1:]] == ["schema_violation"] * MAX_WAITING


@pytest.mark.parametrize(
    ("error", "code"), [(StoreAwayError("away"), "overloaded"), (StoreError("odd"), "internal")]
)
@pytest.mark.parametrize("batch", [False, True])
async def test_a_key_that_cannot_be_looked_up_is_no_verdict(
    error: Exception, code: str, batch: bool
) -> None:
    reader, replies = Reader(error), list[Reply]()
    reader.go.set()
    async with trio.open_nursery() as nursery:
        body = b'{"events":[' + EVENT % 1 + b"]}" if batch else EVENT % 1
        ingest(reader, nursery).submit(ENVIRONMENT, body, batch, replies.append)
    assert [reply.code for reply in replies] == [code]


async def test_a_batch_asks_once_and_what_has_no_key_asks_nothing() -> None:
    reader, replies = Reader(), list[Reply]()
    reader.go.set()
    async with trio.open_nursery() as nursery:
        door = ingest(reader, nursery)
        bare = b'{"eventType":"e","payload":{}}'
        door.submit(ENVIRONMENT, bare, False, replies.append)
        assert (replies[0].code, reader.asked) == ("schema_violation", [])
        events = b",".join([EVENT % 2, bare, EVENT % 1, EVENT % 2])
        door.submit(ENVIRONMENT, b'{"events":[' + events + b"]}", True, replies.append)
    assert reader.asked == [["k1", "k2"]]
    assert (replies[1].status, len(replies[1].details)) == (400, 4)


async def test_who_is_stopped_while_looking_up_answers_that_nothing_was_accepted() -> None:
    reader, replies = Reader(), list[Reply]()
    async with trio.open_nursery() as nursery:
        ingest(reader, nursery).submit(ENVIRONMENT, EVENT % 1, False, replies.append)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [reply.code for reply in replies] == ["overloaded"]
