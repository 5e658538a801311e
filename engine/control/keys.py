"""Commands on workspaces and keys: create, list, rotate, revoke, and what the first start makes.

They need no server: the command line runs them on the database while one runs, which hears of it by
notification. Nothing but a digest of a secret is kept; the secret itself is returned once.
"""

import re
import secrets
import string
from collections.abc import Callable, Sequence

from msgspec import Struct

from engine.control.actor import Actor, Auditor
from engine.control.documents import invalid, is_uuid
from engine.control.ports import KeyStore, TenantStore
from engine.control.projection import NoProjection, Projection
from engine.control.records import KeyRecord, KeySecret, Tenant
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.errors import Refusal
from engine.identity import Identity
from engine.models import Workspace, digest_of

PLANS = ("free", "pro", "scale")
PREFIX_OF = {
    Environment.DEVELOPMENT: "ang_dev_",
    Environment.STAGING: "ang_sta_",
    Environment.PRODUCTION: "ang_pro_",
}
MCP_PREFIX = "angmk_"
GRACE_MS = 24 * 3600 * 1000  # that the previous secret lives after a rotation
FIRST_WORKSPACE = "default"
NAME_LENGTH = 256
_ALPHABET = string.ascii_letters + string.digits  # a double click selects it whole
_SECRET_LENGTH = 40  # 238 bits
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ATTEMPTS = 5  # at a key that others change as well


class NewKey(Struct, frozen=True):
    """A key with its secret, which is known now and never again."""

    key: KeyRecord
    secret: str


class Keys:
    """Workspaces and keys, written. In a server the projection shows them at once."""

    def __init__(
        self,
        tenants: TenantStore,
        keys: KeyStore,
        identity: Identity,
        now: Callable[[], float],
        projection: Projection | None = None,
    ) -> None:
        self._tenants = tenants
        self._keys = keys
        self._identity = identity
        self._auditor = Auditor(identity)
        self._now = now
        self._projection = projection or NoProjection()

    # --- workspaces

    async def create_workspace(
        self, name: str, plan: str = "scale", *, actor: str = "CLI"
    ) -> Tenant:
        """Add a workspace with its three environments. Raises Refusal 400, or 409 for a taken name."""
        _check_name(name)
        if plan not in PLANS:
            raise invalid("plan", f"must be one of {', '.join(PLANS)}")
        workspace = Workspace(self._identity.other(), name, plan)
        by = Actor(kind=actor, id=actor.lower(), workspace=workspace.id)
        entry = self._auditor.entry(
            by, "workspace.create", workspace.id, {"name": {"from": None, "to": name}}
        )
        tenant = await self._tenants.create(workspace, entry)
        if tenant is None:
            raise Refusal("conflict", f"there is a workspace named {name!r} already")
        self._projection.tenant(tenant)
        return tenant

    async def workspace(self, name: str) -> Tenant:
        """Return the workspace of that name. Raises Refusal 404."""
        tenant = await self._tenants.find(name)
        if tenant is None:
            raise Refusal("not_found", f"no workspace named {name!r}")
        return tenant

    async def ensure_workspace(self, name: str | None, *, actor: str = "CLI") -> Tenant:
        """Return the workspace of that name, by default the oldest, making it where there is none."""
        if name is None:
            everything = await self._tenants.all()
            if everything:
                return everything[0]
            name = FIRST_WORKSPACE
        known = await self._tenants.find(name)
        if known is not None:
            return known
        try:
            return await self.create_workspace(name, actor=actor)
        except Refusal as refusal:
            if refusal.code != "conflict":
                raise
            return await self.workspace(name)  # somebody else made it just now

    async def workspaces(self) -> list[Tenant]:
        """Return all workspaces, oldest first."""
        return await self._tenants.all()

    # --- keys

    async def create(
        self,
        tenant: Tenant,
        scope: Scope,
        environment: Environment | None,
        name: str,
        *,
        actor: Actor | None = None,
    ) -> NewKey:
        """Add a key of one environment, or an MCP key where that is None. Raises Refusal 400."""
        _check_name(name)
        number = None
        if environment is None:
            if scope is Scope.INGEST:
                raise invalid("scope", "an MCP key has scope read or manage")
        else:
            number = next(e.number for e in tenant.environments if e.name is environment)
        kind = CredentialKind.MCP_KEY if environment is None else CredentialKind.API_KEY
        secret, kept = self._secret(environment)
        key = KeyRecord(
            id=self._identity.other(),
            workspace=tenant.workspace.id,
            environment=number,
            environment_name=environment,
            kind=kind,
            name=name,
            scope=scope,
            version=1,
            secrets=(kept,),
        )
        changes = {
            field: {"from": None, "to": value}
            for field, value in (("name", name), ("scope", scope.name), ("kind", kind.name))
        }
        by = actor or _cli(key)
        await self._keys.create(key, self._auditor.entry(by, "api_key.create", key.id, changes))
        self._projection.key(key)
        return NewKey(key, secret)

    async def list(self, tenant: Tenant) -> Sequence[KeyRecord]:
        """Return a workspace's keys that are not revoked, newest first."""
        keys = await self._keys.of_workspace(tenant.workspace.id)
        return [key for key in keys if key.revoked_at_ms is None]

    async def rotate(self, key_id: str, *, actor: Actor | None = None) -> NewKey:
        """Give a key a new secret; the one in force lives 24 hours more. Raises Refusal 404."""
        for _ in range(_ATTEMPTS):
            key = await self._present(key_id)
            secret, kept = self._secret(key.environment_name)
            by = actor or _cli(key)
            entry = self._auditor.entry(
                by, "api_key.rotate", key.id, previous_fingerprint=key.secrets[0].fingerprint
            )
            if await self._keys.rotate(key, kept, self._now_ms() + GRACE_MS, entry):
                rotated = await self._present(key_id)
                self._projection.key(rotated)
                return NewKey(rotated, secret)
        raise Refusal("conflict", "the key is being changed by others: try again")

    async def revoke(self, key_id: str, *, actor: Actor | None = None) -> None:
        """End a key with all its secrets. Raises Refusal 404 where it is unknown or revoked already."""
        for _ in range(_ATTEMPTS):
            key = await self._present(key_id)
            entry = self._auditor.entry(
                actor or _cli(key),
                "api_key.revoke",
                key.id,
                previous_fingerprint=key.secrets[0].fingerprint,
            )
            if await self._keys.revoke(key, self._now_ms(), entry):
                ended = await self._keys.get(key_id)
                if ended is not None:
                    self._projection.key(ended)
                return
        raise Refusal("conflict", "the key is being changed by others: try again")

    async def bootstrap(self) -> Sequence[NewKey]:
        """Make a workspace and a key per scope for DEVELOPMENT where there is no workspace at all."""
        if await self._tenants.all():
            return []
        try:
            tenant = await self.create_workspace(FIRST_WORKSPACE, "scale", actor="SYSTEM")
        except Refusal as refusal:
            if refusal.code != "conflict":
                raise
            return []  # another process starts on the same database and was first
        environment = next(e for e in tenant.environments if e.name is Environment.DEVELOPMENT)
        by = Actor(
            kind="SYSTEM",
            id="first-start",
            workspace=tenant.workspace.id,
            environment=environment.number,
        )
        return [
            await self.create(
                tenant, scope, Environment.DEVELOPMENT, f"first {scope.name.lower()} key", actor=by
            )
            for scope in Scope
        ]

    async def _present(self, key_id: str) -> KeyRecord:
        key = await self._keys.get(key_id) if is_uuid(key_id) else None
        if key is None or not key.secrets:
            raise Refusal("not_found", "no such key")
        return key

    def _secret(self, environment: Environment | None) -> tuple[str, KeySecret]:
        prefix = MCP_PREFIX if environment is None else PREFIX_OF[environment]
        secret = prefix + "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET_LENGTH))
        digest = digest_of(secret.encode())
        return secret, KeySecret(
            digest=digest,
            prefix=prefix,
            last_four=secret[-4:],
            fingerprint=digest.hex()[:16],
            created_at_ms=self._now_ms(),
        )

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


def _cli(key: KeyRecord) -> Actor:
    return Actor(kind="CLI", id="cli", workspace=key.workspace, environment=key.environment)


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= NAME_LENGTH or _CONTROL.search(name):
        raise invalid(
            "name", f"must be 1-{NAME_LENGTH} characters, none of them control characters"
        )
