"""Commands on workspaces and keys. On the first start, a command makes a workspace and its first keys.

The database keeps only the digest of a secret. The secret itself is returned once.
"""

import re
import secrets
import string
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.ports import KeyStore, TenantStore
from engine.control.writer import ConfigurationWriter
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.model.announcements import Announce, silent
from engine.model.configuration import AuditEntry, KeyRecord, KeySecret, Tenant
from engine.model.documents import invalid, is_uuid
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.read_models import EnvironmentModel, WorkspaceModel, digest_of
from engine.model.words import ActorKindName
from engine.plans.plans import BUILT_IN
from engine.ports import StoreError

PREFIX_OF = {
    Environment.DEVELOPMENT: "ang_dev_",
    Environment.STAGING: "ang_sta_",
    Environment.PRODUCTION: "ang_pro_",
}
MCP_PREFIX = "angmk_"
ROTATED = "angarium.key.rotated"
GRACE_MS = 24 * 3600 * 1000  # how long the previous secret stays valid after a rotation
FIRST_WORKSPACE = "default"
NAME_LENGTH = 256
_ALPHABET = string.ascii_letters + string.digits  # a double click selects the whole secret
_SECRET_LENGTH = 40  # 238 bits
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
MAX_KEYS = 1_000  # of an environment, and MCP keys of a workspace: all are held in memory
MAX_SECRETS = 10  # of a key at once: only a faulty loop rotates more often in a day


class NewKey(Struct, frozen=True):
    """A key with its secret."""

    key: KeyRecord
    secret: str


class Reach(Struct, frozen=True):
    """The keys that a caller can see: the keys of one environment and, if `mcp` is True, the MCP keys of
    the workspace."""

    workspace: str
    environment: int
    mcp: bool


class KeyCommands:
    """Writes workspaces and keys, and updates the read models if the process is a server."""

    def __init__(
        self,
        tenants: TenantStore,
        keys: KeyStore,
        writer: ConfigurationWriter,
        announce: Announce = silent,
        plans: Collection[str] = tuple(BUILT_IN),
    ) -> None:
        self._tenants = tenants
        self._keys = keys
        self._writer = writer
        self._announce = announce
        self._plans = plans

    async def create_workspace(
        self, name: str, plan: str = "scale", *, kind: ActorKindName = "CLI"
    ) -> Tenant:
        """Add a workspace with its three environments. Raises Refusal 400, or 409 for a taken name."""
        _check_name(name)
        if plan not in self._plans:
            raise invalid("plan", f"must be one of {', '.join(self._plans)}")
        workspace = WorkspaceModel(self._writer.new_id(), name, plan)
        by = Principal(kind=kind, id=kind.lower(), workspace=workspace.id)
        changes = differences({}, {"name": name, "plan": plan})
        entry = self._writer.entry(by, "workspace.create", workspace.id, changes)
        tenant = await self._tenants.create(workspace, entry)
        if tenant is None:
            raise Refusal("conflict", f"there is a workspace named {name!r} already")
        self._writer.projection.tenant(tenant)
        return tenant

    async def set_plan(self, name: str, plan: str) -> Tenant:
        """Put a workspace on another plan. Raises Refusal 400, or 404 for an unknown workspace."""
        if plan not in self._plans:
            raise invalid("plan", f"must be one of {', '.join(self._plans)}")

        async def attempt() -> Tenant | None:
            workspace = (await self.workspace(name)).workspace
            if workspace.plan != plan:
                by = Principal(kind="CLI", id="cli", workspace=workspace.id)
                changes = differences({"plan": workspace.plan}, {"plan": plan})
                entry = self._writer.entry(by, "workspace.set_plan", workspace.id, changes)
                if not await self._tenants.set_plan(workspace, plan, entry):
                    return None
            tenant = await self.workspace(name)
            self._writer.projection.tenant(tenant)
            return tenant

        return await self._writer.attempts("the workspace", attempt)

    async def workspace(self, name: str) -> Tenant:
        """Return the workspace of that name. Raises Refusal 404."""
        tenant = await self._tenants.find(name)
        if tenant is None:
            raise Refusal("not_found", f"no workspace named {name!r}")
        return tenant

    async def ensure_workspace(self, name: str | None, *, kind: ActorKindName = "CLI") -> Tenant:
        """Return the workspace named `name`. If `name` is None, return the oldest workspace. A workspace
        that does not exist is created."""
        if name is None:
            everything = await self._tenants.all()
            if everything:
                return everything[0]
            name = FIRST_WORKSPACE
        known = await self._tenants.find(name)
        if known is not None:
            return known
        try:
            return await self.create_workspace(name, kind=kind)
        except Refusal as refusal:
            if refusal.code != "conflict":
                raise
            return await self.workspace(name)  # another process made it just now

    async def workspaces(self) -> list[Tenant]:
        """Return all workspaces, oldest first."""
        return await self._tenants.all()

    async def create(
        self,
        tenant: Tenant,
        scope: Scope,
        environment: Environment | None,
        name: str,
        *,
        principal: Principal | None = None,
    ) -> NewKey:
        """Add a key of one environment, or an MCP key if `environment` is None. Raises Refusal 400."""
        place = next((e for e in tenant.environments if e.name is environment), None)
        return await self.create_in(tenant.workspace.id, scope, place, name, principal=principal)

    async def create_in(
        self,
        workspace: str,
        scope: Scope,
        environment: EnvironmentModel | None,
        name: str,
        *,
        principal: Principal | None = None,
    ) -> NewKey:
        """Add a key as `create` does. `workspace` is the id of the workspace."""
        _check_name(name)
        if environment is None and scope is Scope.INGEST:
            raise invalid("scope", "an MCP key has scope read or manage")
        environment_name = None if environment is None else environment.name
        secret, kept = self._secret(environment_name)
        key = KeyRecord(
            id=self._writer.new_id(),
            workspace=workspace,
            environment=None if environment is None else environment.number,
            environment_name=environment_name,
            kind=CredentialKind.MCP_KEY if environment is None else CredentialKind.API_KEY,
            name=name,
            scope=scope,
            version=1,
            secrets=(kept,),
        )
        entry = self._entry(principal, "create", key, differences({}, key_document(key)))
        if not await written(self._keys.create(key, MAX_KEYS, entry)):
            raise Refusal(
                "invalid_request", f"an environment has at most {MAX_KEYS} keys: revoke one first"
            )
        self._writer.projection.key(key)
        return NewKey(key, secret)

    async def list(self, tenant: Tenant) -> Sequence[KeyRecord]:
        """Return a workspace's keys that are not revoked, newest first."""
        keys = await self._keys.of_workspace(tenant.workspace.id)
        return [key for key in keys if key.revoked_at_ms is None]

    async def strongest(self) -> KeyRecord | None:
        """Return the key with the most rights in the oldest workspace. Return None if that workspace has
        no key that can read."""
        tenants = await self._tenants.all()
        keys = await self.list(tenants[0]) if tenants else ()
        able = [key for key in keys if key.secrets and key.scope is not Scope.INGEST]
        return max(
            able, key=lambda key: (key.scope, key.kind is CredentialKind.MCP_KEY), default=None
        )

    async def page(self, reach: Reach, before: str | None, limit: int) -> Sequence[KeyRecord]:
        """Return the keys that a caller can see, with an id below `before`, newest first."""
        return await self._keys.page(
            reach.workspace, reach.environment, before, limit, mcp=reach.mcp
        )

    async def rotate(
        self, key_id: str, *, principal: Principal | None = None, reach: Reach | None = None
    ) -> NewKey:
        """Give a key a new secret; the present secret stays valid for 24 hours.

        Raises Refusal 404, also for a key outside of `reach`, and 409 after too many rotations.
        """

        async def attempt() -> NewKey | None:
            key = await self._present(key_id, reach)
            following, secret = self._rotated(key)
            changes = differences(key_document(key), key_document(following))
            entry = self._entry(principal, "rotate", key, changes, key.secrets[0].fingerprint)
            kept, retired = following.secrets[:2]
            ends_at_ms = retired.expires_at_ms or kept.created_at_ms
            if not await written(self._keys.rotate(key, kept, ends_at_ms, entry)):
                return None
            self._writer.projection.key(following)
            await self._announce_rotated(following)
            return NewKey(following, secret)

        return await self._writer.attempts("the key", attempt)

    async def revoke(
        self, key_id: str, *, principal: Principal | None = None, reach: Reach | None = None
    ) -> None:
        """End a key with all its secrets. Raises Refusal 404 if the key is unknown or already revoked."""

        async def attempt() -> bool | None:
            key = await self._present(key_id, reach)
            changes = differences(key_document(key), {})
            entry = self._entry(principal, "revoke", key, changes, key.secrets[0].fingerprint)
            now_ms = self._writer.now_ms()
            if not await written(self._keys.revoke(key, now_ms, entry)):
                return None
            ended = msgspec.structs.replace(key, secrets=(), revoked_at_ms=now_ms)
            self._writer.projection.key(ended)
            return True

        await self._writer.attempts("the key", attempt)

    async def bootstrap(self, scopes: Iterable[Scope] = Scope) -> Sequence[NewKey]:
        """If there is no workspace, make a workspace. Add one key for each scope to the new workspace's
        environment DEVELOPMENT, and return these keys."""
        if await self._tenants.all():
            return []
        try:
            tenant = await self.create_workspace(FIRST_WORKSPACE, "scale", kind="SYSTEM")
        except Refusal as refusal:
            if refusal.code != "conflict":
                raise
            return []  # another process starts on the same database and was first
        environment = next(e for e in tenant.environments if e.name is Environment.DEVELOPMENT)
        by = Principal(
            kind="SYSTEM",
            id="first-start",
            workspace=tenant.workspace.id,
            environment=environment.number,
        )
        return [
            await self.create(
                tenant,
                scope,
                Environment.DEVELOPMENT,
                f"first {scope.name.lower()} key",
                principal=by,
            )
            for scope in scopes
        ]

    async def _present(self, key_id: str, reach: Reach | None = None) -> KeyRecord:
        key = await self._found(key_id, reach) if is_uuid(key_id) else None
        if key is None or not key.secrets:
            raise Refusal("not_found", "no such key")
        return key

    async def _found(self, key_id: str, reach: Reach | None) -> KeyRecord | None:
        if reach is None:
            return await self._keys.get(key_id)
        return await self._keys.reached(key_id, reach.workspace, reach.environment, mcp=reach.mcp)

    def _entry(
        self,
        principal: Principal | None,
        action: str,
        key: KeyRecord,
        changes: Mapping[str, Any],
        previous: str | None = None,
    ) -> AuditEntry:
        by = principal or Principal(kind="CLI", id="cli", workspace=key.workspace)
        by = msgspec.structs.replace(by, environment=key.environment)
        return self._writer.entry(by, f"api_key.{action}", key.id, changes, previous)

    def _rotated(self, key: KeyRecord) -> tuple[KeyRecord, str]:
        now_ms = self._writer.now_ms()
        secret, kept = self._secret(key.environment_name)
        retired = msgspec.structs.replace(key.secrets[0], expires_at_ms=now_ms + GRACE_MS)
        earlier = [each for each in key.secrets[1:] if (each.expires_at_ms or 0) > now_ms]
        if 2 + len(earlier) > MAX_SECRETS:
            raise Refusal(
                "conflict",
                f"the key was rotated {MAX_SECRETS - 1} times within 24 hours: wait for one to end",
            )
        kept_all = (kept, retired, *earlier)
        return msgspec.structs.replace(key, version=key.version + 1, secrets=kept_all), secret

    async def _announce_rotated(self, key: KeyRecord) -> None:
        retired = key.secrets[1]
        payload = {
            **key_document(key),
            "keyId": key.id,
            "previousFingerprint": retired.fingerprint,
            "previousExpiresAt": iso(retired.expires_at_ms or 0),
        }
        for environment in await self._environments(key):
            self._announce(environment, ROTATED, payload)

    async def _environments(self, key: KeyRecord) -> Sequence[int]:
        if key.environment is not None:
            return [key.environment]
        try:
            tenant = await self._tenants.get(key.workspace)
        except StoreError:
            return []  # the key is rotated already, and the caller must get its secret
        return [] if tenant is None else [each.number for each in tenant.environments]

    def _secret(self, environment: Environment | None) -> tuple[str, KeySecret]:
        prefix = MCP_PREFIX if environment is None else PREFIX_OF[environment]
        secret = prefix + "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
        digest = digest_of(secret.encode())
        return secret, KeySecret(
            digest=digest,
            prefix=prefix,
            last_four=secret[-4:],
            fingerprint=digest.hex()[:16],
            created_at_ms=self._writer.now_ms(),
        )


def key_document(key: KeyRecord) -> dict[str, Any]:
    """Return a key without its secrets, as the audit log and announcements show it."""
    return {
        "kind": key.kind.name,
        "name": key.name,
        "scope": key.scope.name.lower(),
        "environment": None if key.environment_name is None else key.environment_name.name,
        "fingerprint": key.secrets[0].fingerprint,
    }


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= NAME_LENGTH or _CONTROL.search(name):
        raise invalid(
            "name", f"must be 1-{NAME_LENGTH} characters, none of them control characters"
        )
