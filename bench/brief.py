"""Servers for runs that only prove that scenarios still run: `run --tiny`.

Their floors are measured with little work, and a server that ends does not wait for receivers that
never answer.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from bench.service import Service

FLOOR_REQUESTS = 2_000  # some milliseconds of CPU: what a floor is of so few, nobody asks
GRACE_S = 2  # what a scenario leaves in flight at the end, nobody misses


@contextmanager
def serve(settings: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Start a new server."""
    given = {"ANGARIUM_SHUTDOWN_GRACE": str(GRACE_S), **(settings or {})}
    with Service(settings=given) as service:
        service.floor_requests = FLOOR_REQUESTS
        yield service


class Shared(ExitStack):
    """One server, lent to one user at a time; it starts when it is first needed. A user with settings,
    or in need of a second server, gets a new one."""

    def __init__(self) -> None:
        super().__init__()
        self._service: Service | None = None
        self._lent = False

    @contextmanager
    def __call__(self, settings: Mapping[str, str] | None = None) -> Iterator[Service]:
        """Lend the server, or start a new one."""
        if settings or self._lent:
            with serve(settings) as service:
                yield service
            return
        if self._service is None:
            self._service = self.enter_context(serve())
        self._lent = True
        try:
            yield self._service
        finally:
            self._lent = False
