"""The renderer of templates: it makes requests and judges answers by the template's rules."""

from collections import OrderedDict
from typing import Any

import structlog

from engine.core.destination import Template
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.headers import MASK
from engine.outbound.ports import Failure, Rendered
from engine.templates.catalog import Catalog
from engine.templates.definition import Definition
from engine.templates.values import ValueFault, decoded

log = structlog.get_logger("angarium.templates")
CONFIGURATIONS_KEPT = 4_096  # decoded, with some hundred bytes each
_NO_SUCH = "the destination's template is not in the catalog any more"


class Renderer:
    """The renderer of a catalog, on the trio thread. Implements `engine.outbound.ports.TemplateStage`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        # The key is the `id()` of a destination's `Template`, because hashing the object would cost more.
        # An entry keeps this `Template`, so that no other object gets the same `id()`.
        self._configurations: OrderedDict[int, tuple[Template, dict[str, Any]]] = OrderedDict()

    def render(
        self, template: Template, body: bytes, event_type: str, event_id: str | None = None
    ) -> Rendered | Failure:
        """Return the request for an outbound body, or for a script's result."""
        definition = self.catalog.get(template.id)
        if definition is None:
            return Failure(ErrorCategory.TRANSFORM, _NO_SUCH)
        try:
            config = self._configuration(definition, template)
        except ValueFault:
            return Failure(ErrorCategory.TRANSFORM, "the template's configuration cannot be read")
        return definition.message.render(config, body, event_type, event_id)

    def judge(self, template: Template, outcome: Outcome) -> Outcome:
        """Return an outcome as the service's rules judge it."""
        definition = self.catalog.get(template.id)
        if definition is None:
            return outcome
        try:
            judged = definition.answer.judge(outcome)
            if judged.message is not None:
                judged.message = self._without_secrets(definition, template, judged.message)
        except Exception:  # the attempt must be recorded whatever the receiver answered
            log.exception("answer.judge_failed", template=template.id)
            return outcome
        return judged

    def _configuration(self, definition: Definition, template: Template) -> dict[str, Any]:
        known = self._configurations.get(id(template))
        if known is not None and known[0] is template:
            self._configurations.move_to_end(id(template))
            return known[1]
        found = decoded(template.config)
        config = definition.complete(found if isinstance(found, dict) else {})
        self._configurations[id(template)] = template, config
        if len(self._configurations) > CONFIGURATIONS_KEPT:
            self._configurations.popitem(last=False)
        return config

    def _without_secrets(self, definition: Definition, template: Template, message: str) -> str:
        """Mask the secrets that the service has quoted."""
        config = self._configuration(definition, template)
        for name in definition.secrets:
            if config[name]:
                message = message.replace(str(config[name]), MASK)
        return message
