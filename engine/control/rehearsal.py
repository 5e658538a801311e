"""The rehearsal of a test: its record as the log would have it, made without a request. Pure."""

import json

from engine.core.authentication import MutualTls
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus
from engine.log.delivery_log import (
    AttemptEntry,
    DeliveryDetail,
    DeliveryEntry,
    EventDetail,
    EventEntry,
    SentVersion,
)
from engine.model.configuration import DestinationRecord
from engine.model.headers import is_secret


def rehearsed(destination: DestinationRecord, delivery: Delivery) -> DeliveryDetail:
    """Return the record of a test, as if its attempt had been a success just now."""
    event, template = delivery.event, destination.template
    transform = destination.transform
    headers = [[name, None if is_secret(name) else value] for name, value in destination.headers]
    return DeliveryDetail(
        entry=DeliveryEntry(
            id=delivery.id,
            environment=event.environment,
            event=event.id,
            event_type=event.type,
            destination=destination.id,
            status=DeliveryStatus.DELIVERED,
            kind=delivery.kind,
            origin=delivery.origin,
            priority=delivery.priority,
            attempt_count=1,
            skipped=False,
            response_status=None,
            error_category=None,
            dlq_status=None,
            next_attempt_at_ms=None,
            delivered_at_ms=event.occurred_at_ms,
            dead_lettered_at_ms=None,
            updated_at_ms=event.occurred_at_ms,
            last_error=None,
            customer=delivery.customer,
            replay_of=None,
            replay_job=None,
        ),
        attempts=(
            AttemptEntry(
                number=1,
                started_at_ms=event.occurred_at_ms,
                duration_ms=0,
                success=True,
                destination_version=destination.version,
                transform_version=None if transform is None else transform.version,
                response_status=200,
                response_headers=(),
                response_body=b"",
                response_truncated=False,
                error_category=None,
                error_message=None,
                logs=None,
            ),
        ),
        event=EventDetail(
            entry=EventEntry(
                id=event.id,
                environment=event.environment,
                origin=event.origin,
                type=event.type,
                occurred_at_ms=event.occurred_at_ms,
                deliveries=1,
                customer=event.customer,
                source=None,
                correlation_id=None,
                request_id=None,
                idempotency_key=None,
                file=None,
            ),
            payload=event.payload,
            metadata=None,
            attachments=None,
        ),
        sent=SentVersion(
            version=destination.version,
            url=destination.url,
            headers=json.dumps(headers).encode(),
            algorithm=destination.algorithm,
            template=None if template is None else template.id,
            config=None if template is None else template.shown,
            method=destination.method,
            authorizes=not isinstance(destination.authentication, MutualTls | None),
        ),
    )
