"""The wire client as the engine uses it: the requests that receivers get, and the outcomes that the
client returns."""

import re
import socket
import threading
from email.utils import formatdate
from time import time

import pytest
import trio
from standardwebhooks.webhooks import Webhook
from trio.testing import wait_all_tasks_blocked

from bench.programs import free_port
from engine.core.destination import SigningKey
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory as Error
from engine.core.vocabulary import SigningAlgorithm
from engine.wire.resolver import Addresses
from engine.wire.signing import secret_text
from tests.patience import HANGS_S
from tests.wire.street import (
    KEY,
    Street,
    a_destination,
    an_event,
    answer_ok,
    answering,
    open_street,
)

ROUNDING_S = 0.01  # of instants that an outcome gives in milliseconds


def parse(request: bytes) -> tuple[dict[str, str], bytes]:
    head, body = request.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines), body


async def test_a_receiver_verifies_what_it_gets(street: Street) -> None:
    receiver = await street.open(answer_ok)
    assert (await street.attempt(a_destination(receiver.url))).success
    headers, body = parse(receiver.requests[0])
    verified = Webhook(secret_text(KEY)).verify(body, headers)
    assert verified["data"] == {"n": 1}
    assert verified["id"] == headers["webhook-id"]
    assert headers["host"] == receiver.url.split("/")[2]
    assert abs(int(headers["webhook-timestamp"]) - time()) < 5
    assert re.fullmatch(r"Angarium/\S+", headers["user-agent"])


async def test_the_timestamp_follows_the_wall_clock(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Receivers compare the timestamp with their wall clocks. The timestamp must not come from the
    # engine's monotonic clock, because this clock stops while the computer sleeps.
    monkeypatch.setattr("engine.wire.client.time", lambda: 1_900_000_000.5)
    receiver = await street.open(answer_ok)
    assert (await street.attempt(a_destination(receiver.url))).success
    assert parse(receiver.requests[0])[0]["webhook-timestamp"] == "1900000000"


async def test_every_attempt_has_the_same_body_and_id(street: Street) -> None:
    receiver = await street.open(answering(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"))
    event = an_event(5, b'{ "digits": 123456789012345678901234567890 }')
    for number in (1, 2, 3):
        outcome = await street.attempt(a_destination(receiver.url), event=event, number=number)
        assert outcome.category is Error.HTTP_5XX
        event.body = None  # as after a restart
    seen = [parse(request) for request in receiver.requests]
    assert len({body for _, body in seen}) == 1
    assert {headers["webhook-id"] for headers, _ in seen} == {event.id}
    assert [headers["angarium-attempt"] for headers, _ in seen] == ["1", "2", "3"]


async def test_the_outcome_has_what_came(street: Street) -> None:
    receiver = await street.open(
        answering(b"HTTP/1.1 202 Yes\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: 3\r\n\r\nabc")
    )
    before = time()
    outcome = await street.attempt(a_destination(receiver.url))
    after = time()
    assert outcome.success
    assert outcome.status == 202
    assert outcome.headers == ((b"X-A", b"1"), (b"x-a", b"2"), (b"content-length", b"3"))
    assert outcome.body == b"abc"
    assert before - ROUNDING_S <= outcome.started_at <= after
    assert 0 <= outcome.duration_ms <= (after - before + ROUNDING_S) * 1_000


async def test_no_more_than_16_kib_of_headers_are_kept(street: Street) -> None:
    fields = b"".join(b"x-%d: %b\r\n" % (number, b"v" * 1000) for number in range(50))
    receiver = await street.open(
        answering(b"HTTP/1.1 200 OK\r\n" + fields + b"content-length: 0\r\n\r\n")
    )
    outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.success
    assert 15 <= len(outcome.headers) <= 16


@pytest.mark.parametrize(
    ("status", "value", "seconds"),
    [
        (429, "30", 30),
        (503, "7", 7),
        (429, "in an hour", 3600),
        (429, "soon", None),
        (500, "30", None),
        (200, "30", None),
    ],
)
async def test_retry_after_counts_on_429_and_503(
    street: Street, status: int, value: str, seconds: float | None
) -> None:
    if value == "in an hour":
        value = formatdate(time() + 3600, usegmt=True)
    answer = f"HTTP/1.1 {status} X\r\nretry-after: {value}\r\ncontent-length: 0\r\n\r\n"
    receiver = await street.open(answering(answer.encode()))
    outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.status == status
    if seconds is None:
        assert outcome.retry_after_s is None
    else:
        assert outcome.retry_after_s == pytest.approx(seconds, abs=20)


async def test_a_429_is_its_own_category(street: Street) -> None:
    receiver = await street.open(answering(b"HTTP/1.1 429 X\r\ncontent-length: 0\r\n\r\n"))
    assert (await street.attempt(a_destination(receiver.url))).category is Error.RATE_LIMITED


async def test_an_outcome_is_never_reported_while_it_is_being_sent(street: Street) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    outcomes: list[Outcome] = []
    for destination in (
        a_destination(url),
        a_destination(url, id="again"),
        a_destination("http://a.test/", id="unsigned", signing=()),
    ):
        street.begin(destination, outcomes.append)
        assert outcomes == []
        with trio.fail_after(HANGS_S):
            while not outcomes:
                await wait_all_tasks_blocked(0.001)
        assert not outcomes.pop().success


async def test_a_refused_connection_is_said_so(street: Street) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    outcome = await street.attempt(a_destination(url))
    assert outcome.category is Error.CONNECTION
    assert outcome.message == "the connection was refused"


@pytest.mark.parametrize(
    "changes",
    [
        {"signing": ()},
        {"signing": (SigningKey(algorithm=SigningAlgorithm.ED25519, key=b"short"),)},
        {"headers": ((b"x", b"a\r\nb: c"),)},
    ],
)
async def test_what_cannot_be_signed_or_framed_is_not_sent(
    street: Street, changes: dict[str, object]
) -> None:
    receiver = await street.open(answer_ok)
    outcome = await street.attempt(a_destination(receiver.url, **changes))
    assert outcome.category is Error.INTERNAL
    assert receiver.connections == 0
    mended = a_destination(receiver.url, version=2)
    assert (await street.attempt(mended)).success


async def test_a_name_that_does_not_exist_is_dns() -> None:
    def lookup(host: str) -> Addresses:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async with open_street(lookup=lookup) as street:
        for _ in range(2):  # the second answer comes from memory
            outcome = await street.attempt(a_destination("http://nowhere.test/"))
            assert outcome.category is Error.DNS
            assert "not known" in (outcome.message or "")


async def test_an_address_that_is_not_public_is_never_connected_to() -> None:
    async with open_street(allow="") as street:
        receiver = await street.open(answer_ok)
        port = receiver.url.split(":")[2].split("/")[0]
        for host in (
            "127.0.0.1",
            "localhost",
            "2130706433",
            "0x7f.1",
            "127.1",
            "0",
            "[::ffff:127.0.0.1]",
        ):
            outcome = await street.attempt(a_destination(f"http://{host}:{port}/"))
            assert outcome.category is Error.BLOCKED_ADDRESS, host
            assert "127" not in (outcome.message or "").replace(host, "")
        assert receiver.connections == 0


async def test_a_name_is_judged_again_whenever_it_is_resolved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.wire.resolver.FOUND_S", 0.0)
    answers: list[Addresses] = [
        ((socket.AF_INET, "127.0.0.1"),),
        ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "10.0.0.1")),
        ((socket.AF_INET, "169.254.169.254"),),
        ((socket.AF_INET6, "::ffff:169.254.169.254"),),
    ]
    asked: list[str] = []

    def lookup(host: str) -> Addresses:
        asked.append(host)
        return answers[len(asked) - 1]

    async with open_street(lookup=lookup) as street:
        receiver = await street.open(
            answering(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
            host="rebind.test",
        )
        assert (await street.attempt(a_destination(receiver.url))).success
        for _ in answers[1:]:
            outcome = await street.attempt(a_destination(receiver.url))
            assert outcome.category is Error.BLOCKED_ADDRESS
        assert receiver.connections == 1
        assert b"host: rebind.test:" in receiver.requests[0]


async def test_a_dead_address_delays_but_does_not_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.wire.racing.STAGGER_S", 0.02)
    full = socket.socket()
    full.bind(("127.0.0.2", 0))
    port = full.getsockname()[1]
    full.listen(0)
    fillers = [socket.socket() for _ in range(4)]  # a full backlog makes connecting hang
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(("127.0.0.2", port))
    addresses: Addresses = tuple((socket.AF_INET, f"127.0.0.{last}") for last in (2, 3, 4))

    async with open_street(lookup=lambda host: addresses) as street:
        receiver = await street.open(answer_ok, address="127.0.0.4", port=port)
        outcome = await street.attempt(a_destination(f"http://many.test:{port}/"))
        assert outcome.success, outcome.message
        assert receiver.connections == 1
    for sock in (full, *fillers):
        sock.close()


async def test_all_addresses_failing_is_one_failure() -> None:
    addresses: Addresses = tuple((socket.AF_INET, f"127.0.0.{last}") for last in (2, 3, 4))
    async with open_street(lookup=lambda host: addresses) as street:
        with socket.socket() as unheard:
            unheard.bind(("", 0))  # on all addresses, so that no other process can listen there
            port = unheard.getsockname()[1]
            outcome = await street.attempt(a_destination(f"http://many.test:{port}/"))
        assert outcome.category is Error.CONNECTION
        assert "refused" in (outcome.message or "")


async def test_a_slow_name_is_a_timeout_and_others_are_not_held_up() -> None:
    let_go = threading.Event()

    def lookup(host: str) -> Addresses:
        if host == "slow.test":
            let_go.wait(HANGS_S)
        return ((socket.AF_INET, "127.0.0.1"),)

    async with open_street(lookup=lookup) as street:
        healthy = await street.open(answer_ok, host="quick.test")
        outcomes: list[Outcome] = []
        street.begin(a_destination("http://slow.test/"), outcomes.append)
        assert (await street.attempt(a_destination(healthy.url))).success
        assert outcomes == []
        hasty = a_destination("http://slow.test/", id="hasty", timeout_ms=150)
        outcome = await street.attempt(hasty)
        assert outcome.category is Error.TIMEOUT
        assert "resolving" in (outcome.message or "")
        let_go.set()
