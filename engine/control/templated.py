"""The configuration of a destination that has a template: checked, merged, masked and previewed.

Only `Template.config` holds secrets. What callers see is made from `Template.shown`.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.core.destination import Template
from engine.model import headers as own_headers
from engine.model.configuration import DestinationRecord
from engine.model.documents import invalid, merged, refused
from engine.model.errors import Detail, Refusal
from engine.model.headers import MASK, Headers
from engine.outbound.ports import Failure, TemplateStage
from engine.templates.catalog import Catalog
from engine.templates.definition import Definition, Destined
from engine.wire.head import USER_AGENT
from engine.wire.target import parse_target

CONFIG_BYTES = 16 * 1024  # each version of a destination keeps a copy; the longest fields are texts
_ELSEWHERE = "the template leads elsewhere now: give this secret anew or remove it"


def required(catalog: Catalog, template: str) -> Definition:
    """Return a template of the catalog. Raises Refusal 404. The refusal's text names `templateId`, the
    request's field."""
    definition = catalog.get(template)
    if definition is None:
        raise refused([Detail("templateId", "no such template")], "not_found")
    return definition


def created(definition: Definition, given: Mapping[str, Any]) -> Template:
    """Return the configuration of a new destination, with the template's defaults. Raises Refusal 400."""
    _bound(given)
    _refuse_masks(definition, given, {})
    return _configured(definition, merged({}, given))


def patched(definition: Definition, stored: Template, patch: Mapping[str, Any]) -> Template:
    """Return a configuration after a merge patch. If the patch has a mask for a secret, the secret keeps
    its stored value.

    Raises Refusal 400 for an invalid patch. Also raises Refusal 400 if requests would go to another
    origin with a stored secret: the other origin must not receive that secret.
    """
    _bound(patch)
    present = json.loads(stored.config)
    _refuse_masks(definition, patch, present)
    changes = {name: value for name, value in patch.items() if not _masked(definition, name, value)}
    following = _configured(definition, merged(present, changes))
    if led_to(definition, stored) != led_to(definition, following):
        _require_anew(definition, present, following, changes)
    return following


def _bound(config: Mapping[str, Any]) -> None:
    if len(json.dumps(config).encode()) > CONFIG_BYTES:
        raise invalid("config", f"is larger than {CONFIG_BYTES} bytes")


def shown_url(definition: Definition, template: Template) -> str:
    """Return the URL that callers see: secrets in it are masked."""
    return destined(definition, template).shown_url


def led_to(definition: Definition, template: Template) -> tuple[bool, str, int] | None:
    """Return the origin (TLS, host, port) that requests go to. None if the template no longer makes a
    valid URL."""
    try:
        target = parse_target(destined(definition, template).url)
    except Refusal:
        return None
    return target.tls, target.host, target.port


def destined(definition: Definition, template: Template) -> Destined:
    """Return the URL and the headers of a destination's requests. Raises Refusal if the template does
    not accept the stored configuration."""
    return judged(definition, json.loads(template.config))


def judged(definition: Definition, config: dict[str, Any]) -> Destined:
    """Check a configuration, and return the URL and the headers of its requests. Raises Refusal
    `invalid_request`."""
    try:
        definition.check(config)
        return definition.target(config)
    except Refusal:
        raise
    except Exception as error:  # an expression of the template failed on these values
        raise invalid("config", "the template cannot make a request of it") from error


def shown_headers(definition: Definition, shown: bytes) -> dict[str, str]:
    """Return the headers that a template makes of a stored configuration, secrets masked."""
    try:
        return dict(definition.target(json.loads(shown)).headers)
    except Exception:  # the present template can refuse the configuration of an old version
        return {}


def masked(shown: bytes) -> dict[str, Any]:
    """Return a stored configuration as callers see it."""
    config = json.loads(shown)
    return {name: MASK if value is None else value for name, value in config.items()}


def changed_secrets(before: DestinationRecord, after: DestinationRecord) -> list[str]:
    """Return the names of the template's secrets that both versions have, with different values."""
    if before.template is None or after.template is None or before.template == after.template:
        return []
    old, new = json.loads(before.template.config), json.loads(after.template.config)
    secrets = [name for name, value in json.loads(after.template.shown).items() if value is None]
    return [name for name in secrets if name in old and old[name] != new[name]]


def _configured(definition: Definition, config: dict[str, Any]) -> Template:
    parse_target(judged(definition, config).url)
    complete = {
        name: value for name, value in definition.complete(config).items() if value is not None
    }
    try:
        text = json.dumps(complete, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise invalid("config", "holds a number that is too large") from None
    if len(text) > CONFIG_BYTES:
        raise invalid("config", f"is larger than {CONFIG_BYTES} bytes")
    shown = {
        name: None if name in definition.secrets else value for name, value in complete.items()
    }
    return Template(definition.id, text, json.dumps(shown, ensure_ascii=False).encode())


def _masked(definition: Definition, name: str, value: object) -> bool:
    return name in definition.secrets and value == MASK


def _require_anew(
    definition: Definition,
    present: Mapping[str, Any],
    following: Template,
    changes: Mapping[str, Any],
) -> None:
    kept = json.loads(following.config).keys() & present.keys() & definition.secrets
    missing = [Detail(f"config.{name}", _ELSEWHERE) for name in sorted(kept) if name not in changes]
    if missing:
        raise refused(missing)


def _refuse_masks(
    definition: Definition, given: Mapping[str, Any], stored: Mapping[str, Any]
) -> None:
    for name, value in given.items():
        if _masked(definition, name, value) and name not in stored:
            raise invalid(f"config.{name}", "is the mask, but no value is stored: give the secret")


class RequestSketch(Struct, frozen=True):
    """A request as it would be sent, with masks for secrets."""

    url: str
    headers: dict[str, str]
    body: str


class TemplateOutput(Struct, frozen=True):
    """The request that a template would send, or the errors that prevent it."""

    request: RequestSketch | None
    errors: tuple[Detail, ...] = ()


def previewed(
    definition: Definition,
    templates: TemplateStage,
    given: Mapping[str, Any],
    body: bytes,
    event_type: str,
    stored: Template | None = None,
    headers: Headers = (),
) -> TemplateOutput:
    """Return the request that a template would make of an outbound body.

    If `stored` is None, `given` is a whole configuration. Otherwise `given` is a merge patch of the
    stored configuration. Secrets in `given` can be masked or left out. `headers` are the headers that the
    destination adds to the template's headers.
    """
    config = _config(definition, given, stored)
    unknown = {name for name, value in config.items() if value is None}
    known = {name: MASK if name in unknown else value for name, value in config.items()}
    errors = _errors(definition, known, {f"config.{name}" for name in unknown})
    if errors:
        return TemplateOutput(None, errors)
    shown = {name: None if name in definition.secrets else value for name, value in config.items()}
    text = json.dumps(shown).encode()
    rendered = templates.render(Template(definition.id, text, text), body, event_type)
    if isinstance(rendered, Failure):
        return TemplateOutput(None, (Detail("event", rendered.message),))
    layers = (  # a name comes from the last layer that has it, as on the wire
        {"content-type": "application/json", "user-agent": USER_AGENT.decode()},
        own_headers.shown(headers),
        shown_headers(definition, text),
        {name.decode("latin-1"): value.decode("latin-1") for name, value in rendered.headers},
    )
    url = definition.target(known).shown_url  # this works even if a secret holds the host
    body_text = rendered.body.decode("utf-8", "replace")
    return TemplateOutput(RequestSketch(url, _layered(layers), body_text))


def _config(
    definition: Definition, given: Mapping[str, Any], stored: Template | None
) -> dict[str, Any]:
    """Merge `given` into the stored configuration. If `given` has a mask for a secret, the secret keeps
    its stored value.

    A secret that has no value is null in the result if the template requires the secret, or if `given`
    has a mask for it.
    """
    _bound(given)
    changes = {
        name: value
        for name, value in given.items()
        if not (name in definition.secrets and value == MASK)
    }
    config: dict[str, Any] = merged({} if stored is None else json.loads(stored.config), changes)
    needed = definition.config_schema["required"]
    for name in definition.secrets:
        if name not in config and (name in needed or given.get(name) == MASK):
            config[name] = None
    _bound(config)
    return config


def _errors(
    definition: Definition, config: dict[str, Any], unknown: set[str]
) -> tuple[Detail, ...]:
    try:
        judged(definition, config)
    except Refusal as refusal:
        return tuple(detail for detail in refusal.details if detail.path not in unknown)
    return ()


def _layered(layers: tuple[dict[str, str], ...]) -> dict[str, str]:
    found: dict[str, tuple[str, str]] = {}
    for layer in layers:
        found |= {name.lower(): (name, value) for name, value in layer.items()}
    return dict(found.values())
