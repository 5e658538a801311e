"""The client's address behind proxies: only trusted proxies can state it."""

from ipaddress import ip_network

import pytest

from api.door.forwarded import Proxies
from api.door.framing import Head

TRUSTED = Proxies([ip_network("10.0.0.0/8"), ip_network("fd00::/8")])
PROXY, STRANGER = ("10.0.0.1", 4711), ("203.0.113.9", 4711)


def head(*values: bytes) -> Head:
    fields = [(b"host", b"a.example"), *((b"x-forwarded-for", value) for value in values)]
    return Head(b"GET", b"/", b"", 1, fields)


@pytest.mark.parametrize(
    ("values", "client"),
    [
        ((), PROXY),
        ((b"203.0.113.5",), ("203.0.113.5", 0)),
        ((b"6.6.6.6, 203.0.113.5",), ("203.0.113.5", 0)),
        ((b"6.6.6.6", b"203.0.113.5"), ("203.0.113.5", 0)),
        ((b"6.6.6.6, 203.0.113.5, 10.1.1.1,fd00::1",), ("203.0.113.5", 0)),
        ((b"10.9.9.9",), ("10.9.9.9", 0)),
        ((b"203.0.113.5:4711",), ("203.0.113.5", 0)),
        ((b"[2001:db8::5]:4711",), ("2001:db8::5", 0)),
        ((b"2001:DB8::5",), ("2001:db8::5", 0)),
        ((b"::ffff:203.0.113.5",), ("203.0.113.5", 0)),
        ((b"6.6.6.6, unknown",), PROXY),
        ((b"6.6.6.6, unknown, 10.1.1.1",), ("10.1.1.1", 0)),
        ((b"\xff",), PROXY),
        ((b",".join([b"6.6.6.6"] + [b"10.1.1.1"] * 50),), ("10.1.1.1", 0)),
    ],
)
def test_a_trusted_proxy_tells_the_last_address_that_is_no_proxy(
    values: tuple[bytes, ...], client: tuple[str, int]
) -> None:
    assert TRUSTED.client_of(PROXY, head(*values)) == client


def test_a_stranger_tells_nothing() -> None:
    told = head(b"203.0.113.5")
    assert TRUSTED.client_of(STRANGER, told) == STRANGER
    assert Proxies([]).client_of(PROXY, told) == PROXY


def test_a_proxy_of_ipv4_is_trusted_over_a_socket_of_ipv6() -> None:
    assert TRUSTED.client_of(("::ffff:10.0.0.1", 1), head(b"203.0.113.5")) == ("203.0.113.5", 0)
