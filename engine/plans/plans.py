"""Plans: the limits of a workspace and of its customers, as data. Other modules enforce the limits."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import structlog
from msgspec import Struct, structs

from engine.model.quotas import Quota, Quotas
from engine.model.read_models import Models

FALLBACK = "free"  # for a workspace whose plan is no longer defined
FIRST = "scale"  # for the first workspace, and for callers that are not known yet
DAY_MS = 86_400_000
CUSTOMER_PART = 10  # one customer gets a tenth of a `control_per_minute` that the settings give

log = structlog.get_logger("angarium.plans")
# A customer's default quota is at most a half of the plan's limit for the workspace, rounded up.
# Otherwise one customer could use up the limit, and leave nothing for the workspace's other customers.
SHARED_PART = 2


class Plan(Struct, frozen=True, kw_only=True):
    """The limits of a plan. Names are unique, and the built-in plans always exist."""

    name: str
    control_per_minute: int  # requests of the workspace to the control plane
    ingest_per_minute: int  # requests that send events
    transforms: int  # transform scripts of the workspace
    destinations: int  # of one environment, without archived ones
    rules: int  # routing rules of one environment
    retention_days: int  # for which events and deliveries are shown
    # Limits of each customer's account, unless the account has its own quota (`engine.model.quotas`).
    customer_destinations: int = 20
    customer_rules: int = 100
    customer_transforms: int = 20
    customer_per_minute: int = 120  # requests of all embed sessions of the customer


# Retention: the default retry schedule takes 76 hours, after which a delivery that always failed is dead.
# With the 7 days of `free`, some days remain to examine the dead delivery, even over a weekend. `scale`
# has 30 days, because the longest period of analytics has 30 days.
#
# Destinations: `free` has enough for a company's own systems, and `pro` has enough for the company's
# customers. `scale` has as many as a server can load within seconds when it starts.
BUILT_IN: Mapping[str, Plan] = MappingProxyType(
    {
        plan.name: plan
        for plan in (
            Plan(
                name="free",
                control_per_minute=120,
                ingest_per_minute=6_000,
                transforms=0,
                destinations=20,
                rules=200,
                retention_days=7,
            ),
            Plan(
                name="pro",
                control_per_minute=1_200,
                ingest_per_minute=600_000,
                transforms=10,
                destinations=1_000,
                rules=20_000,
                retention_days=14,
            ),
            Plan(
                name="scale",
                control_per_minute=12_000,
                ingest_per_minute=60_000_000,
                transforms=1_000,
                destinations=100_000,
                rules=1_000_000,
                retention_days=30,
                customer_per_minute=1_200,
            ),
        )
    }
)


def overridden(
    plans: Mapping[str, Plan],
    control_per_minute: int | None = None,
    ingest_per_minute: int | None = None,
    retention_days: int | None = None,
) -> Mapping[str, Plan]:
    """Return the plans with some limits replaced. The settings give these limits for all plans. A limit
    that is None is not replaced. If `control_per_minute` is given, the plans' `customer_per_minute` is
    replaced too: by a tenth of `control_per_minute`.
    """
    given = {
        "control_per_minute": control_per_minute,
        "ingest_per_minute": ingest_per_minute,
        "retention_days": retention_days,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if control_per_minute is not None:
        changes["customer_per_minute"] = max(1, control_per_minute // CUSTOMER_PART)
    return {name: structs.replace(plan, **changes) for name, plan in plans.items()}


class Plans:
    """The plans of workspaces."""

    def __init__(self, models: Models, plans: Mapping[str, Plan] = BUILT_IN) -> None:
        self._models = models
        self._plans = dict(plans)
        self._fallback = plans[FALLBACK]
        self._logged: set[tuple[str, str]] = set()  # (workspace, plan) that were logged as unknown
        self.first = plans[FIRST]

    def of(self, workspace: str) -> Plan:
        """Return a workspace's plan, or the plan `FALLBACK` if the workspace's plan is not defined."""
        known = self._models.workspaces.get(workspace)
        if known is None:
            return self._fallback
        plan = self._plans.get(known.plan)
        if plan is None:
            return self._unknown(workspace, known.plan)
        return plan

    def of_environment(self, environment: int) -> Plan:
        """Return the plan of an environment's workspace."""
        known = self._models.environments.get(environment)
        return self._fallback if known is None else self.of(known.workspace)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._plans)

    @property
    def longest_retention_days(self) -> int:
        """The number of days for which every workspace's log must be kept. It is the longest retention of
        all plans, because any workspace can change to that plan."""
        return max(plan.retention_days for plan in self._plans.values())

    def _unknown(self, workspace: str, name: str) -> Plan:
        if (workspace, name) not in self._logged:
            self._logged.add((workspace, name))
            log.warning(
                "plan.unknown",
                workspace=workspace,
                plan=name,
                acts_as=FALLBACK,
                remedy="define the plan in the plans file, or set another one",
            )
        return self._fallback


class Visibility:
    """The visibility of the events and deliveries of an environment, by the retention of its plan.

    A delivery that is older than the retention is hidden, whatever its state, even if its row still
    exists.
    """

    def __init__(self, plans: Plans, now: Callable[[], float]) -> None:
        self._plans = plans
        self._now = now

    def floor_ms(self, environment: int) -> int:
        """Return the time, in ms since the epoch, before which the environment's events are hidden."""
        days = self._plans.of_environment(environment).retention_days
        return int(self._now() * 1000) - days * DAY_MS


class AccountLimits(Struct, frozen=True):
    """The limits of a customer's account and its sessions."""

    destinations: int
    rules: int
    transforms: int
    requests_per_minute: int

    def of(self, quota: Quota) -> int:
        """Return the limit that a quota sets."""
        number: int = getattr(self, quota.value)
        return number


def limits_of(plan: Plan, quotas: Quotas) -> AccountLimits:
    """Return the limits of a customer's account. Each limit is the account's own quota. If the account
    has no quota of its own, the limit is the plan's default quota. No limit of an account exceeds the
    plan's limit for the whole workspace."""
    return AccountLimits(
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
