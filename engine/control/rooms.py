"""The room that a customer's account has left, asked before one of its sessions adds anything."""

from engine.control.actor import Actor
from engine.control.ports import CustomerStore
from engine.model.errors import Refusal
from engine.model.quotas import CustomerTally, Quota
from engine.model.read_models import Models
from engine.plans.limits import limits_of
from engine.plans.plans import Plans

_NOUNS = {
    Quota.DESTINATIONS: "destinations",
    Quota.RULES: "routing rules",
    Quota.TRANSFORMS: "transform scripts",
}


class Rooms:
    """Owner of nothing. Keys of the workspace are not asked: what they add counts, and is not refused."""

    def __init__(self, store: CustomerStore, models: Models, plans: Plans) -> None:
        self._store = store
        self._models = models
        self._plans = plans

    async def of(self, actor: Actor, environment: int, quota: Quota) -> CustomerTally | None:
        """Return the tally at which a session's customer has room for one more, None where a key asks.

        Raises Refusal `plan_limit` where the customer has as many as it may.
        """
        if actor.customer is None:
            return None
        account = actor.customer.account
        plan = self._plans.of_environment(environment)
        limit = limits_of(plan, self._models.quotas_of(account)).of(quota)
        used = await self._store.used(environment, account, max(1, limit))
        if used is None:
            raise Refusal("not_found", "the session's account does not exist")
        if used.of(quota) >= limit:
            raise Refusal("plan_limit", f"your account has at most {limit} {_NOUNS[quota]}")
        return CustomerTally(account, used.tally)

    async def is_past(self, environment: int, tally: CustomerTally | None) -> bool:
        """Return True if the account has changed since `tally`: the decision must be made again."""
        if tally is None:
            return False
        used = await self._store.used(environment, tally.account, 1)
        return used is not None and used.tally != tally.tally
