"""Which customers an intake knows to have an account: for all others its statement opens one."""

from collections.abc import Iterable, Sequence

from engine.core.records import Event
from engine.model.identity import Identity
from engine.ports import NewCustomer

KNOWN_CUSTOMERS = 100_000  # accounts remembered as open: about 15 MB; then all are asked for again


class Customers:
    """Owner of what is known. An account that is there and not known costs a row that is not written."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._open: set[tuple[int, str]] = set()

    def new_of(self, events: Iterable[Event]) -> list[NewCustomer]:
        """Return the accounts that are to be opened for events."""
        new = {
            (event.environment, event.customer) for event in events if event.customer is not None
        } - self._open
        return [
            NewCustomer(environment, external_id, self._identity.other())
            for environment, external_id in sorted(new)
        ]

    def opened(self, customers: Sequence[NewCustomer]) -> None:
        """Take note of accounts that are durable."""
        if len(self._open) + len(customers) > KNOWN_CUSTOMERS:
            self._open.clear()
        self._open.update((each.environment, each.external_id) for each in customers)
