"""Views of configuration: JSON objects with the fields that callers write. Secrets are masked."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from engine.control.rotation import public_key_texts
from engine.control.templated import masked
from engine.core.vocabulary import HttpMethod, Ordering, Priority, SigningAlgorithm
from engine.drafts import AUTO, DeliveryOptions, DocumentedAs, Uuid, doc
from engine.model import authentication
from engine.model.authentication import AuthenticationDraft
from engine.model.configuration import DestinationRecord
from engine.model.headers import shown
from engine.model.quotas import Ability, Quotas
from engine.model.read_models import RuleModel
from engine.model.words import Word, word


class Options(TypedDict):
    """The delivery options of a destination."""

    concurrency: int | Literal["auto"]
    ordering: Word[Ordering]
    timeoutMs: int
    rateLimitPerSecond: float | None
    dryRun: bool
    retrySchedule: list[int]


class Signing(TypedDict):
    """The signing of outbound bodies, with the public keys if the algorithm has any."""

    algorithm: Word[SigningAlgorithm]
    publicKey: NotRequired[Annotated[str, doc("whpk_...; Ed25519 only.")]]
    previousPublicKey: NotRequired[
        Annotated[str, doc("The former key, while it also signs after a rotation.")]
    ]


class DestinationDocument(TypedDict):
    """A destination as callers write it."""

    templateId: Annotated[
        str | None, doc("The template in the catalog. Null: the destination has no template.")
    ]
    name: str
    config: Annotated[
        dict[str, Any] | None,
        doc("The template's configuration, with defaults. Secrets are shown as ***."),
    ]
    url: Annotated[str, doc("Secrets in the URL are shown as ***.")]
    description: str | None
    customerExternalId: str | None
    customerAccountId: Uuid | None
    headers: dict[str, str]
    delivery: Annotated[Options, DocumentedAs(DeliveryOptions)]
    signing: Signing
    method: Word[HttpMethod]
    authentication: Annotated[
        dict[str, Any] | None,
        DocumentedAs(AuthenticationDraft | None),
        doc("The authentication of requests. Secrets are shown as ***."),
    ]
    disableAfterSeconds: Annotated[
        int | None,
        doc("The destination is disabled after it has failed for this many seconds. Null: never."),
    ]


class RuleDocument(TypedDict):
    """A routing rule as callers write it."""

    name: str
    destinationId: Uuid
    eventTypes: list[str]
    filter: str | None
    priority: Word[Priority]
    enabled: bool


class QuotasDocument(TypedDict):
    """Quotas as callers see them. Null: the plan's quota."""

    destinations: int | None
    rules: int | None
    transforms: int | None
    requestsPerMinute: int | None


def destination_document(record: DestinationRecord) -> DestinationDocument:
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
            "ordering": word(record.ordering),
            "timeoutMs": record.timeout_ms,
            "rateLimitPerSecond": _number(record.rate_per_second),
            "dryRun": record.dry_run,
            "retrySchedule": list(record.retry_schedule_s),
        },
        "signing": {"algorithm": word(record.algorithm)},
        "method": word(record.method),
        "authentication": authentication.shown(record.authentication),
        "disableAfterSeconds": record.disable_after_s,
    }


def signing_view(record: DestinationRecord, now: float) -> Signing:
    """Return how a destination's bodies are signed, with the public keys."""
    view: Signing = {"algorithm": word(record.algorithm)}
    current, previous = public_key_texts(record.signing, now)
    if current is not None:
        view["publicKey"] = current
    if previous is not None:
        view["previousPublicKey"] = previous
    return view


def rule_document(rule: RuleModel) -> RuleDocument:
    """Return the part of a rule that callers write."""
    return {
        "name": rule.name,
        "destinationId": rule.destination,
        "eventTypes": list(rule.event_types),
        "filter": rule.filter,
        "priority": word(rule.priority),
        "enabled": rule.enabled,
    }


def quotas_document(quotas: Quotas) -> QuotasDocument:
    """Return quotas as callers see them."""
    return {
        "destinations": quotas.destinations,
        "rules": quotas.rules,
        "transforms": quotas.transforms,
        "requestsPerMinute": quotas.requests_per_minute,
    }


def permissions_document(permissions: Mapping[Ability, bool]) -> dict[str, bool | None]:
    """Return a customer's own permissions as callers see them. Null: the workspace's setting applies."""
    return {ability.value: permissions.get(ability) for ability in Ability}


def _number(value: float | None) -> float | None:
    """Return a whole number as int, so that an answer has 5, as most callers wrote it, and not 5.0."""
    return int(value) if value is not None and value == int(value) else value
