"""The normal form of origins: an origin that a caller writes becomes the text that browsers send."""

import pytest

from engine.control.workspace_settings import normalised


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://app.example.com", "https://app.example.com"),
        ("HTTPS://App.Example.COM", "https://app.example.com"),
        ("https://app.example.com:443", "https://app.example.com"),
        ("https://app.example.com:8443", "https://app.example.com:8443"),
        ("https://app.example.com:08443", "https://app.example.com:8443"),
        ("https://localhost", "https://localhost"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://localhost:80", "http://localhost"),
        ("http://127.0.0.1:5173", "http://127.0.0.1:5173"),
        ("http://[::1]:5173", "http://[::1]:5173"),
        ("https://[2001:DB8:0:0::1]", "https://[2001:db8::1]"),
        ("https://203.0.113.7", "https://203.0.113.7"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("https://my_app.example", "https://my_app.example"),
    ],
)
def test_an_origin_has_one_form(text: str, origin: str) -> None:
    assert normalised(text) == origin
    assert normalised(origin) == origin


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "scheme://host"),
        ("*", "scheme://host"),
        ("null", "scheme://host"),
        ("app.example.com", "scheme://host"),
        ("https://", "scheme://host"),
        ("https://app.example.com/", "without a path"),
        ("https://app.example.com/portal", "without a path"),
        ("https://app.example.com?x", "scheme://host"),
        ("https://app.example.com#x", "scheme://host"),
        ("https://user@app.example.com", "scheme://host"),
        ("https://app.example.com:", "scheme://host"),
        ("https://app.example.com:0", "port"),
        ("https://app.example.com:65536", "port"),
        ("https://app.example.com:1e3", "scheme://host"),
        ("https://*.example.com", "no pattern"),
        ("https://app..example.com", "a name"),
        ("https://-app.example.com", "a name"),
        ("https://app.example.com.", "a name"),
        ("https://app example.com", "a name"),
        ("https://app.example.com\r\nX-Evil: 1", "scheme://host"),
        ("https://" + "a." * 127 + "com", "a name"),
        ("https://bücher.example", "ASCII"),
        ("https://127.1", "address"),
        ("https://256.0.0.1", "address"),
        ("https://[::1", "scheme://host"),
        ("https://[::1%25eth0]", "address"),
        ("https://[127.0.0.1]", "address"),
        ("http://app.example.com", "write https"),
        ("http://localhost.example.com", "write https"),
        ("http://127.0.0.2", "write https"),
        ("ftp://app.example.com", "scheme"),
        ("chrome-extension://abcdefghijklmnop", "scheme"),
    ],
)
def test_what_no_browser_sends_is_refused_in_words(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        normalised(text)
