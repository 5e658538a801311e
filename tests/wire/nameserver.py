"""A name server for tests, on a UDP socket, and a look-up that asks it instead of the system's name
servers.

The name server can answer each query of a name with other addresses. Its answers have a lifetime of zero.
"""

import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address

from engine.wire.resolver import Addresses

A, AAAA = 1, 28
FAMILIES = {A: socket.AF_INET, AAAA: socket.AF_INET6}
PATIENCE_S = 5.0  # the resolver's time limit: the server is on this machine
_HEADER = struct.Struct(">6H")
_ANSWERED, _NO_SUCH_NAME = 0x8400, 0x8403


class Nameserver:
    """A name server for the names in `zone`. The first query of a name gets the first list of addresses,
    the next query the next list. All queries after the last list get the last list again."""

    def __init__(self) -> None:
        self.zone: dict[str, list[Sequence[str]]] = {}
        self.asked: Counter[tuple[str, int]] = Counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, name="nameserver", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the server: an empty message is the signal."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join()
        self._socket.close()

    def lookup(self, host: str) -> Addresses:
        return look_up(host, self.port)

    def _serve(self) -> None:
        while True:
            query, sender = self._socket.recvfrom(512)
            if not query:
                return
            self._socket.sendto(self._answer(query), sender)

    def _answer(self, query: bytes) -> bytes:
        number = _HEADER.unpack_from(query)[0]
        name, end = _name(query, _HEADER.size)
        (kind,) = struct.unpack_from(">H", query, end)
        question = query[_HEADER.size : end + 4]
        answers = self.zone.get(name)
        if answers is None:
            return _HEADER.pack(number, _NO_SUCH_NAME, 1, 0, 0, 0) + question
        turn = min(self.asked[name, kind], len(answers) - 1)
        self.asked[name, kind] += 1
        found = [
            packed
            for address in answers[turn]
            if (len(packed := ip_address(address).packed) == 4) == (kind == A)
        ]
        records = b"".join(
            struct.pack(">HHHIH", 0xC00C, kind, 1, 0, len(packed)) + packed for packed in found
        )
        return _HEADER.pack(number, _ANSWERED, 1, len(found), 0, 0) + question + records


def look_up(host: str, port: int) -> Addresses:
    """Look up a host. As in the system's look-up, only names are sent to the name server, not
    addresses."""
    try:
        numeric = socket.getaddrinfo(
            host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    except socket.gaierror:
        found = [
            (FAMILIES[kind], address)
            for kind in FAMILIES
            for address in _ask(host.rstrip("."), kind, port)
        ]
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return tuple(found)
    return tuple((family, str(address[0])) for family, *_, address in numeric)


def _ask(name: str, kind: int, port: int) -> Iterator[str]:
    labels = b"".join(bytes((len(label),)) + label.encode() for label in name.split("."))
    query = _HEADER.pack(7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(PATIENCE_S)
        sock.sendto(query, ("127.0.0.1", port))
        answer = sock.recv(4096)
    count = _HEADER.unpack_from(answer)[3]
    at = len(query)
    for _ in range(count):
        (size,) = struct.unpack_from(">H", answer, at + 10)
        yield str(ip_address(answer[at + 12 : at + 12 + size]))
        at += 12 + size


def _name(message: bytes, at: int) -> tuple[str, int]:
    labels = []
    while size := message[at]:
        labels.append(message[at + 1 : at + 1 + size].decode("ascii").lower())
        at += 1 + size
    return ".".join(labels), at + 1


@contextmanager
def open_nameserver() -> Iterator[Nameserver]:
    server = Nameserver()
    try:
        yield server
    finally:
        server.close()
