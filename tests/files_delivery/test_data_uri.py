"""`data:` URIs: well-formed ones are read, others refused with a message."""

import pytest

from engine.files.data_uri import read_data_uri

GOOD = [
    ("data:,", "text/plain;charset=US-ASCII", b""),
    ("data:,A%20brief%20note", "text/plain;charset=US-ASCII", b"A brief note"),
    ("data:text/plain;base64,aGVsbG8=", "text/plain", b"hello"),
    ("DATA:image/png;BASE64,AAECAw==", "image/png", b"\0\1\2\3"),
    ("data:;base64,aGk=", "text/plain;charset=US-ASCII", b"hi"),
    ("data:;charset=utf-8,%C3%A9", "text/plain;charset=utf-8", "é".encode()),
    ("data:text/plain;charset=utf-8;base64,w6k=", "text/plain;charset=utf-8", "é".encode()),
    ('data:text/plain;name="a b.txt",x', 'text/plain;name="a b.txt"', b"x"),
    ("data:application/vnd.a+json,{}".replace("{}", "%7B%7D"), "application/vnd.a+json", b"{}"),
    ("data:text/plain;base64,aGk%3D", "text/plain", b"hi"),
    ("data:text/plain,base64,aGk=", "text/plain", b"base64,aGk="),
]
BAD = [
    "",
    "data:",
    "data",
    "http://example.com/",
    "data:text/plain;base64",
    "data:text/plain;base64,aGk",
    "data:text/plain;base64,aGk=\n",
    "data:text/plain;base64,aG k=",
    "data:text/plain;base64,aGl=",  # the unused bits are not zero
    "data:text/plain;base64,a-_=",
    "data:text/plain;base64,aGk=#",
    "data:text/plain,%",
    "data:text/plain,%4",
    "data:text/plain,%zz",
    "data:text/plain,a b",
    "data:text/plain,é",
    "data:text/plain,a#b",
    "data:text/plain,a\r\nb",
    "data:text/\r\nx-evil: 1,a",
    "data:text,a",
    "data:/plain,a",
    "data:text/plain;charset,a",
    'data:text/plain;name="a\r\nb",x',
    "data:text/plain;base64;x=y,aGk=",
]


@pytest.mark.parametrize(("uri", "content_type", "content"), GOOD)
def test_a_well_formed_uri_is_read(uri: str, content_type: str, content: bytes) -> None:
    inline = read_data_uri(uri)
    assert (inline.content_type, inline.content) == (content_type, content)


@pytest.mark.parametrize("uri", BAD)
def test_a_malformed_uri_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match=r"must|has|is not"):
        read_data_uri(uri)
