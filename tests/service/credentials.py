"""All kinds of credentials that a request can carry, with the access that each gives."""

from dataclasses import dataclass

from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from engine.model.read_models import SessionCustomer
from tests.api.house import Caller
from tests.service.house import ServiceHouse
from tests.service.owned import Owner

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Credential:
    """A caller and what its credential allows.

    `scope` is None for an embed session. `valid` is False if the credential is forged, expired or
    revoked. `place` is the workspace and the environment of the credential. `mistaken` means that the
    request names another environment.
    """

    name: str
    caller: Caller
    place: tuple[str, Environment] | None = None
    scope: Scope | None = None
    customer: str | None = None
    valid: bool = True
    unnamed: bool = False  # an MCP key that names no environment
    mistaken: bool = False
    operator: bool = False  # a credential of the installation's first workspace

    def owns(self, owner: Owner) -> bool:
        if self.place != owner.place:
            return False
        return self.customer is None or self.customer == owner.customer


async def open_credentials(house: ServiceHouse, owners: dict[str, Owner]) -> list[Credential]:
    ada, staging, next_door = owners["ada"], owners["ada-in-staging"], owners["ada-next-door"]
    here, there = ada.tenant, next_door.tenant
    dev = Environment.DEVELOPMENT
    first = min(house.server.models.workspaces)

    async def key(
        name: str, tenant: Tenant, scope: Scope, environment: Environment = dev
    ) -> Credential:
        caller = await house.caller(tenant, scope, environment)
        operator = tenant.workspace.id == first
        return Credential(
            name, caller, (tenant.workspace.id, environment), scope, operator=operator
        )

    async def mcp(
        name: str, tenant: Tenant, scope: Scope, environment: Environment | None = dev
    ) -> Credential:
        named = {} if environment is None else {"X-Environment": environment.name}
        caller = await house.caller(tenant, scope, None, **named)
        place = None if environment is None else (tenant.workspace.id, environment)
        operator = tenant.workspace.id == first
        return Credential(
            name, caller, place, scope, unnamed=environment is None, operator=operator
        )

    def embed(
        name: str, owner: Owner, ends_in_ms: int = DAY_MS, *, mistaken: bool = False
    ) -> Credential:
        ends_at_ms = int(house.server.clock.now() * 1000) + ends_in_ms
        assert owner.account is not None
        assert owner.customer is not None
        customer = SessionCustomer(owner.account, owner.customer)
        token = house.server.tokens.sign(owner.number, customer, ends_at_ms)
        named = {"X-Environment": "STAGING"} if mistaken else {}
        return Credential(
            name,
            house.caller_with(token, **named),
            owner.place,
            customer=owner.customer,
            valid=ends_in_ms > 0,
            mistaken=mistaken,
        )

    async def ended(name: str, how: str) -> Credential:
        made = await house.keys.create(here, Scope.MANAGE, dev, "a test's")
        if how == "rotated":
            await house.keys.rotate(made.key.id)
            await house.server.bridge.pool.fetch(
                "UPDATE key_secrets SET expires_at_ms = 1 WHERE key = $1::uuid"
                " AND expires_at_ms IS NOT NULL",
                made.key.id,
            )
            await house.server.loader.changed_all([("key", made.key.id)])
        else:
            await house.keys.revoke(made.key.id)
        return Credential(name, house.caller_with(made.secret), valid=False)

    mistaken = await house.caller(here, X_Environment="STAGING")
    return [
        Credential("none", house.caller_with(None), valid=False),
        Credential("garbage", house.caller_with("garbage"), valid=False),
        Credential("a forged session", house.caller_with("anges_" + "A" * 120), valid=False),
        await ended("a key rotated out", "rotated"),
        await ended("a revoked key", "revoked"),
        embed("an embed session that has expired", ada, -1),
        await key("ingest", here, Scope.INGEST),
        await key("read", here, Scope.READ),
        await key("manage", here, Scope.MANAGE),
        await key("manage of STAGING", here, Scope.MANAGE, Environment.STAGING),
        await key("manage of PRODUCTION", here, Scope.MANAGE, Environment.PRODUCTION),
        await key("manage next door", there, Scope.MANAGE),
        Credential(
            "manage that names another environment",
            mistaken,
            ada.place,
            Scope.MANAGE,
            mistaken=True,
        ),
        await mcp("MCP read", here, Scope.READ),
        await mcp("MCP manage", here, Scope.MANAGE),
        await mcp("MCP manage in STAGING", here, Scope.MANAGE, Environment.STAGING),
        await mcp("MCP manage without an environment", here, Scope.MANAGE, None),
        await mcp("MCP manage next door", there, Scope.MANAGE),
        embed("ada's embed session", ada),
        embed("bob's embed session", owners["bob"]),
        embed("an embed session of ada in STAGING", staging),
        embed("an embed session of ada next door", next_door),
        embed("an embed session that names another environment", ada, mistaken=True),
    ]
