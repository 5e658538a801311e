"""Encryption at rest: AES-256-GCM under the operator's master key, bound to the place it is stored in.

A sealed value is: one byte of format, eight bytes of key id, twelve of nonce, ciphertext with tag. The
key id lets a master key be replaced: the new one seals, the old ones still open.
"""

import base64
import binascii
import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

log = structlog.get_logger("angarium.storage")

KEY_BYTES = 32
_FORMAT = b"\x01"
_ID_BYTES = 8
_NONCE_BYTES = 12
_HEAD_BYTES = len(_FORMAT) + _ID_BYTES + _NONCE_BYTES
KEY_FILE = "master.key"
_KEY_FILE_TEXT = """\
# Angarium's master key: it opens the signing secrets in the database. Keep a copy apart from the
# database's backups; without it they are lost. To replace it put a new key on a line above: the first
# seals, all open. (`openssl rand -base64 32` makes one.)
"""


class SecretBoxError(Exception):
    """A key is missing or malformed, or a value was not sealed with any of ours, in words."""


class SecretBox:
    """Seals and opens. Immutable, so any thread may use it."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        """`keys` are 32 bytes each: the first one seals, all of them open."""
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise SecretBoxError(f"a master key must have exactly {KEY_BYTES} bytes")
        self._keys = {key_id(key): key for key in keys}
        self._ciphers = {identifier: AESGCM(key) for identifier, key in self._keys.items()}
        self._first = key_id(keys[0])

    def derived(self, purpose: bytes) -> dict[bytes, bytes]:
        """Return keys of 32 bytes for another purpose, by the ids of those that they were derived from,
        the present one first. What is known of one tells nothing about the others."""
        return {
            identifier: HKDF(SHA256(), KEY_BYTES, salt=None, info=purpose).derive(key)
            for identifier, key in self._keys.items()
        }

    def seal(self, plain: bytes, place: str) -> bytes:
        """Encrypt. `place` names table and row; the value opens nowhere else."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        head = _FORMAT + self._first + nonce
        # The head is authenticated with the place: nobody can pass one key's value for another's.
        return head + self._ciphers[self._first].encrypt(nonce, plain, head + place.encode())

    def open(self, sealed: bytes, place: str) -> bytes:
        """Decrypt. Raises SecretBoxError for an unknown key, another place or a changed value."""
        if len(sealed) < _HEAD_BYTES or sealed[:1] != _FORMAT:
            raise SecretBoxError("not a sealed value")
        head, body = sealed[:_HEAD_BYTES], sealed[_HEAD_BYTES:]
        key, nonce = head[1 : 1 + _ID_BYTES], head[1 + _ID_BYTES :]
        cipher = self._ciphers.get(key)
        if cipher is None:
            raise SecretBoxError(
                f"a secret was sealed with master key {key.hex()}, which is not here:"
                f" add it to ANGARIUM_MASTER_KEY or to {KEY_FILE}, after the present one"
            )
        try:
            return cipher.decrypt(nonce, body, head + place.encode())
        except InvalidTag:
            raise SecretBoxError("a sealed value was changed, or belongs to another row") from None

    def is_current(self, sealed: bytes) -> bool:
        """Whether the first key sealed it; if not, it should be sealed again."""
        return sealed[1 : 1 + _ID_BYTES] == self._first


def key_id(key: bytes) -> bytes:
    """Return what names a key without telling anything about it."""
    return hashlib.sha256(b"angarium master key id" + key).digest()[:_ID_BYTES]


def parse_keys(text: str) -> list[bytes]:
    """Return the keys of a setting: base64, one or several, apart by commas or white space."""
    keys = []
    for part in text.replace(",", " ").split():
        try:
            key = base64.b64decode(part.replace("-", "+").replace("_", "/"), validate=True)
        except binascii.Error:
            raise SecretBoxError("a master key must be base64 (openssl rand -base64 32)") from None
        if len(key) != KEY_BYTES:
            raise SecretBoxError(f"a master key must have {KEY_BYTES} bytes, not {len(key)}")
        keys.append(key)
    if not keys:
        raise SecretBoxError("the master key is empty")
    return keys


def open_secret_box(setting: str | None, data_dir: Path, *, own_database: bool) -> SecretBox:
    """Return the box of this server.

    The key is the setting's, else that of the data folder, made at the first start. With a database
    of one's own (`own_database`) the setting is required: a second server on that database, or this
    one moved to another machine, would otherwise make a key of its own and open nothing.
    """
    if setting is not None:
        return SecretBox(parse_keys(setting))
    if own_database:
        raise SecretBoxError(
            "ANGARIUM_MASTER_KEY is required with a database of your own: it encrypts the secrets in"
            " there. Make one with `openssl rand -base64 32`, and keep it"
        )
    return SecretBox(_keys_of_file(data_dir / KEY_FILE))


def _keys_of_file(path: Path) -> list[bytes]:
    try:
        text = path.read_text("ascii")
    except FileNotFoundError:
        _make(path)
        text = path.read_text("ascii")
    except UnicodeDecodeError:
        raise SecretBoxError(f"{path} is not a key file") from None
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        log.warning("master_key.readable_by_others", file=str(path), remedy=f"chmod 600 {path}")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    try:
        return parse_keys(" ".join(lines))
    except SecretBoxError as error:
        raise SecretBoxError(f"{path}: {error}") from None


def _make(path: Path) -> None:
    """Make a key file, whole or not at all; of two that do so at once the first one's stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(_KEY_FILE_TEXT)
        file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())  # a secret sealed under a key that was lost is lost
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    log.info("master_key.made", file=str(path))
