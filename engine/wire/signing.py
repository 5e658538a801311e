"""Standard Webhooks signatures: `v1` (HMAC-SHA256) and `v1a` (Ed25519), and the text forms of keys."""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Callable, Sequence
from math import inf

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from engine.core.destination import SigningKey
from engine.core.vocabulary import SigningAlgorithm

HMAC_KEY_BYTES = 32  # of a new key; Standard Webhooks allows 24 to 64
ED25519_KEY_BYTES = 32
_BLOCK = 64  # of SHA-256, bytes
_encode = binascii.b2a_base64

Sign = Callable[[bytes], bytes]


class Signer:
    """The signer of one destination version. A retired key adds its own signature until it expires."""

    __slots__ = ("_keys", "_sign", "_until")

    _sign: Sign

    def __init__(self, keys: Sequence[SigningKey]) -> None:
        """Prepare `keys`, the current one first. Raises ValueError for a key of the wrong length."""
        self._keys = [(key.expires_at, _prepare(key)) for key in keys]
        self._until = -inf  # the instant at which the valid keys must be chosen again

    def header(self, signed: bytes, now: float) -> bytes:
        """Return the value of `webhook-signature` over `signed`, which is `id.timestamp.body`.

        Raises ValueError if no key is valid at `now` (seconds since the epoch).
        """
        if now >= self._until:
            self._choose(now)
        return self._sign(signed)

    def _choose(self, now: float) -> None:
        valid = [(at, sign) for at, sign in self._keys if at is None or at > now]
        if not valid:
            raise ValueError("the destination has no valid signing key")
        signs = [sign for _, sign in valid]
        self._sign = signs[0] if len(signs) == 1 else _by_all(signs)
        self._until = min((at for at, _ in valid if at is not None), default=inf)


def _prepare(key: SigningKey) -> Sign:
    return _hmac(key.key) if key.algorithm is SigningAlgorithm.HMAC_SHA256 else _ed25519(key.key)


def _by_all(signs: Sequence[Sign]) -> Sign:
    return lambda signed: b" ".join([sign(signed) for sign in signs])


def _hmac(key: bytes) -> Sign:
    if not key:
        raise ValueError("an HMAC key is empty")
    if len(key) > _BLOCK:
        key = hashlib.sha256(key).digest()
    # This is HMAC (RFC 2104). The key is hashed only once: each signature copies the two hashes that are
    # prepared here. This takes a third less time than the module `hmac`.
    padded = key.ljust(_BLOCK, b"\0")
    inner_state = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
    outer_state = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
    copy_inner, copy_outer = inner_state.copy, outer_state.copy

    def sign(signed: bytes) -> bytes:
        inner, outer = copy_inner(), copy_outer()
        inner.update(signed)
        outer.update(inner.digest())
        return b"v1," + _encode(outer.digest(), newline=False)

    return sign


def _ed25519(seed: bytes) -> Sign:
    sign_raw = Ed25519PrivateKey.from_private_bytes(seed).sign

    def sign(signed: bytes) -> bytes:
        return b"v1a," + binascii.b2a_base64(sign_raw(signed), newline=False)

    return sign


def new_key(algorithm: SigningAlgorithm) -> bytes:
    """Return a fresh key as `SigningKey.key` holds it."""
    length = HMAC_KEY_BYTES if algorithm is SigningAlgorithm.HMAC_SHA256 else ED25519_KEY_BYTES
    return secrets.token_bytes(length)


def secret_text(key: SigningKey) -> str:
    """Return the text form of a secret key: `whsec_...` (HMAC) or `whsk_...` (Ed25519 seed)."""
    prefix = "whsec_" if key.algorithm is SigningAlgorithm.HMAC_SHA256 else "whsk_"
    return prefix + base64.b64encode(key.key).decode()


def secret_bytes(text: str) -> bytes:
    """Return the key of a text `whsec_...`. The prefix can be missing. Raises ValueError if the rest of
    the text is not Base64."""
    return base64.b64decode(text.removeprefix("whsec_"), validate=True)


def public_key_text(key: SigningKey) -> str | None:
    """Return the text form of an Ed25519 key's public half: `whpk_...`. Return None for an HMAC key,
    which has no public half."""
    if key.algorithm is not SigningAlgorithm.ED25519:
        return None
    public = Ed25519PrivateKey.from_private_bytes(key.key).public_key().public_bytes_raw()
    return "whpk_" + base64.b64encode(public).decode()
