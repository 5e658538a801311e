"""TLS to receivers: the client verifies certificates and names. TLS 1.2 and 1.3 work. A receiver can end
a connection with or without TLS's closing message."""

import datetime
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
import trio
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory as Error
from engine.wire.connection import OutboundConnection
from engine.wire.tls import AuthoritiesError, TlsChannel, client_context
from tests.wire.street import (
    OK,
    Serve,
    Street,
    Visit,
    a_destination,
    an_event,
    answer_ok,
    closing_after,
    open_street,
    until,
)

HOST = "localhost"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def street(authority: trustme.CA) -> AsyncIterator[Street]:
    context = client_context()
    authority.configure_trust(context)
    async with open_street(tls=context, allow="127.0.0.0/8,::1/128") as street:
        yield street


def server(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


async def test_a_verified_connection_is_used_and_kept(
    street: Street, authority: trustme.CA
) -> None:
    receiver = await street.open(answer_ok, server(authority.issue_cert(HOST)), HOST)
    for _ in range(4):
        outcome = await street.attempt(a_destination(receiver.url))
        assert outcome.success, outcome.message
        assert outcome.body == b"ok"
    assert receiver.connections == 1


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_both_versions_of_tls_work(
    street: Street, authority: trustme.CA, version: ssl.TLSVersion
) -> None:
    context = server(authority.issue_cert(HOST))
    context.minimum_version = context.maximum_version = version
    receiver = await street.open(answer_ok, context, HOST)
    for _ in range(2):
        assert (await street.attempt(a_destination(receiver.url))).success
    assert receiver.connections == 1


async def test_an_address_is_checked_against_the_certificate_too(
    street: Street, authority: trustme.CA
) -> None:
    receiver = await street.open(answer_ok, server(authority.issue_cert("127.0.0.1")))
    assert (await street.attempt(a_destination(receiver.url))).success
    named = await street.open(answer_ok, server(authority.issue_cert(HOST)))
    assert (await street.attempt(a_destination(named.url))).category is Error.TLS


async def test_a_large_request_and_a_large_answer_pass(
    street: Street, authority: trustme.CA
) -> None:
    body = b"x" * 10_000_000
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    receiver = await street.open(closing_after(answer), server(authority.issue_cert(HOST)), HOST)
    event = an_event(1, b'{"x": "' + body + b'"}')
    outcome = await street.attempt(a_destination(receiver.url), event=event)
    assert outcome.success, outcome.message
    assert outcome.truncated
    assert receiver.requests[0].endswith(b'"}}')


async def test_a_body_may_end_with_the_connection_with_and_without_farewell(
    street: Street, authority: trustme.CA
) -> None:
    async def polite(visit: Visit) -> None:
        await visit.request()
        await visit.send(b"HTTP/1.1 200 OK\r\n\r\nbody")
        await visit.stream.aclose()

    abrupt = closing_after(b"HTTP/1.1 200 OK\r\n\r\nbody")
    context = server(authority.issue_cert(HOST))
    for serve in (polite, abrupt):
        receiver = await street.open(serve, context, HOST)
        outcome = await street.attempt(a_destination(receiver.url))
        assert outcome.success, outcome.message
        assert outcome.body == b"body"


async def test_a_reused_connection_that_said_farewell_is_replaced(
    street: Street, authority: trustme.CA
) -> None:
    async def serve(visit: Visit) -> None:
        await visit.request()
        await visit.send(OK)
        if visit.number == 0:
            await visit.request()
            await visit.stream.aclose()

    receiver = await street.open(serve, server(authority.issue_cert(HOST)), HOST)
    for _ in range(2):
        assert (await street.attempt(a_destination(receiver.url))).success
    assert receiver.connections == 2
    assert street.client.statistics().replaced == 1


def expired(authority: trustme.CA) -> trustme.LeafCert:
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    return authority.issue_cert(HOST, not_before=now - 9 * day, not_after=now - day)


async def never_shake(visit: Visit) -> None:
    await trio.sleep_forever()


def raw(data: bytes) -> Serve:
    """Return a receiver that first sends bytes in clear."""

    async def serve(visit: Visit) -> None:
        await visit.send(data)
        await visit.closed()

    return serve


REFUSED: dict[str, tuple[Callable[[trustme.CA], trustme.LeafCert], str]] = {
    "wrong name": (lambda ca: ca.issue_cert("other.test"), "mismatch"),
    "expired": (expired, "expired"),
    "unknown authority": (lambda _: trustme.CA().issue_cert(HOST), "local issuer"),
}


@pytest.mark.parametrize("case", list(REFUSED))
async def test_a_bad_certificate_is_a_failed_attempt_and_nothing_is_sent(
    street: Street, authority: trustme.CA, case: str
) -> None:
    make, words = REFUSED[case]
    receiver = await street.open(answer_ok, server(make(authority)), HOST)
    healthy = await street.open(answer_ok, server(authority.issue_cert(HOST)), HOST)
    outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.category is Error.TLS
    assert outcome.status is None
    assert words in (outcome.message or "").lower()
    assert receiver.requests == []
    assert (await street.attempt(a_destination(healthy.url))).success


async def test_a_self_signed_certificate_is_refused(street: Street) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with authority.cert_pem.tempfile() as cert, authority.private_key_pem.tempfile() as key:
        context.load_cert_chain(cert, key)
    receiver = await street.open(answer_ok, context, HOST)
    outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.category is Error.TLS
    assert "self" in (outcome.message or "")


@pytest.mark.parametrize(
    ("serve", "category", "words"),
    [
        (never_shake, Error.TIMEOUT, "TLS handshake"),
        (raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Error.TLS, "tls failed"),
        (raw(b"\x15\x03\x01\x00\x02\x02\x28"), Error.TLS, "alert"),
        (raw(b"\x16\x03\x03\xff\xff" + b"\0" * 70_000), Error.TLS, "tls failed"),
        (closing_after(b""), Error.TIMEOUT, "TLS handshake"),
    ],
    ids=["says nothing", "speaks in clear", "alert", "oversized record", "reads on"],
)
async def test_what_is_no_tls_costs_one_attempt(
    street: Street, serve: Serve, category: Error, words: str, mock_clock: MockClock
) -> None:
    receiver = await street.open(serve)
    outcomes: list[Outcome] = []
    street.begin(a_destination(receiver.url.replace("http://", "https://")), outcomes.append)
    if category is Error.TIMEOUT:  # the clock stands still until then
        await until(lambda: receiver.connections)
        await wait_all_tasks_blocked(0.02)
        mock_clock.jump(8)
    await until(lambda: outcomes)
    (outcome,) = outcomes
    assert outcome.category is category, outcome.message
    assert words.lower() in (outcome.message or "").lower()


async def test_a_peer_that_goes_on_without_content_is_left(
    street: Street, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.wire.tls.SILENT_LIMIT", 100)
    receiver = await street.open(answer_ok, server(authority.issue_cert(HOST)), HOST)
    outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.category is Error.TLS
    assert "without content" in (outcome.message or "")


async def test_an_end_within_the_handshake_is_of_tls(street: Street) -> None:
    async def serve(visit: Visit) -> None:
        await visit.stream.receive_some(100)

    receiver = await street.open(serve)
    outcome = await street.attempt(a_destination(receiver.url.replace("http://", "https://")))
    assert outcome.category is Error.TLS


async def test_a_receiver_that_wants_old_tls_is_refused(
    street: Street, authority: trustme.CA
) -> None:
    context = server(authority.issue_cert(HOST))
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    receiver = await street.open(answer_ok, context, HOST)
    assert (await street.attempt(a_destination(receiver.url))).category is Error.TLS


async def test_receivers_that_stall_in_their_handshakes_hold_up_no_other_workspace(
    authority: trustme.CA, mock_clock: MockClock
) -> None:
    context = client_context()
    authority.configure_trust(context)

    async def stall(visit: Visit) -> None:
        await visit.closed()  # the receiver reads without sending

    async with open_street(tls=context, openings=8) as street:
        stalling = await street.open(stall)
        url = stalling.url.replace("http:", "https:")
        late: list[Outcome] = []
        for number in range(20):  # the first four get places, and keep them longest
            name, timeout_ms = f"{number}", 800 if number < 4 else 400
            config = a_destination(url, id=name, workspace="greedy", timeout_ms=timeout_ms)
            street.begin(config, late.append)
        await until(lambda: stalling.connections == 4)
        assert street.client.statistics().openings_waiting == 16
        healthy = await street.open(answer_ok, server(authority.issue_cert(HOST)), HOST)
        outcome = await street.attempt(a_destination(healthy.url, workspace="healthy"))
        assert outcome.success, outcome.message
        for count in (16, 20):
            mock_clock.jump(0.4)
            await until(lambda count=count: len(late) == count)  # type: ignore[misc]  # bound now
        assert {outcome.category for outcome in late} == {Error.TIMEOUT}
        waited = ["other connections" in (outcome.message or "") for outcome in late]
        assert waited == [True] * 16 + [False] * 4


async def test_a_handshake_that_comes_whole_and_ends_at_once_is_still_read(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver sends a TLS alert and closes the connection. The alert must be in the outcome.

    Connections take turns for the steps of their handshakes, because a step takes as long as fifty
    requests. The client therefore reads the alert only at the connection's next turn.
    """
    context = server(authority.issue_cert(HOST))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES256-SHA256")  # Angarium's client does not offer this cipher

    async def refuse(visit: Visit) -> None:
        hello = await visit.stream.receive_some(65536)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        side = context.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(hello)
        with pytest.raises(ssl.SSLError):
            side.do_handshake()
        await visit.send(outgoing.read())

    async with open_street() as street:
        shaking: list[OutboundConnection] = []
        handshakes = street.client.wiring.handshakes
        monkeypatch.setattr(handshakes, "ask", lambda connection, _: shaking.append(connection))
        receiver = await street.open(refuse)
        outcomes: list[Outcome] = []
        street.begin(a_destination(receiver.url.replace("http:", "https:")), outcomes.append)
        await until(lambda: shaking and not shaking[0]._registration.watched)
        assert outcomes == []
        shaking[0].shake()
        (outcome,) = outcomes
        assert outcome.category is Error.TLS
        assert "handshake failure" in (outcome.message or "")


async def test_who_sends_a_handshake_and_closes_is_lost_at_its_turn(
    street: Street, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver sends its part of the handshake and ends its stream before it gets the request. From
    then on, the client's reactor does not watch the client's socket.

    The client completes the handshake at the connection's turn, and then begins to send the request. The
    socket's buffer has no room for the whole request. The rest must not wait for the reactor, which would
    never report that the socket has room again. So the attempt must fail at once.
    """
    context = server(authority.issue_cert(HOST))

    async def leave(visit: Visit) -> None:
        hello = await visit.stream.receive_some(65536)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        side = context.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(hello)
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
        await visit.send(outgoing.read())
        await visit.stream.send_eof()
        await visit.closed()

    shaking: list[OutboundConnection] = []
    handshakes = street.client.wiring.handshakes
    monkeypatch.setattr(handshakes, "ask", lambda connection, _: shaking.append(connection))
    receiver = await street.open(leave, host=HOST)
    outcomes: list[Outcome] = []
    url = receiver.url.replace("http:", "https:")
    large = an_event(payload=b'{"a":"%s"}' % (b"x" * 8_000_000))
    street.begin(a_destination(url), outcomes.append, event=large)
    await until(lambda: shaking and not shaking[0]._registration.watched)
    assert outcomes == []
    shaking[0].shake()
    (outcome,) = outcomes
    assert outcome.category is Error.CONNECTION
    assert street.errors == []


async def test_a_fault_in_a_handshake_ends_its_connection(
    street: Street, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = await street.open(answer_ok, server(authority.issue_cert(HOST)), HOST)
    with monkeypatch.context() as broken:
        broken.setattr(TlsChannel, "receive", lambda *_: 1 // 0)
        outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.category is Error.INTERNAL
    assert [type(error) for error in street.errors] == [ZeroDivisionError]
    street.errors.clear()
    assert (await street.attempt(a_destination(receiver.url))).success


async def test_one_that_says_farewell_with_its_answer_is_left_to_nobody(
    street: Street, authority: trustme.CA
) -> None:
    context = server(authority.issue_cert(HOST))

    async def serve(visit: Visit) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        side, shaken = context.wrap_bio(incoming, outgoing, server_side=True), False
        while b"\r\n\r\n" not in visit.buffer:
            incoming.write(await visit.stream.receive_some(65536))
            with suppress(ssl.SSLWantReadError):
                if not shaken:
                    side.do_handshake()
                    shaken = True
                visit.buffer += side.read(65536)
            await visit.send(outgoing.read())
        side.write(OK)
        with suppress(ssl.SSLWantReadError):
            side.unwrap()
        await visit.send(outgoing.read())  # in one send, so that one read gets all of it
        await visit.closed()

    receiver = await street.open(serve, host=HOST)
    outcomes: list[Outcome] = []
    config = a_destination(receiver.url.replace("http:", "https:"), concurrency=1)
    for _ in range(2):
        street.begin(config, outcomes.append)
    await until(lambda: len(outcomes) == 2)
    assert all(outcome.success for outcome in outcomes)
    found = street.client.statistics()
    assert (found.opened, found.reused, found.idle) == (2, 0, 0)


async def test_authorities_of_ones_own_are_trusted_beside_the_systems(tmp_path: Path) -> None:
    authority = trustme.CA()
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    context = client_context(file)
    systems = client_context().cert_store_stats()["x509_ca"]
    assert context.cert_store_stats()["x509_ca"] == systems + 1
    async with open_street(tls=context, allow="127.0.0.0/8,::1/128") as street:
        receiver = await street.open(answer_ok, server(authority.issue_cert(HOST)), HOST)
        outcome = await street.attempt(a_destination(receiver.url))
        assert outcome.success, outcome.message


def test_authorities_that_cannot_be_read_say_what_to_do(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.touch()
    for file in (empty, tmp_path / "none.pem"):
        with pytest.raises(AuthoritiesError, match=f"{file.name} cannot.*ANGARIUM_EGRESS_CA"):
            client_context(file)


async def test_a_certificate_without_alternative_names_is_refused(tmp_path: Path) -> None:
    """The certificate has the host's name only as its common name. Old clients accept this, but this
    client must not."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    write_nameless(certificate, key)
    context = client_context(certificate)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the name must be the only reason to refuse
    named = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    named.load_cert_chain(certificate, key)
    async with open_street(tls=context, allow="127.0.0.0/8,::1/128") as street:
        receiver = await street.open(answer_ok, named, HOST)
        outcome = await street.attempt(a_destination(receiver.url))
        assert outcome.category is Error.TLS
        assert "not valid for 'localhost'" in (outcome.message or "")


def write_nameless(certificate: Path, key: Path) -> None:
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    key.write_bytes(
        secret.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
