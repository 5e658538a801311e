"""Encryption at rest: AES-256-GCM under the operator's master key. Each value is bound to the place where
it is stored.

A sealed value is: one byte of format, eight bytes of key id, twelve bytes of nonce, ciphertext with tag.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Sequence

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

log = structlog.get_logger("angarium.storage")

KEY_BYTES = 32
FORMAT = b"\x01"
ID_BYTES = 8
_NONCE_BYTES = 12
_HEAD_BYTES = len(FORMAT) + ID_BYTES + _NONCE_BYTES
ASK_AGAIN_S = 1.0  # between two reads of the source for an unknown key, which bounds their cost


class SecretBoxError(Exception):
    """A key is missing or malformed, or a value cannot be decrypted."""


class _Ring:
    __slots__ = ("ciphers", "first", "keys")

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise SecretBoxError(f"a master key must have exactly {KEY_BYTES} bytes")
        self.keys = {key_id(key): key for key in keys}
        self.ciphers = {identifier: AESGCM(key) for identifier, key in self.keys.items()}
        self.first = key_id(keys[0])


class SecretBox:
    """The box that encrypts and decrypts values. Any thread can use the box at any time, because one
    assignment replaces all keys of the box."""

    def __init__(
        self, keys: Sequence[bytes], again: Callable[[], Sequence[bytes]] | None = None
    ) -> None:
        """`keys`: keys of 32 bytes each. The first key encrypts; every key decrypts. `again`: None if the
        keys cannot change. Otherwise a function that returns the present keys from their source, and can
        raise SecretBoxError."""
        self._ring = _Ring(keys)
        self._again = again
        self._asked_at = float("-inf")

    @property
    def ids(self) -> tuple[bytes, ...]:
        """The ids of the keys, the sealing key first."""
        return tuple(self._ring.keys)

    def reread(self) -> bool:
        """Read the present keys from their source, and return True if the keys have changed. Blocks while
        it reads a small file. If it raises SecretBoxError, the box keeps its old keys."""
        if self._again is None:
            return False
        ring = _Ring(self._again())
        changed = tuple(ring.keys) != self.ids
        self._ring = ring
        return changed

    def derived(self, purpose: bytes) -> dict[bytes, bytes]:
        """Derive a key of 32 bytes for `purpose` from each master key. Return the derived keys by the
        ids of the master keys, the present master key first. A derived key reveals nothing about other
        keys."""
        return {
            identifier: HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(key)
            for identifier, key in self._ring.keys.items()
        }

    def seal(self, plain: bytes, place: str) -> bytes:
        """Encrypt a value. `place` names the value's table and row. `open` needs the same `place`."""
        ring = self._ring
        nonce = secrets.token_bytes(_NONCE_BYTES)
        head = FORMAT + ring.first + nonce
        # The head (format, key id, nonce) is authenticated as well. `open` therefore detects a change of
        # the key id or the nonce.
        return head + ring.ciphers[ring.first].encrypt(nonce, plain, head + place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Decrypt a value. Raises SecretBoxError if the key is unknown, if the value was changed, or if
        the value was sealed for another place (table and row)."""
        if len(sealed) < _HEAD_BYTES or sealed[:1] != FORMAT:
            raise SecretBoxError("not a sealed value")
        head, body = sealed[:_HEAD_BYTES], sealed[_HEAD_BYTES:]
        key, nonce = head[1 : 1 + ID_BYTES], head[1 + ID_BYTES :]
        cipher = self._ring.ciphers.get(key) or self._looked_for(key)
        if cipher is None:
            raise SecretBoxError(
                f"a secret was sealed with master key {key.hex()}, which is not here:"
                " add it to ANGARIUM_MASTER_KEY or to the key file, after the present one"
            )
        try:
            return cipher.decrypt(nonce, body, head + place.encode())
        except InvalidTag:
            raise SecretBoxError("a sealed value was changed, or belongs to another row") from None

    def _looked_for(self, key: bytes) -> AESGCM | None:
        """Read the source of the keys again, for a key that this box does not have. Another program can
        have added the key to the source, and then have sealed a value with the key."""
        now = time.monotonic()
        if self._again is None or now - self._asked_at < ASK_AGAIN_S:
            return None
        self._asked_at = now
        try:
            self.reread()
        except SecretBoxError as error:
            log.warning("master_key.unreadable", error=str(error))
        return self._ring.ciphers.get(key)


def key_id(key: bytes) -> bytes:
    """Return a key's id, which reveals nothing about the key."""
    return hashlib.sha256(b"angarium master key id" + key).digest()[:ID_BYTES]


def parse_keys(text: str) -> list[bytes]:
    """Return the keys of a setting: one or several in base64, separated by commas or white space. Raises
    SecretBoxError."""
    keys = []
    for part in text.replace(",", " ").split():
        try:
            key = base64.b64decode(part.replace("-", "+").replace("_", "/"), validate=True)
        except ValueError:  # binascii.Error, and the plain ValueError for text that is not ASCII
            raise SecretBoxError("a master key must be base64 (openssl rand -base64 32)") from None
        if len(key) != KEY_BYTES:
            raise SecretBoxError(f"a master key must have {KEY_BYTES} bytes, not {len(key)}")
        keys.append(key)
    if not keys:
        raise SecretBoxError("the master key is empty")
    return keys
