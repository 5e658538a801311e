"""Objects for tests of the core, with defaults for the fields that a test does not care about."""

from typing import Any

from engine.core.commands import Commands, MemoryLimits
from engine.core.destination import Destination, Target
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Event, Outcome
from engine.core.vocabulary import DeliveryClass, DestinationStatus, ErrorCategory

NOW = 1_800_000_000.0
LIMITS = MemoryLimits(64, 1 << 20)


def a_destination(**changes: Any) -> Destination:
    values: dict[str, Any] = {
        "id": "d0",
        "environment": 1,
        "workspace": "w",
        "version": 1,
        "status": DestinationStatus.ACTIVE,
        "name": "Orders",
        "url": "http://receiver.test/hook",
        "target": Target(False, "receiver.test", 80, b"receiver.test", b"/hook"),
        "retry_schedule_s": (5, 300, 1800),
    }
    return Destination(**(values | changes))


def a_delivery(
    seq: int,
    *,
    lane: str | None = None,
    size: int = 10,
    queue: DeliveryClass | None = None,
    **more: Any,
) -> Delivery:
    made_ms = int(NOW * 1000) + seq
    identifier = f"{made_ms >> 16:08x}-{made_ms & 0xFFFF:04x}-7000-8000-{seq:012x}"
    event = Event(f"event-{seq}", 1, "order.paid", 0, b"x" * size)
    kind = DeliveryClass.STANDARD if queue is None else queue
    return Delivery(identifier, event, "d0", kind, lane=lane, seq=seq, **more)


def a_success(now: float = NOW, *, status: int = 200, duration_ms: int = 12) -> Outcome:
    return Outcome(now, duration_ms, True, status)


def a_failure(
    now: float = NOW,
    category: ErrorCategory = ErrorCategory.HTTP_5XX,
    *,
    status: int | None = 500,
    retry_after_s: float | None = None,
) -> Outcome:
    return Outcome(
        now, 12, False, status, category=category, message="it failed", retry_after_s=retry_after_s
    )


def a_skip(now: float = NOW) -> Outcome:
    """Return the outcome of a transform script that returned null."""
    return Outcome(now, 1, True, skipped=True, transform_version=1)


def a_410(now: float = NOW) -> Outcome:
    return a_failure(now, ErrorCategory.DESTINATION_GONE, status=410)


def a_machine(
    limits: MemoryLimits = LIMITS, *, now: float = NOW, chance: float = 0.5,
    snapshot: bytes | None = None, **changes: Any,
) -> DestinationMachine:  # fmt: skip
    return DestinationMachine(a_destination(**changes), limits, now, lambda: chance, snapshot)


def step(machine: DestinationMachine, now: float = NOW, may_send: int = 1000) -> Commands:
    return machine.commands(now, may_send)


def commit(machine: DestinationMachine, commands: Commands, now: float = NOW) -> None:
    machine.committed(commands.settle, now)


def held(machine: DestinationMachine) -> tuple[int, int]:
    """Return the number and bytes of the deliveries that a machine holds in memory."""
    return machine.window.held, machine.window.bytes


def seqs(deliveries: list[Delivery]) -> list[int]:
    return [delivery.seq for delivery in deliveries]


def fill(machine: DestinationMachine, count: int, first: int = 1, **more: Any) -> list[Delivery]:
    deliveries = [a_delivery(seq, **more) for seq in range(first, first + count)]
    machine.arrive(deliveries, NOW)
    return deliveries
