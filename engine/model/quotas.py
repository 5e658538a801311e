"""Quotas: the part of a workspace's plan that one customer's account can use. Values only.

A quota limits embed sessions. The plan limits the workspace's own keys, for whichever customer they act.
"""

from enum import Enum

from msgspec import Struct


class Quota(Enum):
    """A kind of thing that is counted for an account. The values are the names of fields."""

    DESTINATIONS = "destinations"
    RULES = "rules"
    TRANSFORMS = "transforms"


class Quotas(Struct, frozen=True, kw_only=True):
    """The quotas that a workspace has set for one account; None leaves the plan's."""

    destinations: int | None = None
    rules: int | None = None
    transforms: int | None = None
    requests_per_minute: int | None = None


class Erasure(Struct, frozen=True):
    """The last request to erase a customer's contents: how many events have lost theirs so far."""

    requested_at_ms: int
    finished_at_ms: int | None
    events: int


class CustomerAccount(Struct, frozen=True, kw_only=True):
    """One version of a customer's account. Version 0 is an account without a name and quotas of its
    own."""

    id: str
    environment: int
    external_id: str
    version: int = 0
    name: str | None = None
    quotas: Quotas = Quotas()
    erasure: Erasure | None = None


class Used(Struct, frozen=True):
    """The number of rows of an account. `tally` rises with everything that a session of the account
    adds."""

    tally: int
    destinations: int
    rules: int
    transforms: int

    def of(self, quota: Quota) -> int:
        """Return one of the numbers."""
        number: int = getattr(self, quota.value)
        return number


class CustomerTally(Struct, frozen=True):
    """The state of an account that a decision was based on: a statement that adds must find it
    unchanged."""

    account: str
    tally: int
