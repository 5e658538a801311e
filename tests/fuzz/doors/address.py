"""URLs of tenants: an accepted URL has one meaning for all readers, and cannot break a request head."""

import contextlib
from urllib.parse import urlsplit

from engine.control.workspace_settings import normalised
from engine.files.data_uri import read_data_uri
from engine.model.errors import Refusal
from engine.wire.head import render_head
from engine.wire.target import URL_LIMIT, parse_target
from tests.fuzz.door import Door

ENDS = b"\r\n"


def check(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    _check_target(text)
    with contextlib.suppress(ValueError):
        origin = normalised(text)
        assert normalised(origin) == origin
        assert origin.isascii()
    with contextlib.suppress(ValueError):
        inline = read_data_uri(text)
        assert text.isascii()
        assert len(inline.content) <= len(text)


def _check_target(text: str) -> None:
    try:
        target = parse_target(text)
    except Refusal as refusal:
        assert refusal.code == "invalid_request"
        return
    head = render_head(b"POST", target, ())
    assert head.count(ENDS) == 2
    assert head.split(ENDS)[0].count(b" ") == 2
    assert head.isascii()
    assert 1 <= target.port <= 65_535
    again = _written(target.tls, target.authority, target.path)
    if len(again) <= URL_LIMIT:  # escaping can make it longer than the input
        assert parse_target(again) == target
    if text.isascii():
        found = urlsplit(text)
        assert (found.hostname or "").rstrip(".") == target.host.rstrip(".") or ":" in target.host
        assert (found.port or (443 if target.tls else 80)) == target.port
        assert found.scheme == ("https" if target.tls else "http")


def _written(tls: bool, authority: bytes, path: bytes) -> str:
    return f"http{'s' if tls else ''}://{authority.decode()}{path.decode()}"


DOOR = Door(
    "address",
    check,
    (
        "engine.wire.target",
        "engine.wire.head",
        "engine.control.workspace_settings",
        "engine.files.data_uri",
    ),
    (
        b"http://example.com/hooks?a=b#c",
        b"HTTPS://[2001:db8::1]:8443/",
        "https://bücher.example/ä?ö".encode(),
        b"http://0x7f.1:080/",
        b"https://app.example.com",
        b"data:text/plain;charset=utf-8;base64,aGVsbG8=",
        b"data:,a%20b",
    ),
    (
        b"http://", b"https://", b"://", b"@", b"[::1]", b"%25", b"xn--", b"\\", b":0", b":65536", b"..",
        b"/../", b";base64,", b"%0d%0a", b"\xff", "\u3002".encode(), "\u017f".encode(), "\u212a".encode(),
        "\u00ad".encode(), "\u0661".encode(),
    ),
)  # fmt: skip
