"""Signed URLs: each gives access to one file for a limited time, and any other token gives none."""

import base64
from uuid import UUID, uuid4

from engine.files.urls import TOKEN_CHARACTERS, FileGrant, FileUrls

FILE = str(uuid4())
KEYS = {b"key one ": b"1" * 32, b"key two ": b"2" * 32}
HOUR = 3600.0


class Time:
    def __init__(self) -> None:
        self.value = 1_800_000_000.0

    def now(self) -> float:
        return self.value


def urls(time: Time, keys: dict[bytes, bytes] | None = None) -> FileUrls:
    return FileUrls(keys or KEYS, lambda: "https://files.example", HOUR, time.now)


def token_of(url: str) -> str:
    return url.removeprefix("https://files.example/downloads/")


def test_a_url_lets_its_file_be_read_until_it_expires() -> None:
    time = Time()
    signer = urls(time)
    token = token_of(signer.url(7, FILE))
    assert len(token) == TOKEN_CHARACTERS
    assert signer.reading(token) == FileGrant(7, FILE)
    time.value += HOUR - 1
    assert signer.reading(token) is not None
    time.value += 1
    assert signer.reading(token) is None


def test_a_url_outlives_a_rotation_of_keys_and_not_their_removal() -> None:
    time = Time()
    first, second = KEYS.items()
    token = token_of(urls(time, dict([first])).url(7, FILE))
    assert urls(time, dict([second, first])).reading(token) == FileGrant(7, FILE)
    assert urls(time, dict([second])).reading(token) is None


def test_no_changed_token_is_taken() -> None:
    time = Time()
    signer = urls(time)
    token = token_of(signer.url(7, FILE))
    whole = base64.urlsafe_b64decode(token)
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1
        assert signer.reading(base64.urlsafe_b64encode(bytes(changed)).decode()) is None


def test_what_is_no_token_is_not_taken() -> None:
    signer = urls(Time())
    token = token_of(signer.url(7, FILE))
    plain = base64.urlsafe_b64encode(UUID(FILE).bytes * 4).decode()
    for text in ("", "x", token[:-1], token + "A", token[:-1] + "\n", "é" * 80, "." * 80, plain):
        assert signer.reading(text) is None
    standard = token.replace("-", "+").replace("_", "/")
    assert standard == token or signer.reading(standard) is None
