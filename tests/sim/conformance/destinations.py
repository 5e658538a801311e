"""A destination's record for both databases."""

from typing import Any

from engine.core.vocabulary import DestinationStatus, Ordering, SigningAlgorithm
from engine.model.configuration import DestinationRecord


def destination_record(identifier: str, **fields: Any) -> DestinationRecord:
    """`environment` and `updated_at_ms` must be among `fields`."""
    given: dict[str, Any] = {
        "id": identifier,
        "version": 1,
        "status": DestinationStatus.ACTIVE,
        "name": "n",
        "description": None,
        "url": "https://receiver.example/",
        "customer": None,
        "customer_account": None,
        "headers": (("authorization", "secret"), ("x-a", "b")),
        "concurrency": 4,
        "ordering": Ordering.KEY,
        "timeout_ms": 1_000,
        "rate_per_second": None,
        "dry_run": False,
        "retry_schedule_s": (5, 60),
        "algorithm": SigningAlgorithm.HMAC_SHA256,
        "signing": (),
    }
    return DestinationRecord(**{**given, **fields})
