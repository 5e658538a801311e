"""The audits of `make check`. An audit fails if it finds a weakness, or if an exception (an accepted
weakness) is no longer needed. If an audit cannot reach the advisory service, it says so."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.security import advisories, static
from tests.security.exceptions import Endured, Excused, read

# A response of the service, reduced to the fields that are read.
RECORDED: dict[str, Any] = {
    "id": "GHSA-h5c8-rqwp-cp95",
    "aliases": ["CVE-2024-22195", "PYSEC-2024-0000"],
    "summary": "Jinja vulnerable to HTML attribute injection when passing user input to `xmlattr`",
    "details": "The `xmlattr` filter can be used to inject arbitrary HTML attributes.",
    "published": "2024-01-11T15:20:48Z",
    "affected": [
        {
            "package": {"name": "jinja2", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.1.3"}]}],
        }
    ],
}
LOCK = "jinja2==3.1.2 \\\n    --hash=sha256:{0}\nidna==3.10 \\\n    --hash=sha256:{0}\n".format(
    "0" * 64
)
ENDURED = Endured("CVE-2024-22195", "jinja2", "for the test")

Answer = Callable[[str, str], tuple[int, Any]]


class Service:
    def __init__(self) -> None:
        self.answer: Answer = lambda name, version: (200, {})
        self.asked: list[str] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                query = json.loads(self.rfile.read(length))
                name = query["package"]["name"]
                service.asked.append(name)
                status, said = service.answer(name, query["version"])
                body = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1/query"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


@pytest.fixture
def lock(tmp_path: Path) -> tuple[Path]:
    path = tmp_path / "some.lock"
    path.write_text(LOCK)
    return (path,)


def of_jinja(name: str, version: str) -> tuple[int, Any]:
    return 200, {"vulns": [RECORDED]} if name == "jinja2" else {}


def test_a_known_weakness_of_what_is_pinned_fails(
    service: Service, lock: tuple[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    service.answer = of_jinja
    assert advisories.main(service.url, lock, ()) == 1
    said = capsys.readouterr().out
    assert "jinja2 3.1.2" in said
    assert "CVE-2024-22195" in said
    assert "3.1.3" in said
    assert set(service.asked) == {"jinja2", "idna"}
    assert advisories.main(service.url, lock, (ENDURED,)) == 0
    assert "none that concerns us, of 2 packages" in capsys.readouterr().out


def test_an_exception_that_is_needed_no_more_fails() -> None:
    assert advisories.judge([], [ENDURED]) == [
        "the exception CVE-2024-22195 of jinja2 is needed no more"
    ]


@pytest.mark.parametrize(
    "answer",
    [
        lambda name, version: (200, {}),
        lambda name, version: (404, {"message": "not found"}),
        lambda name, version: (503, "<html>"),
    ],
    ids=["knows nothing", "is not there", "has a fault"],
)
def test_what_answers_in_the_services_stead_is_not_believed(
    service: Service, lock: tuple[Path], capsys: pytest.CaptureFixture[str], answer: Answer
) -> None:
    service.answer = answer
    assert advisories.main(service.url, lock, ()) == 0
    assert "NOT CHECKED" in capsys.readouterr().out
    assert service.asked == ["jinja2"]


def test_a_service_that_cannot_be_reached_is_told_plainly(
    lock: tuple[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert advisories.main("http://127.0.0.1:9/v1/query", lock, ()) == 0
    said = capsys.readouterr().out
    assert "NOT CHECKED, nothing is known of the dependencies" in said


def test_a_finding_of_bandits_fails_and_so_does_an_exception_without_one(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "bad.py").write_text("import hashlib\nhashlib.md5(b'')\n")
    found = static.findings(tmp_path, ["here"])
    ((test, file, line),) = found
    assert (file, line) == ("here/bad.py", 2)
    assert static.judge(found, []) == [f"here/bad.py:2: bandit {test}"]
    assert static.judge(found, [Excused(test, ("here/*",), "why")]) == []
    assert static.judge(found, [Excused(test, ("here/*", "there/*"), "why")]) == [
        f"the exception {test} is needed by nothing in there/*"
    ]


def test_every_exception_has_a_reason(tmp_path: Path) -> None:
    assert read().bandit
    (tmp_path / "bare.toml").write_text('[[bandit]]\ntest = "B1"\nfiles = ["*"]\nreason = " "\n')
    with pytest.raises(ValueError, match="without a reason"):
        read(tmp_path / "bare.toml")
