"""Servers for `run --tiny`, which only tests that scenarios run."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from bench.service import Service

FLOOR_REQUESTS = 2_000  # the value of the floor does not matter
GRACE_S = 2  # receivers that never answer do not delay the end


@contextmanager
def serve(settings: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Start a new server."""
    given = {"ANGARIUM_SHUTDOWN_GRACE": str(GRACE_S), **(settings or {})}
    with Service(settings=given) as service:
        service.floor_requests = FLOOR_REQUESTS
        yield service


class Shared(ExitStack):
    """One server that scenarios use one after another.

    It starts at the first use. A scenario gets a new server if it has its own settings, or if the shared
    server is in use.
    """

    def __init__(self) -> None:
        super().__init__()
        self._service: Service | None = None
        self._lent = False

    @contextmanager
    def __call__(self, settings: Mapping[str, str] | None = None) -> Iterator[Service]:
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
