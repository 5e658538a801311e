"""The tables of the simulated database, and the operations that several stores need: drawing seqs, adding
deliveries, and writing the audit log."""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.core.records import Delivery
from engine.model.configuration import AuditEntry, DestinationRecord, FilterErrors, Tenant
from engine.model.read_models import RuleModel
from engine.nodes.parts import WorkerPart
from engine.ports import DirtyDestination, PoisonError
from tests.sim.store.jobs_table import JobsTable
from tests.sim.store.rights import Rights
from tests.sim.store.shelf import Shelf
from tests.sim.store.stored import (
    StoredAttempt,
    StoredBacklog,
    StoredClaim,
    StoredDelivery,
    StoredEvent,
    StoredMinute,
)

Place = tuple[int, str]  # environment and id


class Tables:
    """All rows of the simulated database. Owner: the statement that runs. A statement's work is
    synchronous, so only one statement runs at a time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now  # the database's own clock
        self.groups = 0  # the sequence from which seqs are drawn
        self.rights = Rights()
        # --- the log
        self.events: dict[Place, StoredEvent] = {}
        self.deliveries: dict[Place, StoredDelivery] = {}
        self.shelves: dict[Place, Shelf] = {}
        self.attempts: dict[tuple[int, str, int], StoredAttempt] = {}
        self.claims: dict[tuple[int, str], StoredClaim] = {}
        self.customers: dict[tuple[int, str], str] = {}
        self.backlog: dict[Place, StoredBacklog] = {}
        self.snapshots: dict[Place, bytes] = {}
        self.minutes: dict[tuple[int, str, int], StoredMinute] = {}
        self.locked: dict[
            str, float
        ] = {}  # deliveries, until when an operator's session locks them
        self.replays = JobsTable()
        # --- configuration
        self.tenants: dict[str, Tenant] = {}
        self.workspaces: dict[int, str] = {}  # by environment
        self.room: dict[int, int] = {}  # by environment: destinations that are not archived
        self.destinations: dict[Place, DestinationRecord] = {}
        self.versions: dict[tuple[int, str, int], DestinationRecord] = {}
        self.rules: dict[Place, RuleModel] = {}
        self.tallies: dict[int, tuple[int, int]] = {}  # rules of an environment, and its version
        self.filter_failures: dict[Place, FilterErrors] = {}
        self.audit: dict[tuple[str, str], dict[str, Any]] = {}  # by workspace and id: its changes
        # --- observers: called within the transaction, once nothing can fail any more
        self.on_configured: Callable[[DestinationRecord], None] = _unheard
        self.on_ruled: Callable[[RuleModel, bool], None] = _unheard_rule

    def belongs(self, environment: int, part: WorkerPart) -> bool:
        return part.whole or part.has(self.workspaces[environment])

    # --- the log

    def draw(self) -> int:
        """Return the first seq for a new group. The group's seqs are never given to another group, even
        if the group is not written."""
        self.groups += 1
        return self.groups << 20

    def shelf(self, environment: int, destination: str) -> Shelf:
        place = environment, destination
        shelf = self.shelves.get(place)
        if shelf is None:
            shelf = self.shelves[place] = Shelf()
        return shelf

    def put(self, row: StoredDelivery) -> None:
        """Add a delivery; its key must have been checked."""
        self.deliveries[row.environment, row.id] = row
        self.shelf(row.environment, row.destination).add(row)

    def mark_dirty(self, dirty: list[DirtyDestination], low_seq: int) -> None:
        """The caller has checked that the rows are not locked."""
        for each in dirty:
            place = each.environment, each.destination
            row = self.backlog.setdefault(place, StoredBacklog(each.shard, low_seq))
            row.low_seq = min(row.low_seq, low_seq)

    def read(self, row: StoredDelivery) -> Delivery | None:
        """None: the delivery's event is gone."""
        event = self.events.get((row.environment, row.event))
        return None if event is None else row.read(event.event)

    def size_of(self, row: StoredDelivery) -> int:
        event = self.events.get((row.environment, row.event))
        return 0 if event is None else event.size

    # --- the audit log

    def check_audit(self, entry: AuditEntry) -> None:
        if (entry.workspace, entry.id) in self.audit:
            raise PoisonError("23505 duplicate key value: audit_log")

    def add_audit(self, entry: AuditEntry) -> None:
        changes = {} if entry.changes is None else msgspec.json.decode(entry.changes)
        self.audit[entry.workspace, entry.id] = changes


def require_text(*values: str | None) -> None:
    """Raise if PostgreSQL cannot store a text."""
    for value in values:
        if value is None:
            continue
        if "\0" in value:
            raise PoisonError("22021 invalid byte sequence for encoding UTF8: 0x00")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise PoisonError(f"a value cannot be sent: {error}") from error


def _unheard(record: DestinationRecord) -> None:
    """Do nothing: no observer is set."""


def _unheard_rule(rule: RuleModel, live: bool) -> None:
    """Do nothing: no observer is set."""
