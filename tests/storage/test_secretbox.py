"""Secrets at rest: each can be opened only in the place for which it was sealed."""

import base64
import stat
from pathlib import Path

import pytest

from storage.encryption.key_file import KEY_FILE, KeyFile, open_secret_box
from storage.encryption.secretbox import ID_BYTES, SecretBox, SecretBoxError, key_id, parse_keys

OLD, NEW = bytes(range(32)), bytes(range(32, 64))


def key_of(sealed: bytes) -> bytes:
    return sealed[1 : 1 + ID_BYTES]


def encoded(*keys: bytes) -> str:
    return ",".join(base64.b64encode(key).decode() for key in keys)


def test_what_is_sealed_opens_again() -> None:
    box = SecretBox([OLD])
    for plain in (b"", b"secret", bytes(100_000)):
        sealed = box.seal(plain, "destinations:1")
        assert box.open(sealed, "destinations:1") == plain
        assert len(plain) < 4 or plain not in sealed


def test_the_same_secret_is_never_sealed_the_same() -> None:
    box = SecretBox([OLD])
    assert box.seal(b"secret", "a") != box.seal(b"secret", "a")


def test_it_opens_in_its_own_row_only() -> None:
    box = SecretBox([OLD])
    with pytest.raises(SecretBoxError, match="another row"):
        box.open(box.seal(b"secret", "destinations:1"), "destinations:2")


@pytest.mark.parametrize("position", [0, 1, 9, 15, 21, 25, -1])
def test_a_changed_byte_is_noticed(position: int) -> None:
    box = SecretBox([OLD])
    sealed = bytearray(box.seal(b"secret", "a"))
    sealed[position] ^= 1
    with pytest.raises(SecretBoxError):
        box.open(bytes(sealed), "a")


@pytest.mark.parametrize("value", [b"", b"\x01", b"\x02" + bytes(60)])
def test_what_is_no_sealed_value_is_refused(value: bytes) -> None:
    with pytest.raises(SecretBoxError):
        SecretBox([OLD]).open(value, "a")


def test_a_replaced_key_still_opens_and_is_known_as_old() -> None:
    sealed = SecretBox([OLD]).seal(b"secret", "a")
    both = SecretBox([NEW, OLD])
    assert both.open(sealed, "a") == b"secret"
    assert key_of(sealed) == key_id(OLD)
    assert key_of(both.seal(b"secret", "a")) == key_id(NEW)
    with pytest.raises(SecretBoxError, match=key_id(OLD).hex()):
        SecretBox([NEW]).open(sealed, "a")


def test_a_setting_may_have_several_keys() -> None:
    assert parse_keys(encoded(NEW, OLD)) == [NEW, OLD]
    url_safe = base64.urlsafe_b64encode(b"\xfb\xff" * 16).decode()
    assert parse_keys(url_safe) == [b"\xfb\xff" * 16]


@pytest.mark.parametrize("text", ["", " , ", "short", "!!!", encoded(bytes(16)), encoded(OLD)[:-3]])
def test_a_bad_setting_is_told_without_quoting_it(text: str) -> None:
    with pytest.raises(SecretBoxError) as caught:
        parse_keys(text)
    assert not text.strip(" ,") or text not in str(caught.value)


def test_the_first_start_makes_a_key_file_that_later_ones_read(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    sealed = open_secret_box(None, folder, own_database=False).seal(b"secret", "a")
    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600
    assert [file.name for file in folder.iterdir()] == [KEY_FILE]
    assert open_secret_box(None, folder, own_database=False).open(sealed, "a") == b"secret"


def test_a_key_file_takes_a_new_key_on_a_line_above(tmp_path: Path) -> None:
    sealed = open_secret_box(None, tmp_path, own_database=False).seal(b"secret", "a")
    file = tmp_path / KEY_FILE
    file.write_text(encoded(NEW) + "\n" + file.read_text())
    box = open_secret_box(None, tmp_path, own_database=False)
    assert box.open(sealed, "a") == b"secret"
    assert key_of(sealed) == box.ids[1]
    assert key_of(box.seal(b"", "a")) == key_id(NEW)


def test_a_spoiled_key_file_is_named(tmp_path: Path) -> None:
    for content in (b"nonsense\n", b"# nothing\n", b"\xff\xfe"):
        (tmp_path / KEY_FILE).write_bytes(content)
        with pytest.raises(SecretBoxError, match=KEY_FILE):
            open_secret_box(None, tmp_path, own_database=False)


def test_a_database_of_ones_own_needs_the_setting(tmp_path: Path) -> None:
    with pytest.raises(SecretBoxError, match="ANGARIUM_MASTER_KEY is required"):
        open_secret_box(None, tmp_path, own_database=True)
    assert list(tmp_path.iterdir()) == []
    box = open_secret_box(encoded(OLD), tmp_path, own_database=True)
    assert key_of(box.seal(b"", "a")) == key_id(OLD)


def test_a_key_that_came_meanwhile_is_looked_for_where_the_others_were(tmp_path: Path) -> None:
    box = open_secret_box(None, tmp_path, own_database=False)
    file = KeyFile(tmp_path / KEY_FILE)
    (old,) = file.again()
    file.write([old, NEW])
    assert box.open(SecretBox([NEW]).seal(b"secret", "a"), "a") == b"secret"
    assert box.ids == (key_id(old), key_id(NEW))
    # The new key opens secrets, but does not seal yet.
    assert key_of(box.seal(b"", "a")) == key_id(old)
    file.write([NEW, old])
    assert box.reread()
    assert not box.reread()
    assert box.ids == (key_id(NEW), key_id(old))
    with pytest.raises(SecretBoxError, match=key_id(OLD).hex()):
        box.open(SecretBox([OLD]).seal(b"secret", "a"), "a")


def test_keys_that_cannot_be_read_again_leave_what_there_was(tmp_path: Path) -> None:
    box = open_secret_box(None, tmp_path, own_database=False)
    sealed = box.seal(b"secret", "a")
    file = tmp_path / KEY_FILE
    for content in (b"", b"nonsense\n"):
        file.write_bytes(content)
        with pytest.raises(SecretBoxError):
            box.reread()
    file.unlink()
    with pytest.raises(SecretBoxError, match="gone"):
        box.reread()
    with pytest.raises(SecretBoxError, match="not here"):
        box.open(SecretBox([NEW]).seal(b"secret", "a"), "a")
    assert box.open(sealed, "a") == b"secret"


def test_a_key_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / KEY_FILE)
    file.make()
    (first,) = file.again()
    file.make()  # an existing file stays unchanged
    assert file.again() == [first]
    file.write([NEW, first])
    assert file.again() == [NEW, first]
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [found.name for found in tmp_path.iterdir()] == [KEY_FILE]
    with pytest.raises(SecretBoxError, match="cannot be written"):
        KeyFile(tmp_path / "missing" / KEY_FILE).write([NEW])


def test_a_file_of_ones_own_is_there_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    with pytest.raises(SecretBoxError, match="does not exist"):
        open_secret_box(None, tmp_path, own_database=True, key_file=path)
    with pytest.raises(SecretBoxError, match="both set"):
        open_secret_box(encoded(OLD), tmp_path, own_database=True, key_file=path)
    assert list(tmp_path.iterdir()) == []
    KeyFile(path).make()
    assert open_secret_box(None, tmp_path, own_database=True, key_file=path).ids
