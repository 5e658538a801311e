"""The client certificates that connections show to receivers, each as a TLS context.

A thread makes a new context, because reading the system's authorities takes some 20 ms.
"""

import os
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

import trio
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from engine.core.destination import MutualTls
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.runtime.fair_cache import FairCache
from engine.runtime.fair_semaphore import FairSemaphore
from engine.wire.tls import AuthoritiesError, client_context

# The limit on TLS contexts in memory. Each context takes about 1 MB, because it includes the authorities.
KEPT = 256
_MAKERS = 2  # threads: more would slow down deliveries
_MAKERS_EACH = 1  # for each workspace: one with a thousand identities does not delay others
_WAITING_EACH = 1 << 20  # no limit here: waiting attempts are bounded elsewhere
# The signature of each handshake blocks the event loop: 5 ms with a key of 4,096 bits, 30 ms with 8,192
# bits, 200 ms with 16,384 bits.
MOST_RSA_BITS = 4_096
MOST_EXPONENT_BITS = 64  # 65537 has 17; each further bit makes signatures slower
# The errors that say that an identity's TLS context cannot be made. OSError comes from the system or the
# TLS library. ValueError is about the key, and AuthoritiesError about the file of authorities.
UNUSABLE = (OSError, ValueError, AuthoritiesError)
_FIELD = "authentication"

Shown = tuple[str, MutualTls]  # workspace and identity
Spawn = Callable[[Callable[..., Awaitable[object]], Shown], None]
_Key = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey | Ed448PrivateKey


def check_identity(identity: MutualTls) -> None:
    """Check a certificate and its key. Raises Refusal 400 if connections could not use them."""
    if "PRIVATE KEY" in identity.certificate:  # all callers with the scope `read` would see it
        raise invalid(f"{_FIELD}.certificate", "contains a private key: give it only in privateKey")
    try:
        chain = x509.load_pem_x509_certificates(identity.certificate.encode())
    except ValueError:
        raise invalid(f"{_FIELD}.certificate", "is not a certificate in PEM") from None
    expires_at = chain[0].not_valid_after_utc
    if expires_at <= datetime.now(UTC):
        raise invalid(f"{_FIELD}.certificate", f"expired at {expires_at:%Y-%m-%d %H:%M} UTC")
    try:
        load_identity(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), identity)
    except ValueError as error:
        raise invalid(f"{_FIELD}.privateKey", str(error)) from None
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            message = "does not belong to the certificate"
        else:
            message = (
                f"cannot be used: {(error.reason or 'unknown fault').replace('_', ' ').lower()}"
            )
        raise invalid(f"{_FIELD}.privateKey", message) from None


def load_identity(context: ssl.SSLContext, identity: MutualTls) -> None:
    """Load an identity into a context. Raises ssl.SSLError, and ValueError for an unusable key.

    The file for the TLS library contains only the checked certificates and the checked key. It does not
    contain the text that the customer sent, because the TLS library would try everything in this text
    that looks like a key. `memfd_create` makes the file in memory, so the key is not written to a disk.
    """
    chain = x509.load_pem_x509_certificates(identity.certificate.encode())
    pem = b"".join(each.public_bytes(Encoding.PEM) for each in chain)
    pem += _judged_key(identity.private_key).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
        with open(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        return
    with NamedTemporaryFile("wb") as file:  # only its owner can read it
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name)


def _judged_key(text: str) -> _Key:
    """Return the key. Raises ValueError for an unusable key, or for a key that signs too slowly. The
    error message does not quote the key."""
    try:
        # The test whether the key's primes are prime is skipped, because it would take half a second. A
        # wrong key is found anyway, because it does not match the certificate.
        key = load_pem_private_key(text.encode(), None, unsafe_skip_rsa_key_validation=True)
    except TypeError:
        raise ValueError("has a passphrase: give the key without one") from None
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("is not a private key in PEM") from None
    if isinstance(key, RSAPrivateKey):
        numbers = key.private_numbers()
        parts = (numbers.p, numbers.q, numbers.d, numbers.dmp1, numbers.dmq1, numbers.iqmp)
        longest = max(each.bit_length() for each in (*parts, numbers.public_numbers.n))
        if longest > MOST_RSA_BITS or numbers.public_numbers.e.bit_length() > MOST_EXPONENT_BITS:
            raise ValueError(f"must have at most {MOST_RSA_BITS} bits (RSA): longer keys are slow")
        return key
    if isinstance(key, EllipticCurvePrivateKey | Ed25519PrivateKey | Ed448PrivateKey):
        return key
    raise ValueError("must be a key for RSA, ECDSA or EdDSA")


class Identities:
    """Owner of the identities' TLS contexts in one process; used on the trio thread only."""

    def __init__(self, authorities: Path | None = None) -> None:
        """`authorities`: a PEM file of authorities in addition to the system's."""
        self._authorities = authorities
        self._contexts: FairCache[str, Shown, ssl.SSLContext] = FairCache(KEPT, KEPT)
        self._waiting: dict[Shown, list[Callable[[], None]]] = {}
        self._turns = FairSemaphore(_MAKERS, _MAKERS_EACH, _WAITING_EACH)

    def __len__(self) -> int:
        return len(self._contexts.found)

    def prepare(
        self, workspace: str, identity: MutualTls, spawn: Spawn, ready: Callable[[], None]
    ) -> None:
        """Make the TLS context of an identity in a task that `spawn` starts, and call `ready` afterwards,
        even if the context could not be made. If the context exists already, call `ready` at once."""
        shown = workspace, identity
        if shown in self._contexts.found:
            ready()
            return
        waiting = self._waiting.setdefault(shown, [])
        waiting.append(ready)
        if len(waiting) == 1:
            spawn(self._prepare, shown)

    def context(self, workspace: str, identity: MutualTls) -> ssl.SSLContext:
        """Return the TLS context that shows a workspace's client certificate (its identity) to receivers.
        Raises an error in UNUSABLE if this context cannot be made."""
        shown = workspace, identity
        context = self._contexts.found.get(shown)
        if context is None:
            context = self._made(identity)
            self._contexts.put(workspace, shown, context)
        else:
            self._contexts.used(workspace, shown)
        return context

    async def _prepare(self, shown: Shown) -> None:
        workspace, identity = shown
        try:
            async with self._turns.held(workspace):
                made = await trio.to_thread.run_sync(self._made, identity)
            self._contexts.put(workspace, shown, made)
        except (*UNUSABLE, Refusal):
            pass  # the connection reports the fault
        finally:
            waiting = self._waiting.pop(shown)
        for ready in waiting:
            ready()

    def _made(self, identity: MutualTls) -> ssl.SSLContext:
        context = client_context(self._authorities)
        # Some receivers ask for a certificate only on some paths (TLS 1.3).
        context.post_handshake_auth = True
        load_identity(context, identity)
        return context
