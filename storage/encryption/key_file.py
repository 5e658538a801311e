"""The source of a server's master keys: a setting, or a file that is replaced as a whole."""

import base64
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

import structlog

from storage.durable import sync_folder
from storage.encryption.secretbox import KEY_BYTES, SecretBox, SecretBoxError, parse_keys

log = structlog.get_logger("angarium.storage")

KEY_FILE = "master.key"
_TEXT = """\
# Angarium's master key: it opens the secrets in the database. Keep a copy apart from the database's
# backups: without the key the secrets are lost. The first key seals, all keys open. To replace the key:
# `angarium master-key rotate`, while the server runs.
"""


class KeyFile:
    """A file of keys, one on each line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[bytes]:
        """Raises SecretBoxError, and FileNotFoundError."""
        try:
            text = self.path.read_text("ascii")
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            raise
        except (UnicodeDecodeError, IsADirectoryError):
            raise SecretBoxError(f"{self.path} is not a key file") from None
        except OSError as error:
            raise SecretBoxError(f"{self.path} cannot be read: {error.strerror}") from None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            log.warning(
                "master_key.readable_by_others",
                file=str(self.path),
                remedy=f"chmod 600 {self.path}",
            )
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        try:
            return parse_keys(" ".join(lines))
        except SecretBoxError as error:
            raise SecretBoxError(f"{self.path}: {error}") from None

    def again(self) -> list[bytes]:
        """Read an existing file. Raises SecretBoxError."""
        try:
            return self.read()
        except FileNotFoundError:
            raise SecretBoxError(f"{self.path} is gone") from None

    def make(self) -> None:
        """Make the file with a new key, atomically. If two processes make the file at the same time, the
        first file is kept."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = self._draft([new_key()])
        try:
            os.link(draft, self.path)
        except FileExistsError:
            return
        finally:
            draft.unlink()
        sync_folder(self.path.parent)
        log.info("master_key.made", file=str(self.path))

    def write(self, keys: Sequence[bytes]) -> None:
        """Replace the keys atomically, even if the process crashes. Raises SecretBoxError."""
        try:
            draft = self._draft(keys)
            try:
                os.replace(draft, self.path)
            except OSError:
                draft.unlink()
                raise
            sync_folder(self.path.parent)
        except OSError as error:
            raise SecretBoxError(f"{self.path} cannot be written: {error.strerror}") from None

    def _draft(self, keys: Sequence[bytes]) -> Path:
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                if self.path.exists():  # keep the file's owner if another account (root) writes it
                    present = self.path.stat()
                    os.fchown(file.fileno(), present.st_uid, present.st_gid)
                file.write(_TEXT)
                for key in keys:
                    file.write(base64.b64encode(key).decode() + "\n")
                file.flush()
                # The key will seal secrets, so a crash must not lose it.
                os.fsync(file.fileno())
        except OSError:
            draft.unlink()
            raise
        return draft


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def key_file_of(setting: str | None, data_dir: Path, given: Path | None) -> KeyFile | None:
    """Return the file of a server's keys; None if the setting holds them. Raises SecretBoxError if both
    a setting and a file are given."""
    if setting is not None:
        if given is not None:
            raise SecretBoxError(
                "ANGARIUM_MASTER_KEY and ANGARIUM_MASTER_KEY_FILE are both set: keep one of them"
            )
        return None
    return KeyFile(given or data_dir / KEY_FILE)


def given_keys(setting: str | None, given: Path | None) -> list[bytes]:
    """Return the keys of the operator's setting or file, none if the operator gave neither. Raises
    SecretBoxError."""
    if setting is not None:
        return parse_keys(setting)
    return [] if given is None else KeyFile(given).again()


def open_secret_box(
    setting: str | None, data_dir: Path, *, own_database: bool, key_file: Path | None = None
) -> SecretBox:
    """Return the secret box of this server. Raises SecretBoxError.

    The keys come from the setting, from `key_file`, or from a file in the data folder. Angarium makes the
    last file at its first start. If `own_database` is True, the database is the operator's own, and the
    setting or `key_file` is required. Without this rule, a second server on that database would make its
    own key, which decrypts no stored secret.
    """
    file = key_file_of(setting, data_dir, key_file)
    if file is None:
        assert setting is not None
        return SecretBox(parse_keys(setting))
    if own_database and key_file is None:
        raise SecretBoxError(
            "ANGARIUM_MASTER_KEY is required with a database of your own, or ANGARIUM_MASTER_KEY_FILE: it"
            " encrypts the database's secrets. Make one with `openssl rand -base64 32`, and keep it"
        )
    try:
        keys = file.read()
    except FileNotFoundError:
        if own_database:
            raise SecretBoxError(
                f"{file.path} does not exist: it must hold the master key"
            ) from None
        file.make()
        keys = file.again()
    return SecretBox(keys, file.again)
