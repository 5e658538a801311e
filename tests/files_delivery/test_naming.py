"""File names and types from strangers: harmless in a header, in a save dialog and in a browser."""

import re
from urllib.parse import unquote

import pytest

from engine.files.downloads import NAME_BYTES, OCTETS, disposition, harmless_name, inert_type

NAMES = [
    (None, "file"),
    ("", "file"),
    ("...", "file"),
    ("report.pdf", "report.pdf"),
    ("Übersicht 2026.pdf", "Übersicht 2026.pdf"),
    ("../../etc/passwd", "_.._etc_passwd"),
    ("C:\\Windows\\win.ini", "C__Windows_win.ini"),
    ('a"; filename="b.exe', "a_; filename=_b.exe"),
    ("a\r\nSet-Cookie: x=1", "aSet-Cookie_ x=1"),
    ("a\0b", "ab"),
    ("invoice\u202efdp.exe", "invoicefdp.exe"),  # it would be displayed as invoiceexe.pdf
    ("\u2066a\u2069\u200b.txt", "a.txt"),
    ("a\u2028b\u2029c", "abc"),
    ("a\ud800b", "ab"),
    (".bashrc", "bashrc"),
    ("trailing. . ", "trailing"),
    ("con", "_con"),
    ("NUL.txt", "_NUL.txt"),
    ("a%22b%0d%0a", "a_22b_0d_0a"),
    ("e\u0301.txt", "\u00e9.txt"),
]


@pytest.mark.parametrize(("given", "name"), NAMES)
def test_a_name_becomes_harmless(given: str | None, name: str) -> None:
    assert harmless_name(given) == name


@pytest.mark.parametrize("given", [name for name, _ in NAMES])
def test_a_disposition_is_always_a_download_of_one_line(given: str | None) -> None:
    value = disposition(given)
    form = (
        r"attachment; filename=\"[ !#-\[\]-~]+\"(?:; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+)?"
    )
    assert re.fullmatch(form, value), value
    if "filename*=" in value:
        assert unquote(value.partition("filename*=UTF-8''")[2]) == harmless_name(given)


@pytest.mark.parametrize(
    "long", ["x" * 5_000 + ".pdf", "ü" * 300 + ".pdf", "x." + "y" * 400, "日" * 300]
)
def test_a_long_name_is_shortened_and_keeps_a_suffix(long: str) -> None:
    name = harmless_name(long)
    assert len(name.encode()) <= NAME_BYTES
    assert name.endswith(".pdf") is long.endswith(".pdf")


TYPES = [
    (None, OCTETS),
    ("", OCTETS),
    ("image/png", "image/png"),
    ("IMAGE/JPEG", "image/jpeg"),
    ("application/pdf", "application/pdf"),
    ("application/json; charset=utf-8", "application/json"),
    ("text/plain; charset=UTF-8", "text/plain; charset=utf-8"),
    ('text/csv; header=present; charset="iso-8859-1"', "text/csv; charset=iso-8859-1"),
    ("text/plain; charset=a\r\nx: y", "text/plain"),
    ("video/mp4; codecs=x", "video/mp4"),
    ("audio/mpeg", "audio/mpeg"),
    ("video/svg+xml", OCTETS),
    ("audio/\r\nx", OCTETS),
    ("text/html", OCTETS),
    ("text/html; charset=utf-8", OCTETS),
    ("TEXT/HTML", OCTETS),
    ("image/svg+xml", OCTETS),
    ("application/xhtml+xml", OCTETS),
    ("application/xml", OCTETS),
    ("text/xml", OCTETS),
    ("text/javascript", OCTETS),
    ("application/javascript", OCTETS),
    ("text/css", OCTETS),
    ("multipart/related", OCTETS),
    ("message/rfc822", OCTETS),
    ("application/x-shockwave-flash", OCTETS),
    ("text/plain,text/html", OCTETS),
    ("text/html\t;image/png", OCTETS),
    (" image/png ", "image/png"),
]


@pytest.mark.parametrize(("given", "told"), TYPES)
def test_a_type_is_told_only_where_nothing_executes_it(given: str | None, told: str) -> None:
    assert inert_type(given) == told
