"""The server's cost of spans for one in a hundred requests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench.checks import require
from bench.interleaved import cost, in_turns
from bench.results import Measurement
from bench.service import Figures, Receiver, Service

SAMPLED_OVER_OFF = 1.03
SHARE = 0.01


class _Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        _Collector.requests += 1
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[str]:
    """Yield the URL of a collector."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Collector)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def traced(
    service: Service,
    receiver: Receiver,
    *,
    events: int,
    connections: int,
    rounds: int,
    share: float,
) -> Measurement:
    """Compare two servers. The first makes no spans; the second traces a `share` of the requests."""
    with collecting() as url:
        settings = {"ANGARIUM_TRACES_SAMPLE": str(share), "OTEL_EXPORTER_OTLP_ENDPOINT": url}
        with Service(settings=settings) as other:
            for each in (service, other):
                each.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
            plan: Figures = {"events": events, "connections": connections}
            found = in_turns(
                rounds,
                lambda: cost(service, receiver, **plan),
                lambda: cost(other, receiver, **plan),
            )
    require(_Collector.requests > 0, "no span was exported")
    return found
