"""A template of the catalog: the configuration, address, messages and answers of one service."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from engine.model.documents import MAX_DETAILS, invalid, refused
from engine.model.errors import Detail
from engine.model.headers import MASK
from engine.schemas.compiled import MESSAGE_LENGTH, PATH_LENGTH
from engine.schemas.places import DIALECT
from engine.templates.address import Address, Destined
from engine.templates.answers import AnswerRules
from engine.templates.message import Message

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class ConfigurationSchema:
    """The schema of configurations. `schema` has a property for each field, in the order in which pages
    show them."""

    __slots__ = ("_defaults", "_multiline", "_validator", "schema", "secrets")

    def __init__(
        self, fields: Mapping[str, dict[str, Any]], required: list[str], multiline: Iterable[str]
    ) -> None:
        """Raises ValueError for invalid JSON Schema."""
        self.schema: dict[str, Any] = {
            "$schema": DIALECT,
            "type": "object",
            "properties": dict(fields),
            "required": required,
            "additionalProperties": False,
        }
        self.secrets = frozenset(name for name, field in fields.items() if field.get("secret"))
        self._multiline = frozenset(multiline)
        self._defaults = {
            name: field["default"] for name, field in fields.items() if "default" in field
        }
        try:
            jsonschema_rs.meta.validate(self.schema)
            # Errors do not repeat a value: it can be a secret.
            self._validator = jsonschema_rs.Draft202012Validator(
                self.schema, mask="the value", validate_formats=True
            )
        except jsonschema_rs.ValidationError as error:
            place = [str(step) for step in error.instance_path if step != "properties"]
            raise ValueError(f"{'.'.join(['config', *place])}: {error.message}") from error

    def check(self, config: object) -> None:
        """Raise Refusal `invalid_request`, which names each wrong field. A field that is null counts as
        absent."""
        if not isinstance(config, dict):
            raise invalid("config", "must be an object")
        given = {name: value for name, value in config.items() if value is not None}
        errors = self._validator.iter_errors(given)
        details = [detail for error in errors for detail in _details(error)]
        for name, value in given.items():
            forbidden = _CONTROL_BUT_LINES if name in self._multiline else _CONTROL
            if any(forbidden.search(text) for text in _texts(value)):
                details.append(Detail(f"config.{name}", "holds a control character"))
        if details:
            details.sort(key=lambda detail: detail.path)
            raise refused(details[:MAX_DETAILS])

    def complete(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration with every field of the schema. A secret field that is null gets MASK,
        because null stands for a hidden secret. Any other field that is absent or null gets its default,
        or None if it has no default."""
        found: dict[str, Any] = {}
        for name in self.schema["properties"]:
            value = config.get(name)
            if value is None:
                value = self._defaults.get(name)
                if name in self.secrets and name in config:
                    value = MASK
            found[name] = value
        return found


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (each for each in value if isinstance(each, str))


def _details(error: jsonschema_rs.ValidationError) -> Iterable[Detail]:
    steps = ["config", *(str(step) for step in error.instance_path)]
    kind = error.kind.as_dict()
    if error.kind.name == "required":
        yield Detail(".".join([*steps, str(kind["property"])]), "is required")
    elif error.kind.name == "additionalProperties":
        for name in kind["unexpected"][:MAX_DETAILS]:
            yield Detail(".".join([*steps, name])[:PATH_LENGTH], "is not a field of this template")
    else:
        yield Detail(".".join(steps), error.message[:MESSAGE_LENGTH])


__all__ = ["Definition", "Destined", "Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """The example of a template. The template makes `body` from the outbound body `event` and the
    configuration `config`. `body` is a text if the message's format is not JSON, else a JSON value."""

    event: dict[str, Any]
    config: dict[str, Any]
    body: Any


@dataclass(frozen=True, slots=True)
class Definition:
    """One template."""

    id: str
    name: str
    description: str
    category: str
    icon: str
    documentation: tuple[str, ...]  # URLs
    defaults: Mapping[str, Any]  # delivery options, in the API's names
    example: Example
    configuration: ConfigurationSchema
    address: Address
    message: Message
    answer: AnswerRules

    @property
    def config_schema(self) -> dict[str, Any]:
        """The JSON Schema of configurations. A secret field has the keywords `secret` and `writeOnly`."""
        return self.configuration.schema

    @property
    def secrets(self) -> frozenset[str]:
        return self.configuration.secrets

    def check(self, config: object) -> None:
        """Raise Refusal `invalid_request` for an unusable configuration."""
        self.configuration.check(config)
        assert isinstance(config, dict)
        self.address.check(self.configuration.complete(config))

    def complete(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration with every field; see `ConfigurationSchema.complete`."""
        return self.configuration.complete(config)

    def target(self, config: Mapping[str, Any]) -> Destined:
        """Return the target of requests, for a checked configuration."""
        return self.address.target(self.configuration.complete(config))
