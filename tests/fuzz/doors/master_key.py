"""The operator's keys. Each setting or file is either refused with a reason, or read as keys of the right
length."""

import os
import tempfile
from pathlib import Path

from storage.encryption.key_file import KeyFile
from storage.encryption.secretbox import KEY_BYTES, SecretBox, SecretBoxError, parse_keys
from tests.fuzz.door import Door

FOLDER = Path(tempfile.gettempdir())
BOX = SecretBox([b"m" * KEY_BYTES])


def check(data: bytes) -> None:
    path = FOLDER / f"angarium-fuzz-{os.getpid()}.key"
    path.touch(0o600)
    path.write_bytes(data)
    try:
        _check_keys(lambda: KeyFile(path).read())
    finally:
        path.unlink()
    _check_keys(lambda: parse_keys(data.decode("utf-8", "surrogateescape")))
    try:
        BOX.open(data, "place")
    except SecretBoxError:
        pass
    else:
        raise AssertionError("it opened what was never sealed")


def _check_keys(read: object) -> None:
    try:
        keys: list[bytes] = read()  # type: ignore[operator]  # a function of no arguments
    except SecretBoxError as error:
        assert str(error)
        return
    assert keys
    assert all(len(key) == KEY_BYTES for key in keys)
    box = SecretBox(keys)
    assert box.open(box.seal(b"x", "place"), "place") == b"x"


DOOR = Door(
    "master_key",
    check,
    ("storage.encryption.key_file", "storage.encryption.secretbox"),
    (
        b"# a comment\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=",
        b"__________________________________________8=",
        b"\x01" + b"i" * 8 + b"n" * 12 + b"t" * 17,
    ),
    (b"#", b"\n", b",", b"=", b"AAAA", b"\xc3\xa9", b"\x00", b"\x1c"),
)
