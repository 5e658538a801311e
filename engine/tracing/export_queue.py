"""The queue of ended spans, and the thread that exports them.

The trio thread only appends. A collector that hangs or is away costs spans, which are
counted, and neither memory nor time of the loop.
"""

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable

import structlog
from msgspec import Struct
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from engine.core.throttle import TokenBucket

QUEUE = 4_096  # spans that wait, of some 3 KB each; more are dropped
BATCH = 64  # spans of one request: their encoding holds the interpreter for some 2 ms
GATHER_S = 1.0  # how long the first span of a batch waits for others
REASON_CHARACTERS = 300  # of the log: a collector's words can be as long as it likes
LIBRARY = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter"  # the logger that says why it failed
)
_QUERY = re.compile(r"\?\S+")  # of an endpoint's URL: it can hold a token

log = structlog.get_logger("angarium.traces")


class ExportStatistics(Struct, frozen=True):
    """Spans since the start: every span that ended is in one of the four."""

    exported: int
    failed: int  # the collector did not take them
    dropped: int  # the queue was full, the rate was reached, or the server stopped
    waiting: int


class ExportQueue(SpanProcessor):
    """A bounded queue in front of an exporter. The trio thread ends spans; the queue's thread, a daemon,
    takes them."""

    def __init__(
        self, exporter: SpanExporter, rate: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`rate`: the most spans a second; further ones are dropped."""
        self._exporter = exporter
        self._now = now
        self._bucket = TokenBucket(rate, now())
        self._spans: deque[ReadableSpan] = deque()
        self._thread: threading.Thread | None = None
        self._some = threading.Event()
        self._many = threading.Event()
        self._closed = False
        self._exported = self._failed = self._dropped = self._under_way = 0
        self._reason = _LastWords()
        logging.getLogger(LIBRARY).addFilter(self._reason)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Do nothing, as the base class says."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span. Called on the trio thread."""
        waiting = len(self._spans)
        if self._closed or waiting >= QUEUE or not self._bucket.available(self._now()):
            self._dropped += 1
            return
        self._bucket.spend(1)
        self._spans.append(span)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
            self._thread.start()
        if not waiting:
            self._some.set()
        elif waiting + 1 == BATCH:
            self._many.set()

    def close(self, within_s: float) -> None:
        """Export what waits, within so many seconds, and end. Blocks: call it in a thread."""
        self._closed = True
        self._some.set()
        self._many.set()
        if self._thread is not None:
            self._thread.join(within_s)
        self._dropped += len(self._spans)
        self._spans.clear()
        logging.getLogger(LIBRARY).removeFilter(self._reason)

    def statistics(self) -> ExportStatistics:
        """Return the counts."""
        waiting = len(self._spans) + self._under_way
        return ExportStatistics(self._exported, self._failed, self._dropped, waiting)

    def _run(self) -> None:
        while True:
            self._some.wait()
            self._many.wait(GATHER_S)
            self._some.clear()
            self._many.clear()
            while self._spans:
                self._export()
            if self._closed:
                self._exporter.shutdown()
                return

    def _export(self) -> None:
        batch = [self._spans.popleft() for _ in range(min(BATCH, len(self._spans)))]
        self._under_way = len(batch)
        began = time.monotonic()
        try:
            taken = self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # a barrier: one batch is lost, the thread stays
            taken, self._reason.words = False, repr(error)
        if taken:
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


class _LastWords(logging.Filter):
    """Keeps what the library logged last, instead of having it written for every request."""

    words = "unknown"

    def filter(self, record: logging.LogRecord) -> bool:
        self.words = _QUERY.sub("?***", record.getMessage())[:REASON_CHARACTERS]
        return False
