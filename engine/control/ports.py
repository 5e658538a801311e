"""The protocols of the control plane's stores, and the projection of changes into read models.

Every store method can raise `StoreAwayError`. A write is one transaction: it writes the row and its audit
entry, and notifies the other processes. If the row that a caller writes has changed since the caller read
the row, the write does nothing, and returns False or None.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.vocabulary import DestinationStatus
from engine.model.configuration import (
    AuditEntry,
    Configuration,
    DestinationRecord,
    FilteredRules,
    FilterErrors,
    FilterFailure,
    KeyRecord,
    KeySecret,
    Tenant,
    TransformPage,
    TransformScript,
)
from engine.model.quotas import CustomerAccount, CustomerTally, Used, WorkspaceSettings
from engine.model.read_models import ActiveSchema, RuleModel, WorkspaceModel
from engine.schemas.records import SchemaStore


class TenantStore(Protocol):
    """Workspaces and their environments."""

    async def create(self, workspace: WorkspaceModel, audit: AuditEntry) -> Tenant | None:
        """Add a workspace with its three environments. Return None if the name is taken."""

    async def set_plan(self, workspace: WorkspaceModel, plan: str, audit: AuditEntry) -> bool:
        """Replace the workspace's plan `workspace.plan` by `plan`. If the workspace's stored plan is no
        longer `workspace.plan`, change nothing and return False."""

    async def find(self, name: str) -> Tenant | None:
        """Return the workspace of that name."""

    async def get(self, workspace: str) -> Tenant | None:
        """Return a workspace by its id."""

    async def all(self) -> list[Tenant]:
        """Return all workspaces, oldest first."""


class KeyStore(Protocol):
    """Keys and the digests of their secrets."""

    async def create(self, key: KeyRecord, at_most: int, audit: AuditEntry) -> bool:
        """Add a key with its first secret, unless its environment has `at_most` keys."""

    async def rotate(
        self, key: KeyRecord, secret: KeySecret, expires_at_ms: int, audit: AuditEntry
    ) -> bool:
        """Add a secret to a key. The former secret ends at `expires_at_ms`."""

    async def revoke(self, key: KeyRecord, at_ms: int, audit: AuditEntry) -> bool:
        """End all secrets of a key."""

    async def get(self, key: str) -> KeyRecord | None:
        """Return a key by its id, a revoked one without secrets."""

    async def reached(
        self, key: str, workspace: str, environment: int, *, mcp: bool
    ) -> KeyRecord | None:
        """Return a key by its id, if it is a key of the environment. If `mcp` is True, it can also be an
        MCP key of the workspace."""

    async def of_workspace(self, workspace: str) -> list[KeyRecord]:
        """Return a workspace's keys, newest first."""

    async def page(
        self, workspace: str, environment: int, before: str | None, limit: int, *, mcp: bool
    ) -> list[KeyRecord]:
        """Return an environment's keys with an id below `before`, newest first. If `mcp` is True, the
        workspace's MCP keys are among them."""


class DestinationStore(Protocol):
    """Destinations, their versions and the accounts that they are tied to."""

    async def create(
        self,
        destination: DestinationRecord,
        at_most: int,
        audit: AuditEntry,
        customer: CustomerTally | None = None,
    ) -> bool:
        """Add the first version of a destination. Nothing is added if the environment has `at_most`
        destinations that are not archived.

        If a customer's session adds the destination, `customer` has the tally of the customer's account
        when the quota was checked. The tally counts the rows that the customer's sessions have added. If
        it has risen since the check, nothing is added.
        """

    async def replace(self, destination: DestinationRecord, audit: AuditEntry) -> bool:
        """Write the next version of a destination."""

    async def publish(self, destination: DestinationRecord, audit: AuditEntry, at_ms: int) -> bool:
        """Make a script live: write the destination's next version, which uses the script. Write nothing
        if the script was removed."""

    async def get(self, environment: int, destination: str) -> DestinationRecord | None:
        """Return the present version."""

    async def find(self, destination: str) -> DestinationRecord | None:
        """Return a destination's present version by its id alone, for the loader of the read models."""

    async def page(
        self,
        environment: int,
        statuses: Sequence[DestinationStatus],
        account: str | None,
        before: str | None,
        limit: int,
    ) -> list[DestinationRecord]:
        """Return destinations with an id below `before`, newest first."""

    async def open_account(self, environment: int, external_id: str, identifier: str) -> str:
        """Return the id of a customer's account. If the customer has none, add an account with the id
        `identifier`."""

    async def account_name(self, environment: int, account: str) -> str | None:
        """Return the customerExternalId of an account."""


class DestinationPages(DestinationStore, Protocol):
    """The store of destinations, with a read by ids."""

    async def named(self, environment: int, destinations: Sequence[str]) -> list[DestinationRecord]:
        """Return the given destinations that exist, in the given order."""


class TransformStore(Protocol):
    """Transform scripts."""

    async def create(
        self,
        script: TransformScript,
        workspace: str,
        at_most: int,
        audit: AuditEntry,
        customer: CustomerTally | None = None,
    ) -> bool:
        """Add the next version of a destination's script; the store assigns `version`.

        Nothing is added if the destination is archived, if the workspace has `at_most` scripts, or if the
        tally in `customer` is out of date (see `DestinationStore.create`).
        """

    async def remove(self, script: TransformScript, audit: AuditEntry) -> bool:
        """Remove a version. Nothing is removed if the version is live or the destination is archived."""

    async def get(self, environment: int, script: str) -> TransformScript | None:
        """Return a version."""

    async def of_version(
        self, environment: int, destination: str, version: int
    ) -> TransformScript | None:
        """Return a destination's version by its number."""

    async def page(
        self, environment: int, destination: str, before: str | None, limit: int, max_bytes: int
    ) -> TransformPage:
        """Return a destination's versions with an id below `before`, newest first: at most `limit`
        versions, whose sources have at most `max_bytes` together. The newest version is always
        returned, even if its source is larger."""

    async def used(self, workspace: str) -> int:
        """Return how many scripts of a workspace its plan counts."""


class CustomerStore(Protocol):
    """Customers' accounts: names, quotas, and use."""

    async def get(self, environment: int, external_id: str) -> CustomerAccount | None:
        """Return an account."""

    async def find(self, account: str) -> CustomerAccount | None:
        """Return an account by its id alone, for the loader of the read models. Return None if the
        account never had a name, quotas or permissions."""

    async def page(
        self, environment: int, prefix: str, after: str | None, limit: int
    ) -> list[CustomerAccount]:
        """Return accounts whose customerExternalId begins with `prefix`, sorted by the bytes of the
        customerExternalId. The first account is the one after the account with the id `after`."""

    async def replace(self, account: CustomerAccount, at_ms: int, audit: AuditEntry) -> bool:
        """Write the next version of name, quotas and permissions."""

    async def used(self, environment: int, account: str, at_most: int) -> Used | None:
        """Return how much of each quota an account uses. A count of `at_most` or more can be too low.
        Return None for an unknown account."""


class RuleStore(Protocol):
    """Routing rules."""

    async def create(
        self,
        rule: RuleModel,
        at_most: int,
        audit: AuditEntry,
        tally: int | None = None,
        customer: CustomerTally | None = None,
    ) -> bool:
        """Add a rule. Nothing is added in these cases:

        - The destination is archived, or the environment already has `at_most` rules.
        - `tally` is given, and a rule of the environment was written after `tally` was read.
        - `customer` is given, and a session of the customer has added a destination, a rule or a script
          after `customer.tally` was read."""

    async def replace(self, rule: RuleModel, audit: AuditEntry, tally: int | None = None) -> bool:
        """Write the next version of a rule. With `tally`, nothing is written if a rule of the environment
        was written after `tally` was read."""

    async def remove_all(
        self, rules: Sequence[RuleModel], audits: Sequence[AuditEntry]
    ) -> list[str]:
        """Remove rules of one environment, and write an audit entry for each rule. Return the ids of the
        rules that were removed."""

    async def left_behind(self, limit: int) -> list[tuple[int, str]]:
        """Return (environment, id) of archived destinations that still have rules."""

    async def count(self, environment: int) -> int:
        """Return how many rules an environment has."""

    async def filtered(self, environment: int, account: str | None, at_most: int) -> FilteredRules:
        """Return the patterns of those rules that have a filter and whose destination is tied to
        `account` (None: to no account). The read stops when it has found more than `at_most` patterns.
        Return also the tally, which changes with each write of a rule in the environment."""

    async def failures(self, environment: int, rules: Sequence[str]) -> dict[str, FilterErrors]:
        """Return the recorded failures of filters, by rule."""

    async def failed(self, failures: Sequence[FilterFailure]) -> None:
        """Record failures of rules' filters. A failure is skipped if the rule's filter has changed since
        the failure."""

    async def remove(self, rule: RuleModel, audit: AuditEntry) -> bool:
        """Remove a rule."""

    async def get(self, environment: int, rule: str) -> RuleModel | None:
        """Return a rule."""

    async def find(self, rule: str) -> RuleModel | None:
        """Return a rule by its id alone, for the loader of the read models."""

    async def page(
        self,
        environment: int,
        destinations: Sequence[str] | None,
        enabled: bool | None,
        before: str | None,
        limit: int,
        account: str | None = None,
    ) -> list[RuleModel]:
        """Return rules with an id below `before`, newest first. If `account` is given, return only rules
        for the destinations of that account."""


class Erasing(Struct, frozen=True):
    """An unfinished request to erase a customer's contents. Its remaining events have ids above `cursor`
    and below `below`."""

    environment: int
    account: str
    customer: str
    below: str
    cursor: str
    requested_at_ms: int


class CustomerEvents(Struct, frozen=True):
    """The result of one read for a request to erase a customer's contents. The read examines the next
    events beyond the request's cursor. `ids`: the customer's examined events that still have contents.
    `erased`: how many of the customer's examined events were erased since the request, no matter why.
    `through`: the last examined event's id, or else the cursor. `end`: False if more events can come."""

    ids: list[str]
    erased: int
    through: str
    end: bool


class ErasureRows(Protocol):
    """Requests to erase a customer's contents."""

    async def account(self, environment: int, customer: str) -> str | None:
        """Return the account of a customer."""

    async def request(self, request: Erasing, audit: AuditEntry) -> bool:
        """Add a request to erase a customer's contents. If the customer has an unfinished request, that
        request is extended to the events accepted until now. A finished request begins again."""

    async def unfinished(self) -> list[Erasing]:
        """Return the requests that are not finished."""

    async def events(self, request: Erasing) -> CustomerEvents:
        """Examine a bounded number of the events beyond the request's cursor."""

    async def erased(self, request: Erasing, through: str, count: int, at_ms: int | None) -> None:
        """Move the cursor of a request to `through`. If `at_ms` is given, the request is finished, unless
        it was extended after `request` was read."""


class SettingsStore(Protocol):
    """Settings of workspaces for their customers' portals."""

    async def get(self, workspace: str) -> WorkspaceSettings:
        """Return the present version of a workspace's settings; version 0 if none was written."""

    async def replace(self, settings: WorkspaceSettings, audit: AuditEntry) -> bool:
        """Write the next version of the settings."""


class KnownVersions(Protocol):
    """The versions of destinations and rules that this process has read. The version of a row that this
    process has not read is 0."""

    def destination_version(self, destination: str) -> int:
        """Return the version of the destination that this process has read."""

    def rule_version(self, rule: str) -> int:
        """Return the version of the rule that this process has read."""


class ConfigurationStore(Protocol):
    """All stores of configuration, for the read models."""

    @property
    def tenants(self) -> TenantStore:
        """Workspaces."""

    @property
    def keys(self) -> KeyStore:
        """Keys."""

    @property
    def destinations(self) -> DestinationStore:
        """Destinations."""

    @property
    def rules(self) -> RuleStore:
        """Routing rules."""

    @property
    def schemas(self) -> SchemaStore:
        """Event schemas."""

    @property
    def customers(self) -> CustomerStore:
        """Customers' accounts."""

    @property
    def settings(self) -> SettingsStore:
        """Settings of workspaces."""

    async def load(self, known: KnownVersions | None = None) -> Configuration:
        """Read all rows in one snapshot, except destinations and rules whose present version is known."""


class Projection:
    """The projection of committed changes into read models. This class does nothing: it is for processes
    without read models, such as the command line.
    """

    def tenant(self, tenant: Tenant) -> None:
        """Show a new workspace."""

    def key(self, key: KeyRecord) -> None:
        """Show a key whose secrets have changed."""

    def destination(self, record: DestinationRecord) -> None:
        """Show a new version of a destination."""

    def rule(self, rule: RuleModel) -> None:
        """Show a new version of a rule."""

    def rule_removed(self, rule: str) -> None:
        """Show that a rule was removed."""

    def schema(self, environment: int, event_type: str, active: ActiveSchema | None) -> None:
        """Show the active schema of an event type."""

    def settings(self, settings: WorkspaceSettings) -> None:
        """Show a new version of a workspace's settings."""

    def customer(self, account: CustomerAccount) -> None:
        """Show a new name or new quotas of a customer's account."""
