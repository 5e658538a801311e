"""The door's TLS, 1.2 or newer, with HTTP/2 by ALPN. The certificate's files are read again when they
change.

New connections use the last certificate that was usable.
"""

import os
import ssl
from pathlib import Path

import structlog
import trio

from engine.peers.parts import digest_of

LOOK_S = 10.0  # between two checks of the files, each of two system calls

log = structlog.get_logger("angarium.door")


class CertificateError(Exception):
    """The certificate or its key cannot be used. The message names both files and what to do."""


class Certificate:
    """The owner of the door's TLS context. Raises CertificateError if the files cannot be used."""

    def __init__(self, certificate: Path, key: Path | None) -> None:
        self._certificate = certificate
        self._key = key
        self._seen = self._stamps()
        # `digest` identifies the server's certificate for links between nodes.
        self.context, self.digest = _usable(certificate, key)

    async def look(self) -> None:
        """Read the files again if they have changed."""
        if self._stamps() != self._seen:
            await self.renew()

    async def renew(self) -> None:
        """Read the files now."""
        # Take the stamps (size and times) before reading the files: if a file changes meanwhile, the next
        # `look` notices it.
        self._seen = self._stamps()
        try:
            self.context, self.digest = await trio.to_thread.run_sync(
                _usable, self._certificate, self._key
            )
        except CertificateError as error:
            log.error("certificate.not_renewed", error=str(error), remains="the one before")  # noqa: TRY400  the operator's fault
        else:
            log.info("certificate.renewed", file=str(self._certificate))

    def _stamps(self) -> tuple[object, ...]:
        return tuple(_stamp(path) for path in (self._certificate, self._key) if path is not None)


async def watch(certificate: Certificate | None) -> None:
    """Check a certificate's files until cancelled."""
    while certificate is not None:
        await trio.sleep(LOOK_S)
        await certificate.look()


def server_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """Return the context for `certificate` (a PEM chain). Raises CertificateError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # RFC 9113, 9.2.1: neither compression nor renegotiation.
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        # If the key is encrypted, OpenSSL calls `_no_password`, which raises an error. Without a function
        # to call, OpenSSL would ask for a password at the terminal, and the server would wait.
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        files = str(certificate) if key is None else f"{certificate} and its key {key}"
        raise CertificateError(
            f"the TLS certificate {files} cannot be used: {_reason(error)}."
            " Give PEM files that belong together with ANGARIUM_TLS_CERT and ANGARIUM_TLS_KEY"
        ) from error
    return context


def _usable(certificate: Path, key: Path | None) -> tuple[ssl.SSLContext, bytes]:
    """Return the TLS context, and the digest of the first certificate in the file `certificate`."""
    context = server_context(certificate, key)
    try:
        # The file can have text around the certificate, such as the owner's name, in any encoding.
        # Latin-1 can decode all bytes.
        text = certificate.read_bytes().decode("latin-1")
        begin, end = text.index(ssl.PEM_HEADER), text.index(ssl.PEM_FOOTER)
        der = ssl.PEM_cert_to_DER_cert(text[begin : end + len(ssl.PEM_FOOTER)])
    except (OSError, ValueError) as error:
        raise CertificateError(
            f"the TLS certificate {certificate} cannot be used: it has no {ssl.PEM_HEADER}."
            " Give a PEM file with ANGARIUM_TLS_CERT"
        ) from error
    return context, digest_of(der)


def _no_password() -> str:
    raise ValueError("the key is encrypted; remove its passphrase")


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        if error.reason == "KEY_VALUES_MISMATCH":
            return "the key belongs to another certificate"
        return error.reason or "it is not PEM"
    return getattr(error, "strerror", None) or str(error)


def _stamp(path: Path) -> object:
    try:
        found = os.stat(path)
    except OSError:
        return None  # a renewal can move the files into place one after the other
    return found.st_ino, found.st_mtime_ns, found.st_size
