"""The machine: every decision about one destination's deliveries, as functions of message and time.

Nothing here awaits, reads a clock, draws randomness or does I/O.
"""

from collections.abc import Callable, Sequence

from engine.core.commands import AnyRequest, Commands, DeadRequest, DueRequest, Limits, ReadRequest
from engine.core.destination import Destination
from engine.core.health import Health
from engine.core.records import Delivery, Outcome, Settlement
from engine.core.vocabulary import DeliveryClass


class DestinationMachine:
    """The pure core of one destination's actor."""

    def __init__(
        self,
        config: Destination,
        limits: Limits,
        now: float,
        jitter: Callable[[], float],
        snapshot: bytes | None = None,
    ) -> None:
        self.config = config
        self.in_flight: dict[str, Delivery] = {}
        self.uncommitted: dict[str, Delivery] = {}

    def restore(
        self, low_seq: int, last_seqs: dict[int, int], waiting: int, next_due: float | None
    ) -> None:
        raise NotImplementedError

    def arrive(self, deliveries: Sequence[Delivery], now: float) -> None:
        raise NotImplementedError

    def spilled(self, queue: DeliveryClass, seq: int, count: int) -> None:
        raise NotImplementedError

    def loaded(
        self,
        request: ReadRequest,
        deliveries: list[Delivery],
        through: int,
        skipped: dict[str, int],
        end: bool,
        now: float,
    ) -> None:
        raise NotImplementedError

    def due(self, request: DueRequest, deliveries: list[Delivery], now: float) -> None:
        raise NotImplementedError

    def dead(self, request: DeadRequest, deliveries: list[Delivery], now: float) -> None:
        raise NotImplementedError

    def read_failed(self, request: AnyRequest, now: float) -> None:
        raise NotImplementedError

    def judged(self, delivery: Delivery, outcome: Outcome, now: float) -> None:
        raise NotImplementedError

    def committed(self, settlements: Sequence[Settlement], now: float) -> None:
        raise NotImplementedError

    def configure(self, config: Destination, now: float) -> None:
        raise NotImplementedError

    def quarantine(self, delivery: Delivery, now: float) -> None:
        raise NotImplementedError

    def commands(self, now: float, may_send: int) -> Commands:
        raise NotImplementedError

    def low_seq(self) -> int:
        raise NotImplementedError

    def next_due(self) -> float | None:
        raise NotImplementedError

    def idle(self, now: float) -> bool:
        raise NotImplementedError

    def clean(self) -> bool:
        raise NotImplementedError

    def health(self, now: float) -> Health:
        raise NotImplementedError

    def snapshot(self) -> bytes:
        raise NotImplementedError
