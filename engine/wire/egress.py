"""The egress guard: it decides which addresses a socket may connect to, right before every
connection.

The guard checks the socket address that the system's resolver made, never a host's name. No
notation of an address and no answer of a name server gets around it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network

# `ipaddress.is_global` is not enough: its result differs between Python versions. It is also true for the
# metadata service of a large cloud (168.63.129.16), and for some ranges of IPv6 addresses that contain an
# IPv4 address.
DENIED_V4 = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24"
    " 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24"
    " 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32"
)
# The three ranges of the first line together cover every address outside of 2000::/3, the global unicast
# range (RFC 4291).
DENIED_V6 = (
    "::/3 4000::/2 8000::/1"
    " ::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16"
    " 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
)
NAT64 = IPv6Network("64:ff9b::/96")  # the guard checks the embedded IPv4 address


def forbidden(host: str) -> str:
    """Return the error message for a host that has a forbidden address. `host` is the host of the URL.

    The message names the host but not the address, because tenants must not learn the answers of an
    internal name server.
    """
    return (
        f"the address {host} is not public: use a public address, "
        "or allow its network with ANGARIUM_EGRESS_ALLOW"
    )


class Ranges:
    """The networks of one address family, searched by bisection."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, networks: Iterable[Network]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted(
            (int(network.network_address), int(network.broadcast_address)) for network in networks
        ):
            if merged and start <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        self._starts = [start for start, _ in merged]
        self._ends = [end for _, end in merged]

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number <= self._ends[at]


class EgressGuard:
    """The check of addresses. `allow`: private networks that sockets may connect to."""

    def __init__(self, allow: Sequence[Network] = ()) -> None:
        self._denied4 = Ranges(IPv4Network(text) for text in DENIED_V4.split())
        self._denied6 = Ranges(IPv6Network(text) for text in DENIED_V6.split())
        self._allow4 = Ranges(network for network in allow if network.version == 4)
        self._allow6 = Ranges(network for network in allow if network.version == 6)

    def allows(self, address: str) -> bool:
        """Return True if a socket may connect to `address`, an IP address from a socket address."""
        try:
            parsed = ip_address(address.partition("%")[0])  # the zone does not matter
        except ValueError:
            return False
        return self._allows4(parsed) if isinstance(parsed, IPv4Address) else self._allows6(parsed)

    def allows_all(self, addresses: Iterable[str]) -> bool:
        """Return True if every address of a name is allowed."""
        return all(map(self.allows, addresses))

    def _allows4(self, address: IPv4Address) -> bool:
        number = int(address)
        return number in self._allow4 or number not in self._denied4

    def _allows6(self, address: IPv6Address) -> bool:
        number = int(address)
        if number in self._allow6:
            return True
        embedded = address.ipv4_mapped
        if embedded is None and address in NAT64:
            embedded = IPv4Address(number & 0xFFFFFFFF)
        if embedded is not None:
            return self._allows4(embedded)
        return number not in self._denied6
