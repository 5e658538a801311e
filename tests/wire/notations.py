"""Notations for an address in the host of a URL. Attackers have deceived programs with such notations."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_network

from engine.wire.egress import DENIED_V4, DENIED_V6

FULL_WIDTH = str.maketrans("0123456789abcdef", "０１２３４５６７８９ａｂｃｄｅｆ")  # noqa: RUF001 - meant
CIRCLED = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
BOLD = str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")  # noqa: RUF001 - meant
# IPv6 prefixes that can be followed by an IPv4 address. After the prefix "NAT64", the egress guard
# decides by the IPv4 address. After the other prefixes, the guard denies every IPv4 address.
PREFIXES = {
    "mapped": "::ffff:{}",
    "translated": "::ffff:0:{}",
    "compatible": "::{}",
    "NAT64": "64:ff9b::{}",
    "NAT64 of one's own": "64:ff9b:1::{}",
    "ISATAP": "fe80::5efe:{}",
}


def of_v4(address: IPv4Address) -> dict[str, str]:
    """Return hosts of URLs, by the name of their notation: the IPv4 address in other notations, and IPv6
    addresses that embed it."""
    number, octets = int(address), list(address.packed)
    text = str(address)
    a, b, c, d = octets
    hosts = {
        "dotted": text,
        "decimal": str(number),
        "hexadecimal": f"{number:#x}",
        "hexadecimal in capitals": f"0X{number:X}",
        "octal": f"0{number:o}",
        "octal with many zeros": f"{'0' * 20}{number:o}",
        "two parts": f"{a}.{number & 0xFFFFFF}",
        "three parts": f"{a}.{b}.{number & 0xFFFF}",
        "hexadecimal parts": ".".join(f"{octet:#x}" for octet in octets),
        "octal parts": ".".join(f"0{octet:o}" for octet in octets),
        "mixed parts": f"{a:#x}.0{b:o}.{c}.{d:#04x}",
        "two parts in hexadecimal": f"{a:#x}.{number & 0xFFFFFF:#x}",
        "dotted with a dot behind": f"{text}.",
        "decimal with a dot behind": f"{number}.",
        "full-width": text.translate(FULL_WIDTH),
        "full-width and ideographic dots": text.translate(FULL_WIDTH).replace(".", "。"),
        "half-width ideographic dots": text.replace(".", "｡"),
        "full-width decimal": str(number).translate(FULL_WIDTH),
        "full-width hexadecimal": f"0x{number:x}".translate(FULL_WIDTH),
        "circled": text.translate(CIRCLED),
        "superscript": text.translate(SUPERSCRIPT),
        "bold": text.translate(BOLD),
        "soft hyphens": "\u00ad".join(text),
        "zero-width joiners": text.replace(".", "\u200b."),
        "per cent": text.replace(".", "%2e"),
        "6to4": f"[{IPv6Address(0x2002 << 112 | number << 80)}]",
        "Teredo": f"[{IPv6Address(0x20010000 << 96 | number ^ 0xFFFFFFFF)}]",
        "Teredo's server": f"[{IPv6Address(0x20010000 << 96 | number << 64)}]",
        "brackets": f"[{text}]",
    }
    for name, prefix in PREFIXES.items():
        hosts[name] = f"[{prefix.format(text)}]"
        hosts[f"{name} in hexadecimal"] = f"[{IPv6Address(prefix.format(text))}]"
        hosts[f"{name}, written out"] = f"[{IPv6Address(prefix.format(text)).exploded}]"
    return hosts


def of_v6(address: IPv6Address) -> dict[str, str]:
    short, long = address.compressed, address.exploded
    return {
        "short": f"[{short}]",
        "written out": f"[{long}]",
        "in capitals": f"[{short.upper()}]",
        "with dots at the end": f"[{long[:30]}{IPv4Address(int(address) & 0xFFFFFFFF)}]",
        "scoped": f"[{short}%eth0]",
        "scoped by number": f"[{short}%1]",
        "scoped in per cent": f"[{short}%25eth0]",
        "full-width": f"[{short.translate(FULL_WIDTH)}]",
        "without brackets": short,
    }


def book() -> Iterator[tuple[str, str]]:
    """Yield the first and the last address of each denied range in each notation, as pairs: a name that
    the test's messages show, and the host of a URL."""
    for text in DENIED_V4.split():
        network = ip_network(text)
        for end in (network.network_address, network.broadcast_address):
            for name, host in of_v4(IPv4Address(end)).items():
                yield f"{end} {name}", host
    for text in DENIED_V6.split():
        network = ip_network(text)
        for end in (network.network_address, network.broadcast_address):
            for name, host in of_v6(IPv6Address(end)).items():
                yield f"{end} {name}", host
