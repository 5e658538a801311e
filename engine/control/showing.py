"""Where a committed change is shown in a process. What needs no read models needs nothing of theirs."""

from typing import Protocol

from engine.model.active_schema import ActiveSchema
from engine.model.configuration import DestinationRecord, KeyRecord, Tenant
from engine.model.quotas import CustomerAccount
from engine.model.read_models import Rule
from engine.model.workspace_settings import WorkspaceSettings


class Projection(Protocol):
    """Where a committed change is shown in this process."""

    def tenant(self, tenant: Tenant) -> None:
        """A workspace was made."""

    def key(self, key: KeyRecord) -> None:
        """A key has other secrets than before."""

    def destination(self, record: DestinationRecord) -> None:
        """A destination has a new version."""

    def rule(self, rule: Rule) -> None:
        """A rule has a new version."""

    def rule_removed(self, rule: str) -> None:
        """A rule is gone."""

    def schema(self, environment: int, event_type: str, active: ActiveSchema | None) -> None:
        """An event type has another active schema, or none."""

    def settings(self, settings: WorkspaceSettings) -> None:
        """A workspace's settings have a new version."""

    def customer(self, account: CustomerAccount) -> None:
        """Something else is said of a customer's account."""


class NoProjection:
    """For a process without read models, such as the command line."""

    def tenant(self, tenant: Tenant) -> None:
        """Do nothing."""

    def key(self, key: KeyRecord) -> None:
        """Do nothing."""

    def destination(self, record: DestinationRecord) -> None:
        """Do nothing."""

    def rule(self, rule: Rule) -> None:
        """Do nothing."""

    def rule_removed(self, rule: str) -> None:
        """Do nothing."""

    def schema(self, environment: int, event_type: str, active: ActiveSchema | None) -> None:
        """Do nothing."""

    def settings(self, settings: WorkspaceSettings) -> None:
        """Do nothing."""

    def customer(self, account: CustomerAccount) -> None:
        """Do nothing."""
