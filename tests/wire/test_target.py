"""The URLs that a destination can have, and their parts."""

import pytest

from engine.core.destination import Target
from engine.model.errors import Refusal
from engine.wire.target import URL_LIMIT, parse_target

BOOKS = "xn--bcher-kva.example"


def target(tls: bool, host: str, port: int, authority: str, path: str) -> Target:
    return Target(tls=tls, host=host, port=port, authority=authority.encode(), path=path.encode())


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com", target(True, "example.com", 443, "example.com", "/")),
        ("http://example.com/", target(False, "example.com", 80, "example.com", "/")),
        ("HTTPS://EXAMPLE.com/A", target(True, "example.com", 443, "example.com", "/A")),
        ("http://example.com:80/", target(False, "example.com", 80, "example.com", "/")),
        ("https://a.b:8443/x", target(True, "a.b", 8443, "a.b:8443", "/x")),
        ("https://a.b:/x", target(True, "a.b", 443, "a.b", "/x")),
        ("https://a.b?q=1", target(True, "a.b", 443, "a.b", "/?q=1")),
        ("https://a.b/x?q=1&r=%20#frag", target(True, "a.b", 443, "a.b", "/x?q=1&r=%20")),
        ("https://a.b/x?y?z", target(True, "a.b", 443, "a.b", "/x?y?z")),
        ("https://a.b//x/../y;p", target(True, "a.b", 443, "a.b", "//x/../y;p")),
        ("http://[::1]:9000/h", target(False, "::1", 9000, "[::1]:9000", "/h")),
        ("http://[2001:DB8:0::1]/", target(False, "2001:db8::1", 80, "[2001:db8::1]", "/")),
        ("http://127.0.0.1:9000/h", target(False, "127.0.0.1", 9000, "127.0.0.1:9000", "/h")),
        ("http://2130706433/", target(False, "2130706433", 80, "2130706433", "/")),
        ("http://0x7f.1/", target(False, "0x7f.1", 80, "0x7f.1", "/")),
        ("http://under_score.test/", target(False, "under_score.test", 80, "under_score.test", "/")),
        ("http://dot.test./", target(False, "dot.test.", 80, "dot.test.", "/")),
        ("https://bücher.example/", target(True, BOOKS, 443, BOOKS, "/")),
        ("https://a.b/ü?ö=é", target(True, "a.b", 443, "a.b", "/%C3%BC?%C3%B6=%C3%A9")),
    ],
)  # fmt: skip
def test_a_url_is_split(url: str, expected: Target) -> None:
    assert parse_target(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "/hook",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:/example.com",
        "http://",
        "http:///x",
        "http://:80/",
        "http://user@example.com/",
        "http://user:pw@example.com/",
        "http://@example.com/",
        "http://a.b\\@c.d/",
        "http://a.b/\\x",
        "http://a.b/ x",
        "http://a.b/\tx",
        "http://a.b/\r\nx: y",
        "http://a.b/\x00",
        "http://a.b/\x7f",
        "http://a.b/\x85",
        "http://a.b/\ud800",
        " http://a.b/",
        "http://a.b:0/",
        "http://a.b:65536/",
        "http://a.b:99999999/",
        "http://a.b:8o/",
        "http://a.b:80:80/",
        "http://a..b/",
        "http://.a/",
        "http://-a.b/",
        "http://a-.b/",
        "http://a%2eb/",
        "http://a,b/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[]/",
        "http://[fe80::1%25eth0]/",
        "http://[127.0.0.1]/",
        "http://[v1.a]/",
        "http://" + "a" * 64 + ".b/",
        "http://" + "a." * 127 + "bb/",
        "http://\u2024\u2024/",
        "http://a.b/" + "x" * URL_LIMIT,
    ],
)
def test_what_is_no_url_of_a_receiver_is_refused(url: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_target(url)
    assert refused.value.code == "invalid_request"
    assert [detail.path for detail in refused.value.details] == ["url"]


def test_the_longest_url_is_accepted() -> None:
    url = "http://a.b/".ljust(URL_LIMIT, "x")
    assert len(parse_target(url).path) == URL_LIMIT - len("http://a.b")
