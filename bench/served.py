"""A variant of `angarium` in which the look-up of some host names hangs. `python -m bench.served` takes
the arguments of `angarium`.

The look-up of a name below `hangs.test` waits for an answer that never comes. It fails after 10 s, like a
look-up by the system's resolver.
"""

import select
import socket
import sys
from typing import Any

from api.cli import main
from bench.traceable import stay_traceable

HANGING = ".hangs.test"
PATIENCE_S = 10.0  # like glibc: two tries of 5 s

_system = socket.getaddrinfo


def getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
    if not (isinstance(host, str) and host.endswith(HANGING)):
        return _system(host, *arguments, **named)
    with (
        socket.socket(type=socket.SOCK_DGRAM) as silent,
        socket.socket(type=socket.SOCK_DGRAM) as asking,
    ):
        silent.bind(("127.0.0.1", 0))
        asking.sendto(host.encode(), silent.getsockname())
        select.select([asking], [], [], PATIENCE_S)
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


if __name__ == "__main__":
    socket.getaddrinfo = getaddrinfo
    stay_traceable()
    sys.exit(main())
