"""A small web server for the console's tests. It serves the files of `web`, and passes API requests on to
a real Angarium server.

The web server sends the same security headers as Angarium. A page that these headers block fails here.
"""

import http.client
import json
import mimetypes
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from api.web import KEPT

WEB = Path(__file__).parents[2] / "web"
ASSETS = "/console/assets/tests"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PASSED = ("authorization", "x-environment", "content-type", "accept", "idempotency-key")
NEVER = "2099-01-01T00:00:00.000Z"


class Front:
    """A running web server on 127.0.0.1. It passes API requests on to the Angarium server at
    `upstream`."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self.upstream: tuple[str, int] | None = upstream
        self.sockets: set[socket.socket] = set()

        class Handler(_Handler):
            front: ClassVar[Front] = self

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def cut(self) -> None:
        """Break all connections to the API and prevent new ones, as if the server was killed."""
        self.upstream = None
        for each in list(self.sockets):
            each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that closes a connection is not an error."""


class _Handler(BaseHTTPRequestHandler):
    front: ClassVar[Front]

    def handle_request(self) -> None:
        path = self.path.partition("?")[0]
        if path.startswith(ASSETS + "/"):
            self._file(WEB / path.removeprefix(ASSETS + "/"))
        elif path == "/console/sessions":
            self._session()
        elif path == "/console" or path.startswith("/console/"):
            page = (WEB / "console" / "index.html").read_text().replace("{assets}", ASSETS)
            self._give(200, "text/html; charset=utf-8", page.encode())
        else:
            self._pass_on()

    def __getattr__(self, name: str) -> Any:
        """Return the same handler for every HTTP method."""
        if name.startswith("do_"):
            return self.handle_request
        raise AttributeError(name)

    def _file(self, path: Path) -> None:
        if path.resolve().is_relative_to(WEB) and path.is_file():
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            self._give(200, kind, path.read_bytes(), KEPT)
        else:
            self._give(404, "text/plain", b"no such file")

    def _session(self) -> None:
        self._body()
        if self.command == "DELETE":
            self._give(204, "application/json", b"")
            return
        credential = self.headers.get("authorization", "")
        with self._asked("GET", "/auth/context", {"authorization": credential}, None) as answer:
            context: Any = json.loads(answer.read())
        if answer.status == 200:
            context = {
                "token": credential.removeprefix("Bearer "),
                "expiresAt": NEVER,
                "environments": [context["environment"]],
                "scope": context["scope"],
            }
        self._give(answer.status, "application/json", json.dumps(context).encode())

    def _pass_on(self) -> None:
        headers = {name: self.headers[name] for name in PASSED if name in self.headers}
        try:
            with self._asked(self.command, self.path, headers, self._body()) as answer:
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                self.end_headers()
                while piece := answer.read1(65536):
                    self.wfile.write(piece)
                    self.wfile.flush()
        except (OSError, http.client.HTTPException):
            self.close_connection = True  # the server or the browser closed the connection

    @contextmanager
    def _asked(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None
    ) -> Iterator[http.client.HTTPResponse]:
        if self.front.upstream is None:
            raise ConnectionRefusedError
        connection = http.client.HTTPConnection(*self.front.upstream, timeout=60)
        connection.connect()
        self.front.sockets.add(used := connection.sock)
        try:
            connection.request(method, path, body, headers)
            with connection.getresponse() as answer:
                yield answer
        finally:
            self.front.sockets.discard(used)
            connection.close()

    def _body(self) -> bytes | None:
        length = int(self.headers.get("content-length") or 0)
        return self.rfile.read(length) if length else None

    def _give(self, status: int, kind: str, content: bytes, cached: str = "no-store") -> None:
        self.send_response_only(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.send_header("content-security-policy", POLICY)
        self.send_header("cache-control", cached)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is theirs
        """Log nothing."""
