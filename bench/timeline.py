"""The timeline of a run: samples of arrivals, CPU, memory, descriptors and queues, twice a second.

The samples come from /proc and from the receiver, so they cost the server nothing. They lack the number
of accepted events, which only the report of the load generator has.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bench.results import Sample
from bench.service import Receiver, Service

EVERY_S = 0.5  # a sample takes about 5 ms


class Timeline:
    """Samples of work, by one thread at a time."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._began = time.monotonic()
        self._delivered = 0  # in earlier blocks
        self._cpu = (0.0, 0.0)

    @contextmanager
    def watching(self, service: Service, receiver: Receiver) -> Iterator[None]:
        """Sample while the `with` block runs. If this method was used before, the counts of arrivals and
        the CPU seconds continue from the last totals."""
        over = threading.Event()
        thread = threading.Thread(
            target=self._sample, args=(service, receiver, over), name="timeline", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _sample(self, service: Service, receiver: Receiver, over: threading.Event) -> None:
        before = service.cpu_s()
        profile: Any = getattr(service, "profile", None)
        depths: Callable[[], dict[str, int]] = dict if profile is None else profile.depths
        while not over.wait(EVERY_S):
            # no sample of a killed server or a stopped receiver
            with suppress(OSError, ValueError, IndexError, RuntimeError):
                server_s, database_s = service.cpu_s()
                self.samples.append(
                    Sample(
                        at_s=round(time.monotonic() - self._began, 3),
                        delivered=self._delivered + int(receiver.counts()["received"]),
                        server_cpu_s=round(self._cpu[0] + server_s - before[0], 2),
                        database_cpu_s=round(self._cpu[1] + database_s - before[1], 2),
                        rss_mb=round(service.rss_mb(), 1),
                        descriptors=service.descriptors(),
                        depths=depths(),
                    )
                )

    def ended(self, delivered: int, server_s: float, database_s: float) -> None:
        """Add the totals of a `with` block that has ended."""
        self._delivered += delivered
        self._cpu = (self._cpu[0] + server_s, self._cpu[1] + database_s)
