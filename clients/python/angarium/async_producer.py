"""The asynchronous producer: it takes events one by one, and sends them in batches."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from angarium import outgoing
from angarium.buffer import (
    Buffer,
    Report,
    Sent,
    Settled,
    Waiting,
    body_of,
    broken,
    closed,
    halves,
    read,
)
from angarium.calls import Call, Instant
from angarium.client import AsyncClient
from angarium.errors import AngariumError, ArgumentError, PayloadTooLargeError
from angarium.producer import BATCH_EVENTS, BUFFER_EVENTS, LINGER_S
from angarium.shapes import BatchResult, JsonObject


class AsyncOutcome(Settled):
    """The outcome of one event of an asynchronous producer."""

    __slots__ = ("_producer",)

    def __init__(self, idempotency_key: str, producer: "AsyncProducer") -> None:
        super().__init__(idempotency_key)
        self._producer = producer

    async def result(self) -> Sent:
        """Wait for the outcome and return it. Raises AngariumError."""
        while not self.done:
            await self._producer.wait_changed()
        return self._value()


class AsyncProducer:
    """A producer like `Producer`, for tasks of asyncio or trio. Use it with `async with`."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        buffer_events: int = BUFFER_EVENTS,
        batch_events: int = BATCH_EVENTS,
        linger_s: float = LINGER_S,
        in_flight: int = 1,
    ) -> None:
        self._client = client
        self._buffer: Buffer[AsyncOutcome] = Buffer(buffer_events, batch_events)
        self._linger_s = linger_s
        self._in_flight = max(1, in_flight)
        self._changed = anyio.Event()  # set when outcomes are known, and thus there is room
        self._work = anyio.Event()  # set when an event waits, or at the end of the block
        self._hurry = anyio.Event()  # set when a full batch waits, or a caller of `flush`
        self._flushes = 0
        self._open = False
        self._tasks: TaskGroup | None = None

    async def send(
        self,
        event_type: str,
        payload: outgoing.Payload,
        *,
        occurred_at: Instant | None = None,
        metadata: JsonObject | None = None,
        source: str | None = None,
        customer_external_id: str | None = None,
        idempotency_key: str | None = None,
        correlation_id: str | None = None,
        request_id: str | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
        attachments: Sequence[JsonObject] | None = None,
    ) -> AsyncOutcome:
        """Queue an event; wait while the buffer is full. The event is durable once the outcome's
        `result()` returns.

        Raises ArgumentError outside of `async with`.
        """
        buffer = self._buffer
        event, key = buffer.written(
            event_type,
            payload,
            {
                "occurred_at": occurred_at,
                "metadata": metadata,
                "source": source,
                "customer_external_id": customer_external_id,
                "idempotency_key": idempotency_key,
                "correlation_id": correlation_id,
                "request_id": request_id,
                "traceparent": traceparent,
                "tracestate": tracestate,
                "attachments": None if attachments is None else list(attachments),
            },
        )
        while self._open and buffer.full:
            await self.wait_changed()
        if not self._open:
            raise ArgumentError("the producer is not open: use it with `async with`")
        outcome = AsyncOutcome(key, self)
        buffer.put(event, outcome)
        self._work.set()
        if buffer.enough:
            self._hurry.set()
        return outcome

    async def flush(self) -> Report:
        """Wait until all events have an outcome. Return the report on the outcomes since the last
        report."""
        self._flushes += 1
        self._hurry.set()
        try:
            while self._buffer.unsettled:
                await self.wait_changed()
        finally:
            self._flushes -= 1
        return self._buffer.report()

    async def wait_changed(self) -> None:
        """Wait until the outcomes of a batch are known."""
        await self._changed.wait()

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        self._open = True
        for _ in range(self._in_flight):
            self._tasks.start_soon(self._run)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Send the waiting events. Raises EventsFailedError if events failed since the last flush."""
        assert self._tasks is not None
        self._open = False
        self._work.set()
        self._hurry.set()
        try:  # also after an error of the block, which is raised as it is
            await self._tasks.__aexit__(None, None, None)
        finally:
            self._buffer.give_up(closed())  # events still wait here only after a cancellation
            self._pulse()
        if error is None:
            self._buffer.check()

    async def _run(self) -> None:
        buffer = self._buffer
        while buffer.waiting or self._open:
            if not buffer.waiting:
                self._work = anyio.Event()
                await self._work.wait()
                continue
            if self._open and not buffer.enough and not self._flushes:
                self._hurry = anyio.Event()
                with anyio.move_on_after(self._linger_s):
                    await self._hurry.wait()
            if batch := buffer.take():  # empty if another task has taken it
                await self._perform(batch)

    async def _perform(self, batch: list[Waiting[AsyncOutcome]]) -> None:
        call: Call[BatchResult] = Call("POST", "/events/batch", body=body_of(batch))
        try:
            outcomes = read(batch, await self._client.send(call))
        except PayloadTooLargeError as error:
            if len(batch) > 1:
                for half in halves(batch):
                    await self._perform(half)
                return
            outcomes = [error]
        except AngariumError as error:
            outcomes = [error] * len(batch)
        except (
            Exception
        ) as error:  # a defect: the task must continue, and each event get an outcome
            outcomes = [broken(error)] * len(batch)
        except BaseException as error:
            self._buffer.settle(batch, [broken(error)] * len(batch))
            raise
        self._buffer.settle(batch, outcomes)
        self._pulse()

    def _pulse(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
