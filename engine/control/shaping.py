"""The record of a destination, made from a draft or a merge patch. All functions are pure."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.control import templated
from engine.control.rotation import Make, SecretRotation, next_keys
from engine.control.views import DestinationDocument, destination_document
from engine.core.destination import (
    CONCURRENCY,
    Authentication,
    ClientCredentials,
    MutualTls,
    Template,
)
from engine.drafts import (
    AUTO,
    DeliveryOptions,
    DestinationDraft,
    TemplateDestinationDraft,
)
from engine.model import headers as own_headers
from engine.model.authentication import FIELD as AUTHENTICATION
from engine.model.authentication import authentication_of, base_of_patch, refuse_misplaced
from engine.model.configuration import DestinationRecord
from engine.model.documents import invalid, merged, read
from engine.model.errors import Refusal
from engine.templates.catalog import Catalog
from engine.wire.identities import check_identity
from engine.wire.signing import new_key
from engine.wire.target import parse_target

Draft = DestinationDraft | TemplateDestinationDraft
_FIXED = ("customerExternalId", "customerAccountId", "templateId")
_TOKEN_URL = f"{AUTHENTICATION}.tokenUrl"
_RATE = "rateLimitPerSecond"  # here null has a meaning: no limit


class Receiver(Struct, frozen=True):
    """The receiver of a destination: its URL as shown, and how requests are sent."""

    url: str
    delivery: DeliveryOptions
    template: Template | None = None


def receiver_of(draft: Draft, catalog: Catalog) -> Receiver:
    """Return the receiver of a new destination. Raises Refusal 400, 404 for an unknown template."""
    if isinstance(draft, DestinationDraft):
        parse_target(draft.url)
        return Receiver(draft.url, draft.delivery)
    definition = templated.required(catalog, draft.template_id)
    template = templated.created(definition, draft.config)
    given = draft.delivery.model_dump(by_alias=True, exclude_unset=True)
    delivery = read(DeliveryOptions, {**definition.defaults, **given})
    return Receiver(templated.shown_url(definition, template), delivery, template)


def drafted(draft: Draft, receiver: Receiver, **rest: Any) -> DestinationRecord:
    """Return the record that a draft describes. `rest` are the other fields of the record: those that a
    draft does not have."""
    delivery = receiver.delivery
    return DestinationRecord(
        name=draft.name,
        description=draft.description,
        url=receiver.url,
        concurrency=CONCURRENCY if delivery.concurrency == AUTO else delivery.concurrency,
        adapts=delivery.concurrency == AUTO,
        ordering=draft.ordering,
        timeout_ms=delivery.timeout_ms,
        rate_per_second=delivery.rate_limit_per_second,
        dry_run=delivery.dry_run,
        retry_schedule_s=tuple(delivery.retry_schedule),
        algorithm=draft.algorithm,
        template=receiver.template,
        method=draft.http_method,
        disable_after_s=draft.disable_after_seconds,
        **rest,
    )


def patched(
    present: DestinationRecord,
    patch: Mapping[str, Any],
    catalog: Catalog,
    *,
    rotation: SecretRotation,
    now: float,
    make_key: Make = new_key,
) -> DestinationRecord:
    """Return a record after a merge patch (RFC 7396), with its version number unchanged. Raises Refusal
    400."""
    document = destination_document(present)
    document["authentication"] = base_of_patch(
        document["authentication"], patch.get(AUTHENTICATION)
    )
    for field, value in document.items():
        if field in _FIXED and field in patch and patch[field] != value:
            raise invalid(field, "cannot be changed")
    draft, receiver, moved = (
        _direct(present, document, patch)
        if present.template is None
        else _templated(present, present.template, document, patch, catalog)
    )
    authentication = authentication_of(
        draft.authentication, present.authentication, patch=patch.get(AUTHENTICATION), moved=moved
    )
    following = drafted(
        draft,
        receiver,
        id=present.id,
        environment=present.environment,
        version=present.version,
        status=present.status,
        customer=present.customer,
        customer_account=present.customer_account,
        headers=own_headers.patched(present.headers, patch.get("headers", {}), moved=moved),
        signing=next_keys(present.signing, draft.algorithm, rotation, now=now, make=make_key),
        updated_at_ms=present.updated_at_ms,
        transform=present.transform,
        authentication=authentication,
    )
    changed = AUTHENTICATION in patch or "headers" in patch or "url" in patch or "config" in patch
    # Only a change of these fields is checked. They were also checked when they were written, but a new
    # release can have stricter checks. A patch of another field must not fail because of these checks.
    if changed:
        check_authentication(following, catalog)
    return following


def check_authentication(record: DestinationRecord, catalog: Catalog) -> None:
    """Check that a destination's authentication fits its headers and its URL. Raises Refusal 400."""
    authentication = record.authentication
    if authentication is None:
        return
    headers, template = record.headers, record.template
    origin = _origin(record.url)
    if template is not None:
        definition = templated.required(catalog, template.id)
        headers += templated.destined(definition, template).headers
        origin = templated.led_to(definition, template)
    refuse_misplaced(authentication, headers, tls=origin is not None and origin[0])
    if isinstance(authentication, ClientCredentials):
        _token_host(authentication)
    elif isinstance(authentication, MutualTls):
        check_identity(authentication)


def _token_host(authentication: ClientCredentials) -> str:
    try:
        return parse_target(authentication.token_url).host
    except Refusal as refusal:
        raise invalid(_TOKEN_URL, refusal.message) from None


def _direct(
    present: DestinationRecord, document: DestinationDocument, patch: Mapping[str, Any]
) -> tuple[Draft, Receiver, bool]:
    if patch.get("config") is not None:
        raise invalid("config", "the destination has no template: change its url instead")
    draft = read(DestinationDraft, _merged(document, patch, "templateId", "config"))
    if draft.url != present.url:
        parse_target(draft.url)
    moved = draft.url != present.url and _origin(draft.url) != _origin(present.url)
    return draft, Receiver(draft.url, draft.delivery), moved


def _templated(
    present: DestinationRecord,
    stored: Template,
    document: DestinationDocument,
    patch: Mapping[str, Any],
    catalog: Catalog,
) -> tuple[Draft, Receiver, bool]:
    if "url" in patch and patch["url"] != present.url:
        raise invalid("url", "the template makes the URL: change `config` instead")
    changes = patch.get("config", {})
    if not isinstance(changes, Mapping):
        raise invalid("config", "must be an object")
    definition = catalog.get(stored.id)
    following = _merged(document, {**patch, "config": {}}, "url")
    if definition is not None:
        _put_defaults(following, definition.defaults)
    draft = read(TemplateDestinationDraft, following)
    if not changes:
        return draft, Receiver(present.url, draft.delivery, stored), False
    if definition is None:
        raise Refusal(
            "conflict",
            "the template is no longer in the catalog: make a new destination",
        )
    template = templated.patched(definition, stored, changes)
    moved = templated.led_to(definition, stored) != templated.led_to(definition, template)
    url = templated.shown_url(definition, template)
    return draft, Receiver(url, draft.delivery, template), moved


def hosts_of(
    receiver: Receiver | DestinationRecord, authentication: Authentication | None, catalog: Catalog
) -> dict[str, str]:
    """Return the hosts that a destination sends requests to, as {field: host}. The field is the request's
    field that sets the host. Raises Refusal 400.
    """
    hosts = {}
    host = _host_of(receiver, catalog)
    if host is not None:
        hosts["url" if receiver.template is None else "config"] = host
    if isinstance(authentication, ClientCredentials):
        hosts[_TOKEN_URL] = _token_host(authentication)
    return hosts


def _host_of(receiver: Receiver | DestinationRecord, catalog: Catalog) -> str | None:
    template = receiver.template
    if template is None:
        origin = _origin(receiver.url)
    else:
        definition = catalog.get(template.id)
        origin = None if definition is None else templated.led_to(definition, template)
    return None if origin is None else origin[1]


def _merged(
    document: DestinationDocument, patch: Mapping[str, Any], *without: str
) -> dict[str, Any]:
    """Return a document after a patch, without the fields `without`. The headers in the result are for
    checks only. The record's headers come from `engine.model.headers.patched`.
    """
    following = merged(document, {**patch, "headers": _plain_headers(patch.get("headers", {}))})
    return {name: value for name, value in following.items() if name not in without}


def _put_defaults(following: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    """Replace the delivery options that a patch has set to null by the template's defaults."""
    given = following.get("delivery")
    if given is None:
        following["delivery"] = dict(defaults)
    elif isinstance(given, dict):
        kept = {name: value for name, value in defaults.items() if name != _RATE}
        following["delivery"] = {**kept, **given}


def _origin(url: str) -> tuple[bool, str, int] | None:
    """Return the origin of a URL (TLS, host, port). None if the URL is no longer accepted."""
    try:
        target = parse_target(url)
    except Refusal:
        return None
    return target.tls, target.host, target.port


def _plain_headers(patch: object) -> object:
    """Return a patch of headers without its nulls. In a patch, null removes a header."""
    if not isinstance(patch, Mapping):
        return patch
    return {name: value for name, value in patch.items() if value is not None}
