"""The probes of a link between machines: it breaks if the other machine is gone without a word."""

import socket
from contextlib import suppress

import trio

# Of silence before the first probe, and between two. Parts of a machine that is gone move sooner; these
# probes are for a cut between two machines that both reach the database.
EVERY_S = 2
PROBES = 4  # without an answer, until the link breaks
# The same for bytes that were sent and are not confirmed: then no probes are sent.
UNCONFIRMED_MS = EVERY_S * (1 + PROBES) * 1000
_OPTIONS = (  # names that not every system has
    ("TCP_KEEPIDLE", EVERY_S),
    ("TCP_KEEPINTVL", EVERY_S),
    ("TCP_KEEPCNT", PROBES),
    ("TCP_USER_TIMEOUT", UNCONFIRMED_MS),
)


def probe(sock: socket.socket | trio.socket.SocketType) -> None:
    """Let the kernel probe the other end of a link. A link within the machine needs no probes."""
    if sock.family == socket.AF_UNIX:
        return
    with suppress(OSError):  # the link is gone already: whoever uses it learns that
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _OPTIONS:
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
