"""A template of the catalog: how a service is configured, addressed, written to and understood."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.templates.address import Address, Destined
from engine.templates.answers import AnswerRules
from engine.templates.configuration import ConfigurationSchema
from engine.templates.message import Message

__all__ = ["Definition", "Destined", "Example"]


@dataclass(frozen=True, slots=True)
class Example:
    """An outbound body, a configuration, and what the service is sent for them: JSON, or a text where the
    service takes another format."""

    event: dict[str, Any]
    config: dict[str, Any]
    body: Any


@dataclass(frozen=True, slots=True)
class Definition:
    """One template. Its file is all that there is of it."""

    id: str
    name: str
    description: str
    category: str
    icon: str
    documentation: tuple[str, ...]  # URLs of the service's documentation
    defaults: Mapping[str, Any]  # delivery options that suit the service, in the API's names
    example: Example
    configuration: ConfigurationSchema
    address: Address
    message: Message
    answer: AnswerRules

    @property
    def config_schema(self) -> dict[str, Any]:
        """The JSON Schema of its configuration. Secret fields have `secret` and `writeOnly`."""
        return self.configuration.schema

    @property
    def secrets(self) -> frozenset[str]:
        """The fields that are secret."""
        return self.configuration.secrets

    def check(self, config: object) -> None:
        """Raise Refusal `invalid_request` for a configuration that cannot be used, with details such as
        `config.url`."""
        self.configuration.check(config)
        assert isinstance(config, dict)
        self.address.check(self.configuration.complete(config))

    def complete(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration with every field: defaults where there is none, else null; `***` for a
        secret that is given as null."""
        return self.configuration.complete(config)

    def target(self, config: Mapping[str, Any]) -> Destined:
        """Return where requests of a configuration go. It was checked before."""
        return self.address.target(self.configuration.complete(config))
