"""Client certificates: receivers see the destination's certificate. Destinations with different
certificates do not share connections."""

import ssl
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from engine.core.destination import MutualTls
from engine.core.vocabulary import ErrorCategory as Error
from engine.model.errors import Refusal
from engine.runtime.background import Background
from engine.wire.identities import Identities, check_identity, load_identity
from engine.wire.tls import AuthoritiesError
from tests.patience import HANGS_S
from tests.wire.street import Street, Visit, a_destination, answer_ok, open_street

HOST = "localhost"
AUTHORITY = trustme.CA()


def identity(name: str) -> MutualTls:
    made = AUTHORITY.issue_cert(name)
    chain = "".join(blob.bytes().decode() for blob in made.cert_chain_pems)
    return MutualTls(chain, made.private_key_pem.bytes().decode())


ONE, TWO = identity("one.example"), identity("two.example")


@pytest.fixture
async def street(tmp_path: Path) -> AsyncIterator[Street]:
    file = tmp_path / "authorities.pem"
    AUTHORITY.cert_pem.write_to_path(file)
    async with open_street(allow="127.0.0.0/8,::1/128", egress_ca=file) as street:
        yield street


def asking(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    AUTHORITY.issue_cert(HOST).configure_cert(context)
    AUTHORITY.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


async def tell_who(visit: Visit) -> None:
    while await visit.request() is not None:
        assert isinstance(visit.stream, trio.SSLStream)
        certificate = visit.stream.getpeercert()
        name = certificate["subjectAltName"][0][1].encode()
        await visit.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(name), name))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_connections_are_kept_apart_by_identity(
    street: Street, version: ssl.TLSVersion
) -> None:
    receiver = await street.open(tell_who, asking(version), HOST)
    for _ in range(2):
        for name, each in (("one", ONE), ("two", TWO)):
            destination = a_destination(receiver.url, id=name, authentication=each)
            outcome = await street.attempt(destination)
            assert (outcome.message, outcome.body) == (None, f"{name}.example".encode())
    assert receiver.connections == 2
    again = a_destination(receiver.url, id="three", authentication=ONE)
    assert (await street.attempt(again)).body == b"one.example"
    assert receiver.connections == 2, "destinations of one identity share connections"


async def test_a_receiver_that_wants_a_certificate_refuses_who_has_none(street: Street) -> None:
    receiver = await street.open(answer_ok, asking(ssl.TLSVersion.TLSv1_2), HOST)
    shown = await street.attempt(a_destination(receiver.url, id="a", authentication=ONE))
    assert shown.success
    outcome = await street.attempt(a_destination(receiver.url, id="b"))
    assert outcome.category is Error.TLS, "an idle connection with an identity is not used"


async def test_a_pair_that_the_library_refuses_fails_the_attempt(street: Street) -> None:
    receiver = await street.open(answer_ok, asking(), HOST)
    broken = MutualTls(ONE.certificate, TWO.private_key)
    outcome = await street.attempt(a_destination(receiver.url, authentication=broken))
    assert outcome.category is Error.TLS
    assert "client certificate" in (outcome.message or "")


async def test_a_context_is_made_once_for_all_that_wait(nursery: trio.Nursery) -> None:
    background, identities = Background(), Identities()
    await nursery.start(background.run)
    events = [trio.Event() for _ in range(5)]
    for event in events:
        identities.prepare("w", ONE, background.spawn, event.set)
    assert not events[0].is_set(), "a thread makes it"
    for event in events:
        await event.wait()
    made = identities.context("w", ONE)
    identities.prepare("w", ONE, background.spawn, events[0].set)
    assert (identities.context("w", ONE), len(identities)) == (made, 1)


async def test_a_workspace_with_many_identities_evicts_and_delays_no_other(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.wire.identities.KEPT", 3)
    background, identities = Background(), Identities()
    await nursery.start(background.run)
    order: list[str] = []
    ready = {name: trio.Event() for name in ("a1", "a2", "a3", "a4", "b")}
    b_came = threading.Event()

    def came(name: str) -> None:
        order.append(name)
        ready[name].set()
        if name == "b":
            b_came.set()

    def load(context: ssl.SSLContext, pair: MutualTls) -> None:
        if pair != ONE:  # the other workspace's threads end only after b has its context
            b_came.wait(HANGS_S)
        load_identity(context, pair)

    monkeypatch.setattr("engine.wire.identities.load_identity", load)

    for name in ready:
        workspace = name[0]
        pair = MutualTls(ONE.certificate + "\n" * int(name[1:] or 0), ONE.private_key)
        identities.prepare(workspace, pair, background.spawn, partial(came, name))
    for event in ready.values():
        await event.wait()
    assert order[0] == "b", "another workspace waits for none of them"
    assert len(identities) == 3
    made = identities.context("b", ONE)
    identities.prepare("b", ONE, background.spawn, partial(came, "b"))
    assert order[-1] == "b", "it was not evicted"
    assert identities.context("b", ONE) is made


async def test_attempts_go_on_where_no_context_can_be_made(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    background, identities = Background(), Identities(tmp_path / "gone.pem")
    await nursery.start(background.run)
    ready = trio.Event()
    identities.prepare("w", ONE, background.spawn, ready.set)
    await ready.wait()
    with pytest.raises(AuthoritiesError):
        identities.context("w", ONE)


def test_only_the_judged_certificates_and_key_reach_the_library() -> None:
    locked = load_pem_private_key(TWO.private_key.encode(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")
    )
    stray = MutualTls(locked.decode() + ONE.certificate, ONE.private_key)
    load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), stray)
    with pytest.raises(Refusal, match="contains a private key"):
        check_identity(stray)


def test_a_key_whose_signatures_are_slow_is_refused() -> None:
    q = (1 << 16_382) + 1  # not a prime, which would take a minute to find
    numbers = RSAPrivateNumbers(3, q, 3 * q - 2, 1, 3, 2, RSAPublicNumbers(65_537, 3 * q))
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    with pytest.raises(Refusal, match="at most 4096 bits"):
        check_identity(MutualTls(ONE.certificate, key.decode()))
