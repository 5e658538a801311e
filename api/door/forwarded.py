"""The address of a client, as trusted proxies report it.

The client's address is the last address in X-Forwarded-For that does not belong to a trusted proxy. A
client can forge all addresses before that address.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from api.door.channel import Address
from api.door.framing import Head

FIELD = b"x-forwarded-for"
MOST = 32  # addresses to examine; no request passes more proxies


class Proxies:
    """The trusted proxies, by their networks."""

    def __init__(self, networks: Sequence[IPv4Network | IPv6Network]) -> None:
        self._networks = tuple(networks)

    def client_of(self, peer: Address, head: Head) -> Address:
        """Return the client's address. If `peer` is a trusted proxy, this is the address that trusted
        proxies report, with port 0. Otherwise it is `peer`."""
        if not self._networks or not self._trusts(_address(peer[0])):
            return peer
        field = b",".join(value for name, value in head.fields if name == FIELD)
        client = peer
        for text in reversed(field.split(b",")[-MOST:]):
            address = _address(text.decode("latin-1").strip())
            if address is None:
                return client  # entries before one that is not an address cannot be trusted
            client = (str(address), 0)
            if not self._trusts(address):
                return client
        return client

    def _trusts(self, address: IPv4Address | IPv6Address | None) -> bool:
        return address is not None and any(address in network for network in self._networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address with or without a port and brackets, as proxies write it."""
    host = text.partition("%")[0]
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        found = ip_address(host)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if found.version == 6 else None
    return mapped or found
