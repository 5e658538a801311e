"""The proof of a backup's origin: a MAC of its manifest, under a key derived from the master key.

A key inside the backup proves nothing: an attacker who changes the backup can replace that key too.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Sequence
from pathlib import Path

from storage.backup.manifest import BackupError
from storage.encryption.secretbox import SecretBox

PROOF = "manifest.hmac"
_PURPOSE = b"angarium backup manifest"
_LINE = re.compile(rb"([0-9a-f]{16}) ([0-9a-f]{64})\n")
RISK = (
    "An attacker who could write to it can have programs run as the database's account,"
    " and events delivered: restore it with --unauthenticated only if nobody else can"
    " have changed it"
)


def write_proof(folder: Path, manifest: bytes, keys: Sequence[bytes]) -> None:
    """Write the proof of a manifest, under the first master key."""
    identifier, key = next(iter(SecretBox(keys).derived(_PURPOSE).items()))
    mac = hmac.new(key, manifest, hashlib.sha256).hexdigest()
    with (folder / PROOF).open("xb") as file:
        file.write(f"{identifier.hex()} {mac}\n".encode())
        file.flush()
        os.fsync(file.fileno())


def require_elsewhere(key_file: Path, folder: Path) -> None:
    """Raise BackupError if the file of master keys lies inside the backup that it should prove."""
    if folder.resolve() in key_file.resolve().parents:
        raise BackupError(
            f"{key_file} is the key in the backup itself, which proves nothing: an attacker who changes"
            f" the backup can change that key, too. Give a copy of the key kept elsewhere. {RISK}"
        )


def check_proof(folder: Path, manifest: bytes, keys: Sequence[bytes]) -> None:
    """Raise BackupError unless the backup's proof was made from `manifest` with one of the master keys
    `keys`."""
    try:
        with (folder / PROOF).open("rb") as file:
            match = _LINE.fullmatch(file.read(128))
    except FileNotFoundError:
        raise BackupError(
            f"{folder} has no {PROOF}: an Angarium before 0.1.0 made it, or somebody took the proof"
            f" away. {RISK}"
        ) from None
    if match is None:
        raise BackupError(f"{folder / PROOF} is damaged. {RISK}")
    if not keys:
        raise BackupError(
            f"nothing here proves that {folder} is as it was made: give the master key that made it, from"
            " elsewhere, by --with-key or ANGARIUM_MASTER_KEY_FILE. (The key in the backup proves"
            f" nothing: an attacker who changes the backup can change that key, too.) {RISK}"
        )
    key = SecretBox(keys).derived(_PURPOSE).get(bytes.fromhex(match[1].decode()))
    if key is None:
        raise BackupError(
            f"{folder} was made with master key {match[1].decode()}, which is not among those given."
            f" {RISK}"
        )
    mac = hmac.new(key, manifest, hashlib.sha256).hexdigest().encode()
    if not hmac.compare_digest(mac, match[2]):
        raise BackupError(f"{folder / 'manifest.json'} is not what was written. {RISK}")
