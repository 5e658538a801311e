"""Commands on customers' accounts (name, quotas, permissions), and the check of their quotas."""

from typing import Annotated, Any

from msgspec import structs
from pydantic import Field

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.ports import CustomerStore
from engine.control.views import permissions_document, quotas_document
from engine.control.writer import ConfigurationWriter
from engine.drafts import Document, Name, NullIs
from engine.model.errors import Refusal
from engine.model.quotas import Ability, CustomerAccount, CustomerTally, Quota, Quotas
from engine.model.read_models import Models
from engine.plans.plans import Plans, limits_of

MOST = 1_000_000  # the largest quota: no plan has more, and rows are counted up to the quota

Count = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Rate = Annotated[int, Field(strict=True, ge=1, le=MOST)]
_NOUNS = {
    Quota.DESTINATIONS: "destinations",
    Quota.RULES: "routing rules",
    Quota.TRANSFORMS: "transform scripts",
}


class QuotasDraft(Document):
    """The quotas of a customer's account. Null: the quota of the workspace's plan."""

    destinations: Count | None = Field(None, description="Destinations, without archived ones.")
    rules: Count | None = Field(None, description="Routing rules of the customer's destinations.")
    transforms: Count | None = Field(
        None, description="Transform scripts of the customer's destinations."
    )
    requests_per_minute: Rate | None = Field(
        None, description="Requests of all the customer's sessions together."
    )


class PermissionsDraft(Document):
    """The permissions of one customer's sessions. If a permission is null, the permission of the same
    name in the workspace setting `customerMay` applies."""

    # one field for each Ability, by its name

    create_destinations: bool | None = None
    edit_destinations: bool | None = None
    switch_destinations: bool | None = None
    archive_destinations: bool | None = None
    test_destinations: bool | None = None
    edit_headers: bool | None = None
    edit_delivery_options: bool | None = None
    rotate_secrets: bool | None = None
    manage_rules: bool | None = None
    manage_transforms: bool | None = None
    retry_deliveries: bool | None = None
    discard_deliveries: bool | None = None
    replay: bool | None = None
    view_payloads: bool | None = None


class CustomerDraft(Document):
    """The name, quotas and permissions of a customer's account. A PUT replaces all of them: a missing
    field gets its default."""

    name: Name | None = Field(
        None, description="A name for people. Null: the customerExternalId is shown."
    )
    quotas: Annotated[QuotasDraft, NullIs({})] = Field(default_factory=QuotasDraft)
    permissions: Annotated[PermissionsDraft, NullIs({})] = Field(default_factory=PermissionsDraft)


class CustomerCommands:
    """Writes the names, quotas and permissions of all customers' accounts."""

    def __init__(self, store: CustomerStore, writer: ConfigurationWriter) -> None:
        self._store = store
        self._writer = writer

    async def get(self, environment: int, external_id: str) -> CustomerAccount:
        """Return an account. Raises Refusal 404."""
        account = await self._store.get(environment, external_id)
        if account is None:
            raise Refusal("not_found", "no such customer")
        return account

    async def replace(
        self, principal: Principal, environment: int, external_id: str, draft: CustomerDraft
    ) -> CustomerAccount:
        """Write an account's name, quotas and permissions. Raises Refusal 404."""
        given = draft.quotas
        own = draft.permissions.model_dump(by_alias=True)
        permissions = {each: own[each.value] for each in Ability if own[each.value] is not None}
        quotas = Quotas(
            destinations=given.destinations,
            rules=given.rules,
            transforms=given.transforms,
            requests_per_minute=given.requests_per_minute,
        )

        async def attempt() -> CustomerAccount | None:
            present = await self.get(environment, external_id)
            following = structs.replace(
                present, name=draft.name, quotas=quotas, permissions=permissions
            )
            if following == present:
                return present
            following = structs.replace(following, version=present.version + 1)
            shown = differences(_audited(present), _audited(following))
            entry = self._writer.entry(principal, "customer.update", present.id, shown)
            if not await written(self._store.replace(following, self._writer.now_ms(), entry)):
                return None
            self._writer.projection.customer(following)
            return following

        return await self._writer.command("the customer's account", attempt)


def _audited(account: CustomerAccount) -> dict[str, Any]:
    return {
        "name": account.name,
        "quotas": quotas_document(account.quotas),
        "permissions": permissions_document(account.permissions),
    }


class QuotaCheck:
    """The check of customers' quotas. All rows of a customer count towards the quota. When the quota is
    used up, the customer's sessions can add no rows, but the workspace's keys still can."""

    def __init__(self, store: CustomerStore, models: Models, plans: Plans) -> None:
        self._store = store
        self._models = models
        self._plans = plans

    async def tally(
        self, principal: Principal, environment: int, quota: Quota
    ) -> CustomerTally | None:
        """If the principal is a customer's session, check that the customer can add one more row, such as
        a destination. Return the account's tally: the counter that rises with each row that a session
        of the customer adds. If the principal is anything else, check nothing, and return None.

        Raises Refusal `plan_limit` if the quota is used up, and 404 for an unknown account.
        """
        if principal.customer is None:
            return None
        account = principal.customer.account
        plan = self._plans.of_environment(environment)
        limit = limits_of(plan, self._models.quotas_of(account)).of(quota)
        used = await self._store.used(environment, account, max(1, limit))
        if used is None:
            raise Refusal("not_found", "the session's account does not exist: open a new session")
        if used.of(quota) >= limit:
            raise Refusal("plan_limit", f"your account has at most {limit} {_NOUNS[quota]}")
        return CustomerTally(account, used.tally)

    async def is_past(self, environment: int, tally: CustomerTally | None) -> bool:
        """Return True if the account's tally has changed since `tally` was read: another session of the
        customer has added a row."""
        if tally is None:
            return False
        used = await self._store.used(environment, tally.account, 1)
        return used is not None and used.tally != tally.tally
