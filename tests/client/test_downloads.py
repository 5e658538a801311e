"""Downloads by receivers: the complete and correct file, or an error and no file."""

import base64
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import angarium

# The content is not random: it must be the same in every pytest worker, because the names of tests
# contain the hash of the content.
CONTENT = hashlib.shake_256(b"a file").digest(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = CONTENT if self.path != "/changed" else CONTENT[::-1]
        if self.path == "/gone":
            self.send_error(404)
            return
        self.send_response(302 if self.path == "/away" else 200)
        if self.path == "/away":
            self.send_header("Location", "/file")
        digest = base64.b64encode(hashlib.sha256(CONTENT).digest()).decode()
        self.send_header("Repr-Digest", f"sha-256=:{digest}:")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: 1_000 if self.path == "/cut" else None])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_urls_are_those_of_the_header_in_order() -> None:
    assert angarium.file_urls({"Angarium-File-Url": "https://a/1, https://a/2"}) == [
        "https://a/1",
        "https://a/2",
    ]
    assert angarium.file_urls([("content-type", "application/json")]) == []


@pytest.mark.parametrize("sha256", [SHA256, SHA256.upper(), None])
def test_a_file_is_written_whole(origin: str, tmp_path: Path, sha256: str | None) -> None:
    target = tmp_path / "a.bin"
    found = angarium.download(f"{origin}/file", target, sha256=sha256, origin=origin)
    assert (found, target.read_bytes()) == (SHA256, CONTENT)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("path", "sha256", "error"),
    [
        ("/file", "0" * 64, angarium.VerificationError),
        ("/changed", None, angarium.VerificationError),
        ("/cut", SHA256, angarium.ConnectionFailedError),
        ("/gone", SHA256, angarium.ConnectionFailedError),
        ("/away", SHA256, angarium.ConnectionFailedError),
    ],
)
def test_anything_else_is_an_error_and_writes_nothing(
    origin: str, tmp_path: Path, path: str, sha256: str | None, error: type[Exception]
) -> None:
    (tmp_path / "a.bin").write_bytes(b"before")
    with pytest.raises(error):
        angarium.download(f"{origin}{path}", tmp_path / "a.bin", sha256=sha256)
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"before"]


def test_no_other_origin_is_asked(origin: str, tmp_path: Path) -> None:
    for named in ("https://hooks.example", origin + "1", origin.replace("127", "128")):
        with pytest.raises(angarium.VerificationError):
            angarium.download(f"{origin}/file", tmp_path / "a.bin", origin=named)
