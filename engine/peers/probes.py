"""The probes of a link between machines: the link breaks if the other machine no longer answers."""

import socket
from contextlib import suppress

import trio

# Seconds of silence before the first probe, and between two probes. The probes detect that the network
# between two running machines is broken. They are not needed for a dead machine, because its parts move
# to another machine sooner.
EVERY_S = 2
PROBES = 4  # this many without an answer break the link
# While sent bytes are unconfirmed, the kernel sends no probes. Instead, the kernel breaks the link when
# the bytes have been unconfirmed for this time. It is as long as the silence after which unanswered
# probes break a link.
UNCONFIRMED_MS = EVERY_S * (1 + PROBES) * 1000
_OPTIONS = (  # not every system has these names
    ("TCP_KEEPIDLE", EVERY_S),
    ("TCP_KEEPINTVL", EVERY_S),
    ("TCP_KEEPCNT", PROBES),
    ("TCP_USER_TIMEOUT", UNCONFIRMED_MS),
)


def probe(sock: socket.socket | trio.socket.SocketType) -> None:
    """Let the kernel probe the other end of a link."""
    if sock.family == socket.AF_UNIX:
        return
    with suppress(OSError):  # the link is already broken: its next use shows that
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _OPTIONS:
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
