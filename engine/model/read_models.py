"""The read models of the hot path: credentials, configuration and routes, all in memory.

One owner: the trio thread. Every entry is an immutable version of a row. A process that writes a row
replaces the entry after the commit, before it answers the request. Other processes are notified of the
write, and then replace their own entries. Nothing here awaits.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

from msgspec import Struct

from engine.core.destination import Destination
from engine.core.pattern_index import PatternIndex
from engine.core.split_table import SplitTable
from engine.core.vocabulary import CredentialKind, Environment, Priority, Scope
from engine.model.quotas import CustomerAccount, Quotas, WorkspaceSettings

NO_QUOTAS = Quotas()


class WorkspaceModel(Struct, frozen=True):
    """A tenant. `plan` is `free`, `pro` or `scale`."""

    id: str
    name: str
    plan: str


class EnvironmentModel(Struct, frozen=True):
    """One environment of a workspace. The primary keys of an environment's rows begin with the
    environment's `number`."""

    number: int
    workspace: str
    name: Environment


class SessionCustomer(Struct, frozen=True):
    """The customer's account that an embed session acts for, in one environment."""

    account: str
    external_id: str


class Credential(Struct, frozen=True, kw_only=True):
    """The rights that a secret gives. `environment` is None for an MCP key. `customer` is set for an
    embed session, which sees only that customer's rows."""

    kind: CredentialKind
    key_id: str
    workspace: str
    environment: EnvironmentModel | None
    scope: Scope
    expires_at: float | None = None  # of this secret, in seconds since the epoch
    customer: SessionCustomer | None = None
    session: bytes = b""  # the nonce of the console session that the rights came through
    code: bool = False  # a login code, which can only open a console session


class RuleModel(Struct, frozen=True, kw_only=True):
    """A routing rule. `event_types` are patterns. A `*` in a pattern matches one segment. At the end of a
    pattern, `*` matches one or more segments. `filter` is CEL source, checked when a rule is written."""

    id: str
    environment: int
    destination: str
    name: str
    event_types: tuple[str, ...]
    priority: Priority
    enabled: bool
    created_at_ms: int
    updated_at_ms: int
    version: int = 1
    filter: str | None = None


class PayloadCheck(Protocol):
    """The active schema of an event type, as a check of payloads."""

    def check(self, payload: bytes, pause: Callable[[], None] = ...) -> None:
        """Raise Refusal `schema_violation` if a payload (JSON as received) does not match the schema.

        The check calls `pause` between steps of long work.
        """


def digest_of(secret: bytes) -> bytes:
    """Return the digest of a secret that is stored: its SHA-256."""
    return hashlib.sha256(secret).digest()


class Models:
    """All read models of this process."""

    def __init__(self) -> None:
        self.workspaces: dict[str, WorkspaceModel] = {}
        self.environments: dict[int, EnvironmentModel] = {}
        # Two large tables, in a form that never grows in one long step.
        self.destinations: SplitTable[Destination] = SplitTable()
        self.rules: SplitTable[RuleModel] = SplitTable()
        self._environment_of: dict[tuple[str, Environment], EnvironmentModel] = {}
        self._credentials: dict[bytes, Credential] = {}
        self._digests_of: dict[str, tuple[bytes, ...]] = {}
        # An environment's rules, in one index for each customer (the customer of the rule's destination).
        # The rules in a customer's index can match only this customer's events. The rules in the index
        # for no customer (None) can match all events.
        self._indexes: dict[int, dict[str | None, PatternIndex[RuleModel]]] = {}
        # The rules whose destination is not known yet, by the destination's id. These rules are in no
        # index, because a rule's index depends on the destination's customer.
        self._unplaced: dict[str, dict[str, RuleModel]] = {}
        self._destinations_of: defaultdict[int, SplitTable[Destination]] = defaultdict(SplitTable)
        self._routing_versions: dict[tuple[int, str | None], int] = {}
        self._checks: dict[tuple[int, str], PayloadCheck] = {}
        self._settings: dict[str, WorkspaceSettings] = {}
        self._listed: Counter[bytes] = Counter()  # how many workspaces list each origin
        self._customers: dict[str, CustomerAccount] = {}

    # --- workspaces and environments

    def put_workspace(
        self, workspace: WorkspaceModel, environments: Iterable[EnvironmentModel]
    ) -> None:
        self.workspaces[workspace.id] = workspace
        for environment in environments:
            self.environments[environment.number] = environment
            self._environment_of[workspace.id, environment.name] = environment

    def environment_of(self, workspace: str, name: Environment) -> EnvironmentModel | None:
        return self._environment_of.get((workspace, name))

    def workspace_of(self, environment: int) -> str | None:
        found = self.environments.get(environment)
        return None if found is None else found.workspace

    # --- workspaces' settings for their customers' portals

    def put_settings(self, settings: WorkspaceSettings) -> None:
        """Add or replace a workspace's settings. Settings with an older version are ignored."""
        present = self.settings_of(settings.workspace)
        if present.version > settings.version:
            return
        self._settings[settings.workspace] = settings
        self._listed.update(origin.encode() for origin in settings.origins)
        for origin in map(str.encode, present.origins):
            self._listed[origin] -= 1
            if not self._listed[origin]:
                del self._listed[origin]

    def settings_of(self, workspace: str) -> WorkspaceSettings:
        """Return a workspace's settings. Return the defaults if the workspace has no settings."""
        return self._settings.get(workspace) or WorkspaceSettings(workspace=workspace)

    def settings_for(self, workspace: str, account: str) -> WorkspaceSettings:
        settings, known = self.settings_of(workspace), self._customers.get(account)
        return settings if known is None else settings.for_customer(known.permissions)

    def is_listed(self, origin: bytes) -> bool:
        """Return True if any workspace lists an origin."""
        return origin in self._listed

    def put_customer(self, account: CustomerAccount) -> None:
        """Add or replace an account; an older version is ignored."""
        present = self._customers.get(account.id)
        if present is None or present.version < account.version:
            self._customers[account.id] = account

    def quotas_of(self, account: str) -> Quotas:
        known = self._customers.get(account)
        return NO_QUOTAS if known is None else known.quotas

    # --- credentials

    def put_key(self, key_id: str, secrets: dict[bytes, Credential]) -> None:
        """Replace all secrets of a key. `secrets`: the credential of each secret, by the secret's digest.
        If `secrets` is empty, the key is removed."""
        for digest in self._digests_of.pop(key_id, ()):
            self._credentials.pop(digest, None)
        if secrets:
            self._credentials.update(secrets)
            self._digests_of[key_id] = tuple(secrets)

    def has_key(self, key_id: str) -> bool:
        """Return True if a key has a secret."""
        return key_id in self._digests_of

    def credential_of(self, key_id: str, now: float) -> Credential | None:
        """Return the credential of a key. If the key has several secrets, return the credential of the
        secret that expires last. Return None if the key has no valid secret."""
        known = [self._credentials[digest] for digest in self._digests_of.get(key_id, ())]
        known.sort(key=lambda each: math.inf if each.expires_at is None else each.expires_at)
        if not known or (known[-1].expires_at or math.inf) <= now:
            return None
        return known[-1]

    def credential_by_digest(self, digest: bytes, now: float) -> Credential | None:
        credential = self._credentials.get(digest)
        if credential is None:
            return None
        if credential.expires_at is not None and credential.expires_at <= now:
            return None
        return credential

    # --- destinations and rules

    def put_destination(self, destination: Destination) -> None:
        """Add or replace a destination. An older version of the destination is ignored."""
        present = self.destinations.get(destination.id)
        if present is not None and present.version > destination.version:
            return
        self.destinations.put(destination.id, destination)
        self._destinations_of[destination.environment].put(destination.id, destination)
        for rule in self._unplaced.pop(destination.id, {}).values():
            self._place(rule, destination)
        self._reroute(destination.environment, destination.customer)

    def put_rule(self, rule: RuleModel) -> None:
        """Add or replace a rule."""
        present = self.rules.get(rule.id)
        if present is not None and present.destination != rule.destination:
            self._displace(present)
        self.rules.put(rule.id, rule)
        destination = self.destinations.get(rule.destination)
        if destination is None:
            self._unplaced.setdefault(rule.destination, {})[rule.id] = rule
        else:
            self._place(rule, destination)

    def remove_rule(self, rule_id: str) -> None:
        """Remove a rule. Do nothing if the rule is unknown."""
        rule = self.rules.pop(rule_id)
        if rule is not None:
            self._displace(rule)

    def _place(self, rule: RuleModel, destination: Destination) -> None:
        """The customer of a rule's destination never changes."""
        indexes = self._indexes.setdefault(rule.environment, {})
        index = indexes.get(destination.customer)
        if index is None:
            index = indexes[destination.customer] = PatternIndex()
        index.put(rule.id, rule.event_types, rule)
        self._reroute(rule.environment, destination.customer)

    def _displace(self, rule: RuleModel) -> None:
        destination = self.destinations.get(rule.destination)
        if destination is None:
            unplaced = self._unplaced[rule.destination]
            del unplaced[rule.id]
            if not unplaced:
                del self._unplaced[rule.destination]
            return
        indexes = self._indexes[rule.environment]
        index = indexes[destination.customer]
        index.remove(rule.id)
        if not index:
            del indexes[destination.customer]
        self._reroute(rule.environment, destination.customer)

    # --- schemas

    def put_check(self, environment: int, event_type: str, check: PayloadCheck | None) -> None:
        """Set the check for payloads of an event type. `check` None: the payloads are not checked."""
        if check is None:
            self._checks.pop((environment, event_type), None)
        else:
            self._checks[environment, event_type] = check
        self._reroute(environment)

    def check_of(self, environment: int, event_type: str) -> PayloadCheck | None:
        return self._checks.get((environment, event_type))

    # --- the parts of routes

    def index_of(self, environment: int, customer: str | None) -> PatternIndex[RuleModel] | None:
        """Return the rules for the destinations of `customer`. With `customer` None, return the rules for
        the destinations that have no customer. The result is None if there is no such rule."""
        indexes = self._indexes.get(environment)
        return None if indexes is None else indexes.get(customer)

    def indexes_of(self, environment: int) -> Collection[PatternIndex[RuleModel]]:
        """Return all rules of an environment, in one index per customer and one for no customer."""
        return self._indexes.get(environment, {}).values()

    def destinations_of(self, environment: int) -> Iterator[Destination]:
        """Yield all destinations of an environment, also archived destinations. The caller can await
        between two destinations, even if other tasks add or replace destinations during the wait."""
        of = self._destinations_of
        return of[environment].values() if environment in of else iter(())

    def routing_version(self, environment: int, customer: str | None = None) -> int:
        """Return a number that rises whenever an environment's routes to the destinations of `customer`
        change. With `customer` None, the number is for the destinations that have no customer."""
        return self._routing_versions.get((environment, customer), 0)

    def _reroute(self, environment: int, customer: str | None = None) -> None:
        key = (environment, customer)
        self._routing_versions[key] = self._routing_versions.get(key, 0) + 1


class ActiveSchema(Struct, frozen=True, gc=False):
    """The active schema version of an event type, with the fields that the hot path needs."""

    id: str
    environment: int
    event_type: str
    weight: int
    document: bytes
