"""The producer: it takes events one by one, from any thread, and sends them in batches."""

import atexit
import threading
import weakref
from collections.abc import Sequence
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Self

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
from angarium.client import Client
from angarium.errors import AngariumError, ArgumentError, PayloadTooLargeError
from angarium.shapes import BatchResult, JsonObject

BUFFER_EVENTS = 10_000
BATCH_EVENTS = 500
LINGER_S = 0.005  # how long a batch's first event waits for others


class Outcome(Settled):
    """The outcome of one event of a producer."""

    __slots__ = ("_changed",)

    def __init__(self, idempotency_key: str, changed: threading.Condition) -> None:
        super().__init__(idempotency_key)
        self._changed = changed

    def result(self, timeout_s: float | None = None) -> Sent:
        """Wait for the outcome and return it. Raises AngariumError, and TimeoutError."""
        if not self.done:
            with self._changed:
                if not self._changed.wait_for(lambda: self.done, timeout_s):
                    raise TimeoutError("the event has no outcome yet")
        return self._value()


class Producer:
    """A producer, which sends events in batches, in order. Share it between threads; close it, or use
    `with`.

    If `buffer_events` events have no outcome yet, `send` waits for room. A failed batch is sent again
    by the client's RetryPolicy. With `in_flight` above 1, batches can overtake each other.
    """

    def __init__(
        self,
        client: Client,
        *,
        buffer_events: int = BUFFER_EVENTS,
        batch_events: int = BATCH_EVENTS,
        linger_s: float = LINGER_S,
        in_flight: int = 1,
    ) -> None:
        self._client = client
        self._buffer: Buffer[Outcome] = Buffer(buffer_events, batch_events)
        self._linger_s = linger_s
        lock = threading.Lock()
        self._work = threading.Condition(lock)
        self._changed = threading.Condition(lock)  # outcomes are known, and thus there is room
        self._hurry = 0  # callers that wait for a flush
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, name="angarium producer", daemon=True)
            for _ in range(max(1, in_flight))
        ]
        for thread in self._threads:
            thread.start()
        self._at_exit = partial(_close, weakref.ref(self))
        atexit.register(self._at_exit)

    def send(
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
        timeout_s: float | None = None,
    ) -> Outcome:
        """Queue an event; wait while the buffer is full. The event is durable once the outcome's
        `result()` returns.

        `timeout_s` limits the wait for room. Raises TimeoutError, and ArgumentError after `close`.
        """
        event, key = self._buffer.written(
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
        outcome, buffer = Outcome(key, self._changed), self._buffer
        with self._work:
            if buffer.full and not self._changed.wait_for(self._has_room, timeout_s):
                raise TimeoutError(f"{buffer.most} events are on their way: there is no room")
            if self._closed:
                raise ArgumentError("the producer is closed")
            buffer.put(event, outcome)
            if len(buffer.waiting) == 1 or buffer.enough:
                self._work.notify()
        return outcome

    def flush(self, timeout_s: float | None = None) -> Report:
        """Wait until all events have an outcome. Return the report on the outcomes since the last
        report. Raises TimeoutError."""
        with self._work:
            self._hurry += 1
            self._work.notify_all()
            try:
                if not self._changed.wait_for(lambda: not self._buffer.unsettled, timeout_s):
                    raise TimeoutError(f"{self._buffer.unsettled} events have no outcome yet")
            finally:
                self._hurry -= 1
            return self._buffer.report()

    def close(self, timeout_s: float | None = None) -> None:
        """Send the waiting events, then end. Events that are not sent within `timeout_s` fail, so
        that every event has an outcome. Raises EventsFailedError if events failed since the last
        flush."""
        until = None if timeout_s is None else monotonic() + timeout_s
        with self._work:
            self._closed = True
            self._work.notify_all()
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: not self._buffer.unsettled, timeout_s):
                self._buffer.give_up(closed())
                self._changed.notify_all()
        for thread in self._threads:
            thread.join(None if until is None else max(0.0, until - monotonic()))
        atexit.unregister(self._at_exit)
        with self._work:
            self._buffer.check()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except AngariumError:
            if error is None:  # otherwise the block's own error says more
                raise

    def _has_room(self) -> bool:
        return self._closed or not self._buffer.full

    def _run(self) -> None:
        while batch := self._next():
            self._perform(batch)

    def _next(self) -> list[Waiting[Outcome]]:
        """Wait for a batch and return it, empty after `close`."""
        buffer = self._buffer
        with self._work:
            while True:
                self._work.wait_for(lambda: buffer.waiting or self._closed)
                self._work.wait_for(self._in_a_hurry, self._linger_s)
                batch = buffer.take()  # empty if another thread has taken it
                if batch or self._closed:
                    return batch

    def _in_a_hurry(self) -> bool:
        return self._buffer.enough or self._closed or self._hurry > 0

    def _perform(self, batch: list[Waiting[Outcome]]) -> None:
        call: Call[BatchResult] = Call("POST", "/events/batch", body=body_of(batch))
        try:
            outcomes = read(batch, self._client.send(call))
        except PayloadTooLargeError as error:
            if len(batch) > 1:
                for half in halves(batch):
                    self._perform(half)
                return
            outcomes = [error]
        except AngariumError as error:
            outcomes = [error] * len(batch)
        except (
            Exception
        ) as error:  # a defect: the thread must continue, and each event get an outcome
            outcomes = [broken(error)] * len(batch)
        with self._work:
            self._buffer.settle(batch, outcomes)
            self._changed.notify_all()


def _close(producer: "weakref.ref[Producer]") -> None:
    """Send the waiting events when the program ends without a `close`."""
    left = producer()
    if left is not None:
        left.close()
