"""What a template would send, without sending it: rendered from what may be shown, so that no secret can
be in it. Nothing here reads or writes.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.control.templated import CONFIG_BYTES, judged
from engine.control.templated import shown_headers as template_headers
from engine.core.destination import Template
from engine.model.documents import invalid, merged
from engine.model.errors import Detail, Refusal
from engine.model.headers import MASK, Headers
from engine.model.headers import shown as shown_headers
from engine.outbound.ports import Failure, Templates
from engine.templates.definition import Definition
from engine.wire.head import USER_AGENT


class Sketch(Struct, frozen=True):
    """A request as it would be sent, with masks for secrets."""

    url: str
    headers: dict[str, str]
    body: str


class Preview(Struct, frozen=True):
    """What would be sent, or what stands against it."""

    request: Sketch | None
    errors: tuple[Detail, ...] = ()


def previewed(
    definition: Definition,
    templates: Templates,
    given: Mapping[str, Any],
    body: bytes,
    event_type: str,
    stored: Template | None = None,
    headers: Headers = (),
) -> Preview:
    """Return what a template would send for an outbound body. `given` is a configuration, or with
    `stored` a merge patch of that; `headers` are the destination's own.

    Secrets may be masked or left out: nobody needs them to see a message.
    """
    config = _config(definition, given, stored)
    unknown = {name for name, value in config.items() if value is None}
    known = {name: MASK if name in unknown else value for name, value in config.items()}
    errors = _errors(definition, known, {f"config.{name}" for name in unknown})
    if errors:
        return Preview(None, errors)
    shown = {name: None if name in definition.secrets else value for name, value in config.items()}
    text = json.dumps(shown).encode()
    rendered = templates.render(Template(definition.id, text, text), body, event_type)
    if isinstance(rendered, Failure):
        return Preview(None, (Detail("event", rendered.message),))
    layers = (  # each name from the last that has it, as on the wire
        {"content-type": "application/json", "user-agent": USER_AGENT.decode()},
        shown_headers(headers),
        template_headers(definition, text),
        {name.decode("latin-1"): value.decode("latin-1") for name, value in rendered.headers},
    )
    url = definition.target(known).shown_url  # also of a host that only a secret tells
    body_text = rendered.body.decode("utf-8", "replace")
    return Preview(Sketch(url, _layered(layers), body_text))


def _config(
    definition: Definition, given: Mapping[str, Any], stored: Template | None
) -> dict[str, Any]:
    """Return a configuration in which secrets that are not known, and needed, are null."""
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
    if len(json.dumps(config).encode()) > CONFIG_BYTES:
        raise invalid("config", f"is larger than {CONFIG_BYTES} bytes")
    return config


def _errors(
    definition: Definition, config: dict[str, Any], unknown: set[str]
) -> tuple[Detail, ...]:
    """Return what is wrong with a configuration, but for the places that are not known."""
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
