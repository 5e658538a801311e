"""Destinations of the simulated database: present versions, all versions, and customers' accounts."""

from collections.abc import Sequence
from functools import partial

from engine.core.vocabulary import DestinationStatus
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.model.identity import shard_of
from engine.model.quotas import CustomerTally
from engine.ports import PoisonError
from tests.sim.store.connection import Pool
from tests.sim.store.stored import StoredBacklog
from tests.sim.store.tables import Tables, require_text


def create(tables: Tables, record: DestinationRecord, at_most: int, audit: AuditEntry) -> bool:
    """Return False if the environment has no room."""
    require_text(record.name, record.description, record.url, record.customer)
    there = tables.room.get(record.environment)
    if there is None or there >= at_most:
        return False
    if any(identifier == record.id for _, identifier in tables.destinations):
        raise PoisonError("23505 duplicate key value: destinations")
    tables.check_audit(audit)
    tables.room[record.environment] = there + 1
    _write(tables, record, audit)
    return True


def replace(tables: Tables, record: DestinationRecord, audit: AuditEntry) -> bool:
    """Write a new version of a destination and return True. If the number of the new version is not one
    above that of the present version, write nothing and return False."""
    require_text(record.name, record.description, record.url, record.customer)
    place = record.environment, record.id
    present = tables.destinations.get(place)
    if present is None or present.version != record.version - 1:
        return False
    tables.check_audit(audit)
    if record.status is DestinationStatus.ARCHIVED:
        tables.room[record.environment] -= 1
        # The destination's actor now discards the destination's deliveries. If a new process takes over
        # before this work is done, the backlog row lets an actor of the new process continue it.
        low_seq = max(tables.groups, 1) << 20
        tables.backlog.setdefault(place, StoredBacklog(shard_of(record.id), low_seq))
    _write(tables, record, audit)
    return True


def _write(tables: Tables, record: DestinationRecord, audit: AuditEntry) -> None:
    tables.destinations[record.environment, record.id] = record
    tables.versions[record.environment, record.id, record.version] = record
    tables.add_audit(audit)
    tables.on_configured(record)


def open_account(tables: Tables, environment: int, external_id: str, identifier: str) -> str:
    require_text(external_id)
    place = environment, external_id
    if place not in tables.customers:
        for (number, _), account in tables.customers.items():
            if (number, account) == (environment, identifier):
                raise PoisonError("23505 duplicate key value: customer_accounts_by_id")
        tables.customers[place] = identifier
    return tables.customers[place]


class SimulatedDestinations:
    """The simulated `engine.control.ports.DestinationStore`. Scripts are not simulated: `publish` writes
    nothing."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool

    async def create(
        self,
        destination: DestinationRecord,
        at_most: int,
        audit: AuditEntry,
        customer: CustomerTally | None = None,
    ) -> bool:
        """Customers' sessions are not simulated."""
        assert customer is None
        work = partial(create, self._tables, destination, at_most, audit)
        return await self._pool.write("create destination", work)

    async def replace(self, destination: DestinationRecord, audit: AuditEntry) -> bool:
        work = partial(replace, self._tables, destination, audit)
        return await self._pool.write("replace destination", work)

    async def publish(self, destination: DestinationRecord, audit: AuditEntry, at_ms: int) -> bool:
        """Return False: there are no scripts."""
        del destination, audit, at_ms
        return await self._pool.write("publish", lambda: False)

    async def get(self, environment: int, destination: str) -> DestinationRecord | None:
        place = environment, destination
        return await self._pool.read("destination", partial(self._tables.destinations.get, place))

    async def find(self, destination: str) -> DestinationRecord | None:
        def work() -> DestinationRecord | None:
            records = self._tables.destinations.values()
            return next((each for each in records if each.id == destination), None)

        return await self._pool.read("find destination", work)

    async def page(
        self,
        environment: int,
        statuses: Sequence[DestinationStatus],
        account: str | None,
        before: str | None,
        limit: int,
    ) -> list[DestinationRecord]:
        wanted = frozenset(statuses)

        def work() -> list[DestinationRecord]:
            found = [
                record
                for record in self._tables.destinations.values()
                if record.environment == environment
                and record.status in wanted
                and account in (None, record.customer_account)
                and (before is None or record.id < before)
            ]
            found.sort(key=lambda record: record.id, reverse=True)
            return found[:limit]

        return await self._pool.read("destinations", work)

    async def open_account(self, environment: int, external_id: str, identifier: str) -> str:
        work = partial(open_account, self._tables, environment, external_id, identifier)
        return await self._pool.write("open account", work)

    async def account_name(self, environment: int, account: str) -> str | None:
        def work() -> str | None:
            for (number, name), identifier in self._tables.customers.items():
                if (number, identifier) == (environment, account):
                    return name
            return None

        return await self._pool.read("account name", work)
