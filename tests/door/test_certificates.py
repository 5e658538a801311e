"""The door's certificate: it is reloaded when its files change, and a wrong one changes nothing."""

import ssl
from pathlib import Path

import pytest
import trio
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509 import DNSName, SubjectAlternativeName

from api.door.tls import Certificate, CertificateError
from tests.door.house import House, open_house
from tests.door.papers import Papers, papers


@pytest.fixture
def files(tmp_path: Path) -> Papers:
    return papers(tmp_path, "first.example")


async def shown(house: House) -> list[str]:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    secure = trio.SSLStream(stream, context)
    await secure.do_handshake()
    found = x509.load_der_x509_certificate(secure.getpeercert(binary_form=True))
    await stream.aclose()
    names = found.extensions.get_extension_for_class(SubjectAlternativeName).value
    return names.get_values_for_type(DNSName)


async def test_a_certificate_that_changed_is_used_for_new_connections(files: Papers) -> None:
    async with open_house(tls=(files.cert, files.key)) as house:
        certificate = house.door.certificate
        assert certificate is not None
        assert await shown(house) == ["first.example"]
        files.write("second.example")
        await certificate.look()
        assert await shown(house) == ["second.example"]
        context = certificate.context
        await certificate.look()
        assert certificate.context is context, "nothing changed: nothing is read"


async def test_a_renewal_that_cannot_be_used_leaves_the_certificate_before(files: Papers) -> None:
    async with open_house(tls=(files.cert, files.key)) as house:
        certificate = house.door.certificate
        assert certificate is not None
        files.authority.issue_cert("third.example").cert_chain_pems[0].write_to_path(files.cert)
        await certificate.look()  # the matching key is not written yet
        assert await shown(house) == ["first.example"]
        files.key.unlink()
        await certificate.look()
        assert await shown(house) == ["first.example"]
        files.write("third.example")
        await certificate.look()
        assert await shown(house) == ["third.example"]


def test_text_around_a_certificate_can_have_any_encoding(files: Papers) -> None:
    before = Certificate(files.cert, files.key)
    files.cert.write_bytes("friendlyName: Käse\n".encode("latin-1") + files.cert.read_bytes())
    assert Certificate(files.cert, files.key).digest == before.digest


def test_a_certificate_of_an_old_kind_is_refused_with_what_it_lacks(files: Papers) -> None:
    text = files.cert.read_text()
    files.cert.write_text(text.replace(" CERTIFICATE", " X509 CERTIFICATE"))
    with pytest.raises(CertificateError, match="it has no -----BEGIN CERTIFICATE-----"):
        Certificate(files.cert, files.key)


async def test_a_client_cannot_renegotiate(files: Papers) -> None:
    """The door makes handshakes wait for their turn. A renegotiation would be a handshake that does not
    wait.
    """
    async with open_house(tls=(files.cert, files.key)) as house:
        certificate = house.door.certificate
        assert certificate is not None
        for _ in range(2):
            assert certificate.context.options & ssl.OP_NO_RENEGOTIATION
            assert certificate.context.options & ssl.OP_NO_COMPRESSION
            await certificate.renew()


def test_a_certificate_that_cannot_be_used_says_why_and_what_to_do(files: Papers) -> None:
    other = papers(files.cert.parent / "..", "other.example")
    key = load_pem_private_key(files.key.read_bytes(), None)
    locked = files.key.with_name("locked.pem")
    locked.write_bytes(
        key.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"secret")
        )
    )
    for cert, private, reason in (
        (files.cert, other.key, "the key belongs to another certificate"),
        (files.cert, locked, "the key is encrypted; remove its passphrase"),
        (files.cert.with_name("none.pem"), files.key, "No such file or directory"),
        (files.key, files.cert, "PEM"),
    ):
        with pytest.raises(CertificateError, match=reason) as raised:
            Certificate(cert, private)
        for told in (str(cert), str(private), "ANGARIUM_TLS_CERT"):
            assert told in str(raised.value)
