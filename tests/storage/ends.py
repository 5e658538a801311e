"""Every possible end of a delivery, with the columns that its row then has."""

from collections.abc import Callable
from typing import Any

from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryStatus, DlqStatus, ErrorCategory
from tests.storage.world import (
    failure,
    settled,
    success,
    unattempted,
)

RETRY_AT = 2e9
Maker = Callable[[Delivery], Settlement]
ENDS: dict[str, tuple[Maker, dict[str, Any]]] = {
    "delivered": (lambda d: success(d), {"status": 2, "attempt_count": 1, "response_status": 200}),
    "retrying": (
        lambda d: failure(d, next_attempt_at=RETRY_AT),
        {
            "status": 4,
            "attempt_count": 1,
            "trouble": 1,
            "error_category": ErrorCategory.HTTP_5XX,
            "response_status": 503,
            "last_error": b"503 Service Unavailable",
            "next_attempt_at_ms": 2_000_000_000_000,
        },
    ),
    "dead": (
        lambda d: failure(d, DeliveryStatus.FAILED),
        {
            "status": 3,
            "attempt_count": 1,
            "trouble": 3,
            "dlq_status": 1,
            "error_category": ErrorCategory.HTTP_5XX,
            "response_status": 503,
            "last_error": b"503 Service Unavailable",
        },
    ),
    "archived in flight": (
        lambda d: settled(
            d,
            DeliveryStatus.FAILED,
            category=ErrorCategory.TIMEOUT,
            message="timed out",
            dlq_status=DlqStatus.DISCARDED,
        ),
        {
            "status": 3,
            "attempt_count": 1,
            "trouble": 2,
            "dlq_status": 3,
            "error_category": ErrorCategory.TIMEOUT,
            "last_error": b"timed out",
        },
    ),
    "archived waiting": (
        lambda d: unattempted(d, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED),
        {"status": 3, "trouble": 2, "dlq_status": 3},
    ),
    "quarantined": (
        lambda d: unattempted(
            d,
            DeliveryStatus.FAILED,
            dlq_status=DlqStatus.IN_DLQ,
            dead_lettered=True,
            error_category=ErrorCategory.INTERNAL,
            last_error="crashed",
        ),
        {
            "status": 3,
            "trouble": 3,
            "dlq_status": 1,
            "error_category": ErrorCategory.INTERNAL,
            "last_error": b"crashed",
        },
    ),
    "dry run": (lambda d: unattempted(d, DeliveryStatus.DRY_RUN), {"status": 5}),
    "skipped": (
        lambda d: unattempted(d, DeliveryStatus.DELIVERED, skipped=True),
        {"status": 2, "skipped": True},
    ),
}
