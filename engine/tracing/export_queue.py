"""The queue of ended spans, and the thread that exports them.

If the collector hangs or cannot be reached, the queue fills. A full queue drops and counts spans; no
event is delayed. Workspaces take turns at the export, so that no workspace uses up the allowed export
rate.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog
from msgspec import Struct

from engine.core.throttle import TokenBucket
from engine.runtime.fair_queue import FairQueue
from engine.tracing.ended_span import EndedSpan

QUEUE = 4_096  # spans that can wait, of some 2 KB each; further spans are dropped
BATCH = 256  # spans of one request: their encoding holds the interpreter for 0.7 ms
GATHER_S = 1.0  # how long the first span of a batch waits for others
REASON_CHARACTERS = 300  # of a failure in the log: a collector's message can have any length
LIBRARY = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter"  # the logger that says why exports fail
)
_QUERY = re.compile(r"\?\S+")  # of an endpoint's URL: it can hold a token

log = structlog.get_logger("angarium.traces")


class SpanExport(Protocol):
    """The export of spans to a collector. Called by one thread."""

    def __call__(self, spans: Sequence[EndedSpan]) -> bool:
        """Export spans. Returns False if the collector did not take them."""

    def close(self) -> None:
        """End the session with the collector."""


class ExportStatistics(Struct, frozen=True):
    """Spans since the start. Each is in one of the four counts."""

    exported: int
    failed: int  # the collector did not take them
    dropped: int  # the queue was full, or the server stopped
    waiting: int


class ExportQueue:
    """A bounded queue in front of an exporter. The trio thread adds spans; the queue's thread, a daemon,
    takes them."""

    def __init__(
        self, export: SpanExport, rate: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`rate`: the most spans that are exported in a second."""
        self._exporter = export
        self._now = now
        self._bucket = TokenBucket(rate, now())
        self._lock = threading.Lock()  # guards `_spans`; held for microseconds
        self._spans: FairQueue[str | None, EndedSpan] = FairQueue()
        self._longest: str | None = None  # the workspace with the most waiting spans, approximately
        self._thread: threading.Thread | None = None
        self._some = threading.Event()
        self._many = threading.Event()
        self._closing = threading.Event()
        self._exported = self._failed = self._dropped = self._under_way = 0
        self._reason = _ShutdownLogFilter()
        logging.getLogger(LIBRARY).addFilter(self._reason)

    def put(self, span: EndedSpan) -> None:
        """Queue a span. A full queue drops a span of the workspace that has the most spans in the
        queue."""
        if self._closing.is_set():
            self._dropped += 1
            return
        with self._lock:
            waiting = self._spans.count
            self._admit(span)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
            self._thread.start()
        if not waiting:
            self._some.set()
        elif waiting + 1 == BATCH:
            self._many.set()

    def close(self, within_s: float) -> None:
        """Take no more spans. Export as many waiting spans as the rate allows in `within_s` seconds, and
        drop the others. This method blocks, so it must be called in a thread."""
        self._closing.set()
        self._some.set()
        self._many.set()
        if self._thread is not None:
            self._thread.join(within_s)
        with self._lock:
            self._dropped += self._spans.count
            self._spans.clear()
        logging.getLogger(LIBRARY).removeFilter(self._reason)

    def statistics(self) -> ExportStatistics:
        """Return the counts."""
        waiting = self._spans.count + self._under_way
        return ExportStatistics(self._exported, self._failed, self._dropped, waiting)

    def _admit(self, span: EndedSpan) -> None:
        spans, own = self._spans, span.workspace
        if spans.count >= QUEUE:
            self._dropped += 1
            if spans.waiting(self._longest) <= spans.waiting(own):
                self._longest = own
                return
            spans.take_of(self._longest)
        spans.put(own, span)
        if spans.waiting(own) > spans.waiting(self._longest):
            self._longest = own

    def _run(self) -> None:
        while True:
            self._some.wait()
            self._many.wait(GATHER_S)
            while self._spans.count and self._allowed():
                self._export()
                if self._spans.count < BATCH and not self._closing.is_set():
                    break  # let new spans gather first: a request costs as much as 25 spans
            if self._closing.is_set():
                self._exporter.close()
                return
            self._rest()

    def _rest(self) -> None:
        """Clear the events `_some` and `_many`, so that `_run` waits for more spans. An event stays set
        if enough spans wait for it already, or if the queue is closed."""
        self._some.clear()
        self._many.clear()
        closing = self._closing.is_set()
        if closing or self._spans.count:
            self._some.set()
        if closing or self._spans.count >= BATCH:
            self._many.set()

    def _allowed(self) -> bool:
        """Wait until the rate allows the next batch, and return True. If the queue is closed during the
        wait, return at once, with True if the rate allows at least one span."""
        bucket = self._bucket
        while (lacking := self._whole() - bucket.available(self._now())) > 0:
            if self._closing.wait(lacking / bucket.rate):
                return bucket.available(self._now()) > 0
        return True

    def _whole(self) -> int:
        """Return the number of spans that the next batch should have."""
        return min(BATCH, self._spans.count, int(self._bucket.capacity))

    def _export(self) -> None:
        most = min(BATCH, self._bucket.available(self._now()))
        batch: list[EndedSpan] = []
        with self._lock:
            while len(batch) < most and (taken := self._spans.take()) is not None:
                batch.append(taken[1])
            self._under_way = len(batch)
        self._bucket.spend(len(batch))
        began = time.monotonic()
        try:
            exported = self._exporter(batch)
        except Exception as error:  # one batch is lost; the thread continues
            exported, self._reason.words = False, repr(error)
        if exported:
            self._exported += len(batch)
        else:
            self._failed += len(batch)
            log.warning(
                "traces.not_exported",
                exporter="otlp",
                spans=len(batch),
                took_s=round(time.monotonic() - began, 1),
                reason=self._reason.words,
            )
        self._under_way = 0


class _ShutdownLogFilter(logging.Filter):
    """A filter of the library's log. It keeps the last message, and lets no message into the log."""

    words = "unknown"

    def filter(self, record: logging.LogRecord) -> bool:
        self.words = _QUERY.sub("?***", record.getMessage())[:REASON_CHARACTERS]
        return False
