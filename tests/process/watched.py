"""A program that runs `angarium`, records every `connect` of the process, and lets the test's name server
resolve names."""

import os
import socket
import sys
from typing import Any, cast

from tests.wire.nameserver import look_up

CONNECTS = "WATCHED_CONNECTS"  # the output file: an address and a port per line
NAMESERVER = "WATCHED_NAMESERVER"  # its port


def watch(path: str) -> None:
    """Record each connect of an IPv4 or IPv6 socket. This cannot be undone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            os.write(descriptor, f"{arguments[1][0]} {arguments[1][1]}\n".encode())

    sys.addaudithook(hook)


def ask(port: int) -> None:
    """Let the test's name server resolve every name except localhost."""
    system = socket.getaddrinfo

    def getaddrinfo(host: Any, service: Any, *rest: Any, **options: Any) -> Any:
        if not isinstance(host, str) or host == "localhost" or options.get("flags"):
            return system(host, service, *rest, **options)
        found = look_up(host, port)
        return [(family, socket.SOCK_STREAM, 6, "", (address, 0)) for family, address in found]

    socket.getaddrinfo = cast("Any", getaddrinfo)


if __name__ == "__main__":
    watch(os.environ[CONNECTS])
    ask(int(os.environ[NAMESERVER]))
    from api.cli import main

    main()
