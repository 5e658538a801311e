"""A double of an S3 store on loopback, with objects by path and the documented REST interface."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.patience import HANGS_S


class Bucket:
    """A bucket whose faults a test turns on by attributes.

    - `failing`: each request is answered with the status 503.
    - `refusing`: each request is answered with the status 403, and the value of `said` is the body.
    - `lavish`: the answer contains more bytes than were requested.
    - `hanging`: no request is answered before the event `let` is set.
    """

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.failing = False
        self.refusing = False
        self.said = b""
        self.lavish = False
        self.url = ""
        self.hanging = False
        self.let = threading.Event()


@contextmanager
def open_bucket() -> Iterator[Bucket]:
    bucket = Bucket()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            fields = {"Content-Length": str(len(body)), **headers}
            for name, value in fields.items():
                self.send_header(name.replace("_", "-"), value)
            with suppress(ConnectionError):  # the client did not wait
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        def handled(self) -> bool:
            length = int(self.headers.get("Content-Length", 0))
            self.body = self.rfile.read(length)
            self.key = self.path.partition("?")[0].removeprefix("/bucket/")
            bucket.requests.append((self.command, self.path))
            if bucket.hanging:
                bucket.let.wait(HANGS_S)
            signed = self.headers.get("Authorization", "").startswith(
                "AWS4-HMAC-SHA256 Credential=id/"
            )
            if bucket.failing:
                self.answer(503)
            elif bucket.refusing or not signed:
                self.answer(403, bucket.said)
            elif not self.path.startswith("/bucket/"):
                self.answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
            else:
                return True
            return False

        def do_PUT(self) -> None:
            if not self.handled():
                return
            stated = self.headers.get("x-amz-content-sha256")
            assert stated == hashlib.sha256(self.body).hexdigest()
            bucket.objects[self.key] = self.body
            self.answer(200, ETag='"e"')

        def do_GET(self) -> None:
            if not self.handled():
                return
            found = bucket.objects.get(self.key)
            if found is None:
                self.answer(404)
                return
            fields = {"ETag": '"e"', "Last_Modified": "Sat, 21 Nov 2026 12:00:00 GMT"}
            wanted = self.headers.get("Range")
            if wanted is None:
                self.answer(200, found, **fields)
                return
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            part = found[int(first) : int(last) + (1000 if bucket.lavish else 1)]
            span = f"bytes {first}-{int(first) + len(part) - 1}/{len(found)}"
            self.answer(206, part, Content_Range=span, **fields)

        do_HEAD = do_GET  # noqa: N815 - named by the library

        def do_DELETE(self) -> None:
            if self.handled():
                bucket.objects.pop(self.key, None)
                self.answer(204)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    bucket.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield bucket
    finally:
        bucket.let.set()
        server.shutdown()
        thread.join()
        server.server_close()
