"""The limits that a customer's sessions act by: the account's own quotas, and its workspace's plan."""

from msgspec import Struct

from engine.model.quotas import Quota, Quotas
from engine.plans.plans import Plan

# A plan's default quota is at most one part in so many of what the plan gives to all: one customer must
# never use up what the workspace and its other customers share.
SHARED_PART = 2


class Limits(Struct, frozen=True):
    """The limits that an account's sessions act by."""

    destinations: int
    rules: int
    transforms: int
    requests_per_minute: int

    def of(self, quota: Quota) -> int:
        """Return one of them."""
        number: int = getattr(self, quota.value)
        return number


def limits_of(plan: Plan, quotas: Quotas) -> Limits:
    """Return the limits of an account: its own quotas, else its plan's, and never more than the plan."""
    return Limits(
        destinations=_limit(quotas.destinations, plan.customer_destinations, plan.destinations),
        rules=_limit(quotas.rules, plan.customer_rules, plan.rules),
        transforms=_limit(quotas.transforms, plan.customer_transforms, plan.transforms),
        requests_per_minute=min(
            plan.control_per_minute,
            plan.customer_per_minute
            if quotas.requests_per_minute is None
            else quotas.requests_per_minute,
        ),
    )


def _limit(own: int | None, default: int, plan: int) -> int:
    if own is not None:
        return min(own, plan)
    return min(default, -(-plan // SHARED_PART))
