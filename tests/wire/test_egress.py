"""The egress guard: it denies the listed ranges in several notations, and allows the networks that the
operator allows."""

import socket
from ipaddress import ip_network

import pytest

from engine.wire.egress import DENIED_V4, DENIED_V6, EgressGuard, Network

DENIED = (DENIED_V4 + " " + DENIED_V6).split()
# A copy of the ranges in `engine.wire.egress`. If a range is removed there by mistake, a test finds the
# difference.
PROMISED_TEXT = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
    198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32
    ::/3 4000::/2 8000::/1
    ::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32
    2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8
"""
PROMISED = PROMISED_TEXT.split()


def ends(network: Network) -> tuple[str, str]:
    return str(network.network_address), str(network.broadcast_address)


def test_the_table_is_the_promised_one() -> None:
    assert sorted(DENIED) == sorted(PROMISED)


@pytest.mark.parametrize("text", PROMISED)
def test_first_and_last_address_of_every_range_are_denied(text: str) -> None:
    guard = EgressGuard()
    network = ip_network(text)
    for address in ends(network):
        assert not guard.allows(address)
        if network.version == 4:
            assert not guard.allows(f"::ffff:{address}")
            assert not guard.allows(f"64:ff9b::{address}")
            assert not guard.allows(f"::{address}")


@pytest.mark.parametrize("text", PROMISED)
def test_the_neighbours_of_every_range_are_judged_by_themselves(text: str) -> None:
    guard = EgressGuard()
    network = ip_network(text)
    others = [ip_network(other) for other in PROMISED]
    for neighbour in (
        (network.network_address - 1, network.broadcast_address + 1)
        if (int(network.network_address) and text not in ("240.0.0.0/4", "8000::/1", "ff00::/8"))
        else ()
    ):
        denied = any(neighbour in other for other in others if other.version == network.version)
        if str(neighbour).startswith("::ffff:"):
            continue  # a mapped address is judged as IPv4
        assert guard.allows(str(neighbour)) is not denied


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.216.34",
        "100.63.255.255",
        "172.15.0.1",
        "172.32.0.1",
        "168.63.129.15",
        "2606:4700::1111",
        "2a00:1450:4001::1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2606:4700::1111%eth0",
    ],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert EgressGuard().allows(address)


@pytest.mark.parametrize(
    "address",
    [
        "200::1",
        "100:0:0:2::1",
        "64:ff9b:2::1",
        "1fff:ffff::1",
        "4000::1",
        "5eff::1",
        "8000::1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
    ],
)
def test_ipv6_addresses_that_are_not_global_unicast_are_denied(address: str) -> None:
    assert not EgressGuard().allows(address)


@pytest.mark.parametrize(
    "literal",
    ["2130706433", "0x7f.1", "0x7f000001", "017700000001", "127.1", "0", "127.0.0.1", "::1",
     "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:0:0:1", "localhost"],
)  # fmt: skip
def test_odd_notations_fall_to_what_the_system_makes_of_them(literal: str) -> None:
    guard = EgressGuard()
    for *_, address in socket.getaddrinfo(literal, None, type=socket.SOCK_STREAM):
        assert not guard.allows(str(address[0]))


@pytest.mark.parametrize("address", ["", "example.com", "300.1.1.1", "1.2.3", "fe80::1%", "::g"])
def test_what_is_no_address_is_denied(address: str) -> None:
    assert not EgressGuard().allows(address)


def test_an_allowed_network_wins() -> None:
    guard = EgressGuard([ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")])
    assert guard.allows("10.1.2.3")
    assert guard.allows("::ffff:10.1.2.3")
    assert guard.allows("64:ff9b::10.1.2.3")
    assert guard.allows("fd00:1::5")
    assert not guard.allows("10.2.0.1")
    assert not guard.allows("fd00:2::5")
    assert not guard.allows("::1")


def test_one_denied_answer_denies_the_name() -> None:
    guard = EgressGuard()
    assert guard.allows_all(["1.1.1.1", "2606:4700::1111"])
    assert not guard.allows_all(["1.1.1.1", "10.0.0.1"])
    assert not guard.allows_all(["::1", "1.1.1.1"])
