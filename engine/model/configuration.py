"""Records of configuration. A record is one immutable version of a row, with secrets in clear."""

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from engine.core.destination import Authentication, SigningKey, Template, Transform
from engine.core.vocabulary import (
    CredentialKind,
    DestinationStatus,
    Environment,
    HttpMethod,
    Ordering,
    Scope,
    SigningAlgorithm,
)
from engine.model.quotas import CustomerAccount, WorkspaceSettings
from engine.model.read_models import ActiveSchema, EnvironmentModel, RuleModel, WorkspaceModel
from engine.model.words import ActorKindName


class Tenant(Struct, frozen=True):
    workspace: WorkspaceModel
    environments: tuple[EnvironmentModel, ...]


class DestinationRecord(Struct, frozen=True, kw_only=True):
    """One version of a destination. `headers` are in clear; `signing` has the current key first."""

    id: str
    environment: int
    version: int
    status: DestinationStatus
    name: str
    description: str | None
    url: str
    customer: str | None
    customer_account: str | None
    headers: tuple[tuple[str, str], ...]
    concurrency: int  # if it adapts: the value for releases that do not know `adapts`
    ordering: Ordering
    timeout_ms: int
    rate_per_second: float | None
    dry_run: bool
    retry_schedule_s: tuple[int, ...]
    algorithm: SigningAlgorithm
    signing: tuple[SigningKey, ...]
    updated_at_ms: int
    adapts: bool = False  # the server adapts the concurrency
    transform: Transform | None = None  # the script that is live
    template: Template | None = None
    method: HttpMethod = HttpMethod.POST
    authentication: Authentication | None = None  # in clear
    disable_after_s: int | None = None
    enabled_version: int = 0  # the last version that enabled the destination
    moved_version: int = 0  # the last version that changed the URL

    def after(self, before: "DestinationRecord") -> "DestinationRecord":
        """Return this version of a destination with its fields `enabled_version` and `moved_version` set.
        `before`: the previous version of the same destination."""
        enabled = self.status is DestinationStatus.ACTIVE and before.status is not self.status
        return replace(
            self,
            enabled_version=self.version if enabled else before.enabled_version,
            moved_version=self.version if self.url != before.url else before.moved_version,
        )


class TransformStatus(Enum):
    """The status of a transform script. The status is not stored. The destination's row names one script:
    this script is PUBLISHED. Any other script that was ever published is SUPERSEDED."""

    DRAFT = "DRAFT"  # was never live
    PUBLISHED = "PUBLISHED"  # every new attempt uses it
    SUPERSEDED = "SUPERSEDED"  # was live


class TransformScript(Struct, frozen=True, kw_only=True):
    """One version of a destination's transform script. Only `status` and `published_at_ms` change."""

    id: str
    environment: int
    destination: str
    customer_account: str | None
    version: int  # from 1, for each destination
    name: str
    source: str
    status: TransformStatus
    published_at_ms: int | None


class TransformPage(Struct, frozen=True):
    """A page of script versions, newest first. `below`: the next page has versions with ids below this
    id. None: this is the last page."""

    items: list[TransformScript]
    below: str | None


class KeySecret(Struct, frozen=True, kw_only=True):
    """The record of one secret of a key. The secret in force has no `expires_at_ms`."""

    digest: bytes
    prefix: str
    last_four: str
    fingerprint: str
    created_at_ms: int
    expires_at_ms: int | None = None


class KeyRecord(Struct, frozen=True, kw_only=True):
    """A key with its secrets, newest first. A revoked key has no secrets."""

    id: str
    workspace: str
    environment: int | None  # None for an MCP key
    environment_name: Environment | None
    kind: CredentialKind
    name: str
    scope: Scope
    version: int
    revoked_at_ms: int | None = None
    last_used_at_ms: int | None = None  # as stored; a process can have seen a later use
    secrets: tuple[KeySecret, ...] = ()


class FilteredRules(Struct, frozen=True, kw_only=True):
    """An environment's rules with a filter, read in one snapshot."""

    rules: int  # with and without a filter
    tally: int  # rises with every write of a rule
    patterns: dict[str, tuple[str, ...]]  # the event types of the requested rules, by rule


class FilterErrors(Struct, frozen=True):
    """The failures of a rule's filter: the number of failures, and the time and message of the last."""

    count: int
    last_at_ms: int
    last_message: str

    def plus(self, later: "FilterErrors | None") -> "FilterErrors":
        """Return the sum of both."""
        if later is None:
            return self
        return FilterErrors(self.count + later.count, later.last_at_ms, later.last_message)


class FilterFailure(Struct, frozen=True):
    """New failures of a rule's filter."""

    environment: int
    rule: str
    filter: str
    errors: FilterErrors


class AuditEntry(Struct, frozen=True, kw_only=True):
    """An entry of the audit log: actor, action and object. `changes` is JSON, without secrets."""

    id: str
    workspace: str
    environment: int | None
    action: str
    object_type: str
    object_id: str
    actor_type: ActorKindName
    actor_id: str
    request_id: str | None = None
    changes: bytes | None = None
    previous_fingerprint: str | None = None


class Configuration(Struct):
    """The rows from which a process makes or refreshes its read models. A destination or rule is left out
    if the read models already have its newest version."""

    tenants: list[Tenant]
    keys: list[KeyRecord]
    destinations: list[DestinationRecord]
    rules: list[RuleModel]
    schemas: list[ActiveSchema]
    settings: list[WorkspaceSettings]
    rule_ids: list[str]  # of all rules that exist
    customers: list[CustomerAccount] = []  # with a name, quotas or permissions
