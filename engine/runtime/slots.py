"""The slots: bounds on concurrent operations, in all, per workspace and per customer."""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.model.errors import Refusal
from engine.model.read_models import SessionCustomer
from engine.runtime.tally import Tally

# The sessions of one customer get at most a fourth (CUSTOMER_PART) of the workspace's places. The
# sessions of all its customers together get at most three fourths: the last fourth (KEYS_PART) is
# reserved for requests with the workspace's API keys.
CUSTOMER_PART = 4
KEYS_PART = 4


class Slots:
    """Owner of the counts of running operations."""

    def __init__(self, of_all: int, of_workspace: int, what: str, retry_after_s: int) -> None:
        """`what` names the operations in the message of a refusal. It is a noun in the plural."""
        self._of_all = of_all
        self._of_workspace = of_workspace
        self._what = what
        self._retry_after_s = retry_after_s
        self._of_customer, self._of_customers = customers_places(of_workspace)
        self._taken = Tally()
        self._sessions = Tally()  # by workspace: places of its customers' sessions
        self._customers = Tally()

    @contextmanager
    def taken(self, workspace: str, customer: SessionCustomer | None = None) -> Iterator[None]:
        """Hold a place while the block runs. `customer` is set for a request of a customer's session.
        Raises Refusal `overloaded` if no place is free."""
        if (
            self._taken.of(workspace) >= self._of_workspace
            or self._taken.total >= self._of_all
            or (customer is not None and not self._has_room(workspace, customer.account))
        ):
            message = f"too many {self._what} are under way: retry later"
            raise Refusal("overloaded", message, retry_after_s=self._retry_after_s)
        held = [(self._taken, workspace)]
        if customer is not None:
            held += [(self._sessions, workspace), (self._customers, customer.account)]
        for tally, whose in held:
            tally.add(whose)
        try:
            yield
        finally:
            for tally, whose in held:
                tally.remove(whose)

    def _has_room(self, workspace: str, account: str) -> bool:
        return (
            self._customers.of(account) < self._of_customer
            and self._sessions.of(workspace) < self._of_customers
        )


def customers_places(of_workspace: int) -> tuple[int, int]:
    """Return the limits on a workspace's places for customers: for each of its customers, and for all of
    them together."""
    together = max(1, of_workspace - max(1, of_workspace // KEYS_PART))
    return max(1, min(together, of_workspace // CUSTOMER_PART)), together
