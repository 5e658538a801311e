"""Configuration as callers see it: JSON objects with secrets masked."""

from typing import Any

from engine.control.rotation import public_key_texts
from engine.control.templated import masked
from engine.core.vocabulary import Environment
from engine.drafts import AUTO
from engine.model.configuration import DestinationRecord, FilterErrors
from engine.model.headers import shown
from engine.model.identity import created_at_ms
from engine.model.instants import iso
from engine.model.read_models import RuleModel


def destination_document(record: DestinationRecord) -> dict[str, Any]:
    """Return the part of a destination that callers write."""
    template = record.template
    return {
        "templateId": None if template is None else template.id,
        "name": record.name,
        "config": None if template is None else masked(template.shown),
        "url": record.url,
        "description": record.description,
        "customerExternalId": record.customer,
        "customerAccountId": record.customer_account,
        "headers": shown(record.headers),
        "delivery": {
            "concurrency": AUTO if record.adapts else record.concurrency,
            "ordering": record.ordering.name,
            "timeoutMs": record.timeout_ms,
            "rateLimitPerSecond": _number(record.rate_per_second),
            "dryRun": record.dry_run,
            "retrySchedule": list(record.retry_schedule_s),
        },
        "signing": {"algorithm": record.algorithm.name},
    }


def destination_view(
    record: DestinationRecord, environment: Environment, now: float
) -> dict[str, Any]:
    """Return a destination whole, without its secret."""
    document = destination_document(record)
    current, previous = public_key_texts(record.signing, now)
    if current is not None:
        document["signing"]["publicKey"] = current
    if previous is not None:
        document["signing"]["previousPublicKey"] = previous
    return {
        "id": record.id,
        "environment": environment.name,
        "status": record.status.name,
        **document,
        "createdAt": iso(created_at_ms(record.id)),
        "updatedAt": iso(record.updated_at_ms),
    }


def rule_document(rule: RuleModel) -> dict[str, Any]:
    """Return the part of a rule that callers write."""
    return {
        "name": rule.name,
        "destinationId": rule.destination,
        "eventTypes": list(rule.event_types),
        "filter": rule.filter,
        "priority": rule.priority.name,
        "enabled": rule.enabled,
    }


def rule_view(
    rule: RuleModel, environment: Environment, errors: FilterErrors | None = None
) -> dict[str, Any]:
    """Return a rule with the failures of its filter."""
    return {
        "id": rule.id,
        "environment": environment.name,
        **rule_document(rule),
        "filterErrors": None if errors is None else filter_errors_view(errors),
        "createdAt": iso(rule.created_at_ms),
        "updatedAt": iso(rule.updated_at_ms),
    }


def filter_errors_view(errors: FilterErrors) -> dict[str, Any]:
    """Return the failures of a filter."""
    return {
        "count": errors.count,
        "lastAt": iso(errors.last_at_ms),
        "lastMessage": errors.last_message,
    }


def _number(value: float | None) -> float | None:
    """Return 5 for 5.0, since callers mostly write it so."""
    return int(value) if value is not None and value == int(value) else value
