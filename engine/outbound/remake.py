"""The body of a past request, made again from its record, with secrets masked.

The script version that ran for the attempt runs again, with the same time and random numbers. So the
output is the body that was sent.
"""

import json
from typing import Protocol

from msgspec import Struct

from engine.core.destination import Template
from engine.core.records import Event
from engine.log.delivery_log import AttemptEntry, SentVersion
from engine.model.configuration import TransformScript
from engine.model.errors import Refusal
from engine.model.headers import MASK
from engine.model.read_models import SessionCustomer
from engine.outbound.ports import (
    Failure,
    Headers,
    Script,
    ScriptRuns,
    TemplateStage,
    Transformed,
    layered,
)
from engine.runtime.slots import Slots
from engine.wire.body import outbound_body

# The limits on scripts that run at once to make bodies again: for all callers together, and for the
# callers of one workspace. The limits are low, because each run takes as much time from the processes for
# scripts as a delivery's run does.
AT_ONCE = 32
AT_ONCE_WORKSPACE = 4

SKIPPED = "the transform script returned null: nothing is sent"
_GONE = "the transform script that made the body was removed"
_BUSY = "too many bodies are being made again: ask later"
_FAILED = "the body could not be made again: {}"


class Scripts(Protocol):
    """The store of scripts' versions. An attempt records the number of the version that it ran."""

    async def of_version(
        self, environment: int, destination: str, version: int
    ) -> TransformScript | None:
        """Return the version of a destination's script by its number."""


class Remade(Struct, frozen=True):
    """A body as it was sent, except for masked values. `headers`: those of the script and the template.

    If the body can no longer be made, `body` is None and `note` says why. `exact`: no value is masked.
    """

    body: bytes | None
    headers: Headers = ()
    note: str | None = None
    exact: bool = True


class Remake:
    """The maker of past requests' bodies."""

    def __init__(self, scripts: Scripts, transforms: ScriptRuns, templates: TemplateStage) -> None:
        self._scripts = scripts
        self._transforms = transforms
        self._templates = templates
        self._slots = Slots(AT_ONCE, AT_ONCE_WORKSPACE, "bodies", retry_after_s=1)

    async def remade(
        self,
        workspace: str,
        destination: str,
        event: Event,
        attempt: AttemptEntry,
        version: SentVersion,
        customer: SessionCustomer | None = None,
    ) -> Remade:
        """Return the body and the headers that an attempt sent. `customer`: the customer whose session
        asks for them."""
        made = Transformed(outbound_body(event))
        if attempt.transform_version is not None:
            script = await self._scripts.of_version(
                event.environment, destination, attempt.transform_version
            )
            if script is None:
                return Remade(None, note=_GONE)
            try:
                with self._slots.taken(workspace, customer):
                    result = await self._transforms.perform(
                        Script(workspace, script.id, script.source, script.customer_account),
                        made.body,
                        event.occurred_at_ms,
                        event.id,
                    )
            except Refusal:
                return Remade(None, note=_BUSY)
            if isinstance(result, Failure):
                return Remade(None, note=_FAILED.format(result.message))
            if result.skipped:
                return Remade(None, note=SKIPPED)
            made = result
        if version.template is None:
            return Remade(made.body, made.headers)
        return self._rendered(made, event, version.template, version.config or b"{}")

    def _rendered(self, made: Transformed, event: Event, template: str, config: bytes) -> Remade:
        shown = json.loads(config)
        known = Template(template, json.dumps(_masked(shown)).encode(), config)
        rendered = self._templates.render(known, made.body, made.type or event.type, event.id)
        if isinstance(rendered, Failure):
            return Remade(None, note=_FAILED.format(rendered.message))
        headers = layered(rendered.headers, made.headers)
        return Remade(rendered.body, headers, exact=None not in shown.values())


def _masked(config: object) -> object:
    if config is None:
        return MASK
    if isinstance(config, dict):
        return {name: _masked(value) for name, value in config.items()}
    if isinstance(config, list):
        return [_masked(value) for value in config]
    return config
