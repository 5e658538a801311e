"""The promise that no socket connects to a denied address, with a whole server in its own process.

The interpreter's audit hook records every `connect` of the process. The server may reach one address.
The tests try to make it reach another address, where a trap listens.
"""

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from bench.programs import free_port
from engine.model.errors import Refusal
from engine.wire.target import parse_target
from tests.process.conftest import open_house
from tests.process.house import House
from tests.process.watched import CONNECTS, NAMESERVER
from tests.wire.nameserver import Nameserver, open_nameserver
from tests.wire.notations import of_v4

HERE = "127.0.0.2"  # the only allowed address
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class Trap(threading.Thread):
    """A listener on all addresses, IPv4 and IPv6, which counts connections."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port: int = self.listener.getsockname()[1]
        self.came = 0

    def run(self) -> None:
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            accepted.close()
            self.came += 1

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join()


class Handler(BaseHTTPRequestHandler):
    """The receiver's handler. Some paths redirect to the trap."""

    server: "Place"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        self.server.paths.append(self.path)
        if self.path.startswith("/away/"):
            self.send_response(307)
            self.send_header("Location", self.server.away)
        else:
            self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


class Place(ThreadingHTTPServer):
    """The receiver, at the allowed address."""

    daemon_threads = True

    def __init__(self, away: str) -> None:
        # The port is free at other addresses too.
        super().__init__((HERE, free_port()), Handler)
        self.away = away
        self.port = self.server_address[1]
        self.url = f"http://{HERE}:{self.port}"
        self.paths: list[str] = []
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self.thread.start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self.thread.join()


class Street:
    """A watched server, the receiver at the allowed address, the trap that the server must not reach, and
    a name server with false addresses."""

    def __init__(self, house: House, place: Place, trap: Trap, names: Nameserver) -> None:
        self.house = house
        self.place = place
        self.trap = trap
        self.names = names

    def tried(self, **destination: object) -> Any:
        """Create a destination and send it a sample. Return the attempt's result."""
        made = self.house.api("POST", "/destinations", {"name": "d", **destination})
        if made["secret"] is not None:
            self.house.secrets.append(made["secret"])
        return self.house.api("POST", f"/destinations/{made['id']}/test")

    def connects(self) -> set[str]:
        return {line.split()[0] for line in self.log.read_text().splitlines()}

    @property
    def log(self) -> Path:
        return Path(self.house.settings[CONNECTS])


@pytest.fixture(scope="module")
def street(furnished: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    trap = Trap()
    trap.start()
    place = Place(f"http://127.0.0.1:{trap.port}/")
    proxy = f"http://127.0.0.1:{trap.port}"
    with open_nameserver() as names:
        settings = {
            "ANGARIUM_EGRESS_ALLOW": f"{HERE}/32",
            "ANGARIUM_TEMPLATE_HOSTS": f"slack=127.0.0.1:{trap.port}",
            CONNECTS: str(tmp_path_factory.mktemp("watched") / "connects"),
            NAMESERVER: str(names.port),
            **dict.fromkeys(PROXIES, proxy),
            "NO_PROXY": "nothing.test",
            "no_proxy": "nothing.test",
        }
        with open_house(furnished, "tests.process.watched", **settings) as house:
            yield Street(house, place, trap, names)
    place.close()
    trap.close()


def test_no_notation_and_no_name_brings_it_there(street: Street) -> None:
    port, tried = street.trap.port, 0
    for host in (
        *of_v4(IPv4Address("127.0.0.1")).values(),
        "localhost",
        "[::1]",
        "169.254.169.254",
    ):
        url = f"http://{host}:{port}/"
        try:
            parsed = parse_target(url)
        except Refusal:
            refused = street.house.ask("POST", "/destinations", {"name": "d", "url": url})
            assert refused.status == 400, host
            continue
        street.names.zone[parsed.host.rstrip(".")] = [("127.0.0.1", "::1")]
        refused = street.house.ask("POST", "/destinations", {"name": "d", "url": url})
        assert refused.status == 400, (host, refused)
        (detail,) = refused.body["details"]
        assert detail["path"] == "url"
        assert parsed.host in detail["message"]
        assert "ANGARIUM_EGRESS_ALLOW" in detail["message"]
        assert "127.0.0.1" not in json.dumps(refused.body).replace(parsed.host, "")
        tried += 1
    assert tried > 30
    for name, answers in (
        ("both.test", (HERE, "::1")),
        ("other.test", (HERE, "127.0.0.1")),
    ):
        street.names.zone[name] = [answers]
        told = street.tried(url=f"http://{name}:{port}/")
        assert told["errorCategory"] == "BLOCKED_ADDRESS", (name, told)
        assert name in told["errorMessage"]
        assert "ANGARIUM_EGRESS_ALLOW" in told["errorMessage"]
        assert "127.0.0.1" not in json.dumps(told)
    assert street.connects() <= {HERE}
    assert street.trap.came == 0


def test_a_name_that_changes_its_mind_brings_it_nowhere_else(street: Street) -> None:
    street.names.zone["rebind.test"] = [(HERE,), ("127.0.0.1",)]
    # A listener waits at the same port of the other address.
    with socket.create_server(("127.0.0.1", street.place.port)) as other:
        other.settimeout(0)
        for number in range(4):
            told = street.tried(url=f"http://rebind.test:{street.place.port}/{number}")
            assert told["success"] or told["errorCategory"] == "BLOCKED_ADDRESS"
        with pytest.raises(BlockingIOError):
            other.accept()
    assert "/0" in street.place.paths
    assert street.connects() == {HERE}


def test_a_redirect_is_followed_nowhere_and_proxies_of_the_environment_are_ignored(
    street: Street,
) -> None:
    assert street.tried(url=f"{street.place.url}/plain")["success"]
    told = street.tried(url=f"{street.place.url}/away/there")
    assert (told["errorCategory"], told["responseStatus"]) == ("REDIRECT", 307)
    # The attempt must not use the proxies that the environment variables name. It connects to the
    # receiver itself. The connection then fails, because the receiver has no TLS.
    told = street.tried(url=f"https://{HERE}:{street.place.port}/tls")
    assert told["errorCategory"] in ("TLS", "CONNECTION"), told
    assert {"/plain", "/away/there"} <= set(street.place.paths)
    assert street.connects() == {HERE}
    assert street.trap.came == 0


def test_a_host_that_the_operator_gave_a_template_is_guarded_like_any_other(street: Street) -> None:
    url = f"http://127.0.0.1:{street.trap.port}/services/T0/B0/x"
    draft = {"name": "d", "templateId": "slack", "config": {"webhookUrl": url}}
    refused = street.house.ask("POST", "/destinations", draft)
    assert refused.status == 400, refused
    assert refused.body["details"][0]["path"] == "config"
    assert street.trap.came == 0


@pytest.mark.parametrize("way", ["at once", "by a redirect"])
def test_a_files_source_is_guarded_like_a_receiver(street: Street, way: str) -> None:
    house = street.house
    kind = f"file.{way.replace(' ', '-')}"
    destination = house.made(f"{street.place.url}/files", kind, retrySchedule=[])
    source = street.place.away if way == "at once" else f"{street.place.url}/away/file"
    body = {"source": {"kind": "URL", "uri": source}, "eventType": kind}
    assert house.ask("POST", "/files", body).status == 202
    house.until_settled(destination)
    (item,) = house.deliveries(destination)
    detail = house.api("GET", f"/deliveries/{item['id']}")
    assert detail["attempts"][0]["errorCategory"] == "BLOCKED_ADDRESS", detail
    assert "/files" not in street.place.paths
    assert street.connects() <= {HERE}
    assert street.trap.came == 0
