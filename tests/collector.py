"""A collector of traces on loopback, which takes OTLP over HTTP and keeps the spans."""

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.patience import HANGS_S


@dataclass(frozen=True)
class Seen:
    """One span. Times are nanoseconds since the epoch."""

    name: str
    trace: str
    span: str
    parent: str  # "" for a root
    state: str
    started: int
    ended: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """A collector that does not answer while `gate` is shut."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()
        self.status = 200
        self.answer_bytes = 0
        # The client closed before it received the answer's body.
        self.cut = threading.Event()
        self.headers: list[dict[str, str]] = []
        self._spans: list[Seen] = []
        self._changed = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                collector._take(self)

            def log_message(self, *_args: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True  # a client can keep its connection open until the end
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def spans(self) -> list[Seen]:
        with self._changed:
            return list(self._spans)

    def wait(self, met: Callable[[list[Seen]], object]) -> list[Seen]:
        with self._changed:
            assert self._changed.wait_for(lambda: met(self._spans), HANGS_S), self._spans
            return list(self._spans)

    def wait_named(self, *names: str) -> list[Seen]:
        """Wait for one span per name and no others."""
        found = self.wait(lambda spans: len(spans) >= len(names))
        assert sorted(each.name for each in found) == sorted(names)
        return sorted(found, key=lambda each: each.started)

    def _take(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"]))
        self.asked.set()
        self.gate.wait(HANGS_S)
        if handler.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        status = self.status
        with self._changed:
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            if status == 200 and handler.path == "/v1/traces":
                self._spans += _spans_of(body)
            self._changed.notify_all()
        handler.send_response(status)
        handler.send_header("content-type", "application/x-protobuf")
        handler.send_header("content-length", str(self.answer_bytes))
        if 300 <= status < 400:
            handler.send_header("location", f"{self.url}/elsewhere")
        handler.end_headers()
        try:
            handler.wfile.write(bytes(self.answer_bytes))
        except OSError:
            self.cut.set()
            handler.close_connection = True


@contextmanager
def open_collector() -> Iterator[Collector]:
    collector = Collector()
    try:
        yield collector
    finally:
        collector.close()


def _spans_of(body: bytes) -> Iterator[Seen]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            assert scope.scope.name == "angarium"
            for span in scope.spans:
                yield Seen(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.trace_state,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    span.status.code == 2,
                    _values(span.attributes),
                    _values(resource.resource.attributes),
                )


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}
