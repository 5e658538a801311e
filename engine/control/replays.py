"""Commands on replay jobs: create and cancel. `engine.replay` runs the jobs."""

from collections.abc import Sequence
from typing import Annotated, Protocol

import msgspec
import trio
from pydantic import Field

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.ports import DestinationStore
from engine.control.writer import ConfigurationWriter, refuse_archived
from engine.core.vocabulary import (
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    JobKind,
    ReplayMode,
    ReplayStatus,
)
from engine.drafts import (
    MAX_RATE_PER_SECOND,
    RULE_PATTERNS,
    Document,
    Name,
    NullIs,
    Pattern,
    Uuid,
)
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import Instant
from engine.model.read_models import SessionCustomer
from engine.model.words import SettledStatusName, WaitingStatusName, Word, word
from engine.plans.plans import Visibility
from engine.replay.job import UNFINISHED, WAITING, ReplayJob, ReplaySelection
from engine.replay.ports import JobStore, Named
from engine.replay.views import selection_document

MAX_UNFINISHED = 100  # jobs of an environment; each has its turn, so that more would only be slower
MAX_UNFINISHED_CUSTOMER = 10  # of one customer's sessions: a slow job can last for months
COUNTED_WITHIN_S = 2.0  # a dry run that is counted by then is answered with its counts
LOOK_FIRST_S, LOOK_LONGEST_S = 0.02, 0.32  # between two looks at the count: ten within that time
MAX_ORDERS = 1_000_000_000  # more than any destination has waiting
MAX_DELIVERY_IDS = 1_000  # as an ingestion batch; a filter selects more
# One delivery in 17 minutes: a slower job would hardly move.
MIN_RATE_PER_SECOND = 0.001


class ReplayDraft(Document):
    """The deliveries to be sent again: those that meet every member that is given."""

    destination_id: Uuid | None = Field(None, description="To this destination.")
    customer_account_id: Uuid | None = Field(
        None, description="To destinations that are tied to this customer account."
    )
    event_types: list[Pattern] | None = Field(
        None, min_length=1, max_length=RULE_PATTERNS,
        description="Patterns as in a routing rule. Null: every type.",
    )  # fmt: skip
    statuses: list[SettledStatusName] | None = Field(
        None, min_length=1, max_length=3,
        description="Null: all three. What is not settled yet is sent anyway and is not replayed.",
    )  # fmt: skip
    delivery_ids: list[Uuid] | None = Field(
        None, min_length=1, max_length=MAX_DELIVERY_IDS,
        description="These deliveries; the one way to replay what was a replay itself.",
    )  # fmt: skip
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    dry_run: Annotated[bool, NullIs(False)] = Field(
        False, description="Only count what would be replayed."
    )
    mode: Annotated[Word[ReplayMode], NullIs("AGAIN")] = Field(
        word(ReplayMode.AGAIN),
        description="AGAIN: settled deliveries once more. MISSING: events for which the destination has "
        "no delivery, by its current rules. It takes `destinationId`, not `statuses` or `deliveryIds`.",
    )
    rate_per_second: float | None = Field(
        None, ge=MIN_RATE_PER_SECOND, le=MAX_RATE_PER_SECOND,
        description="At most so many a second are enqueued. Null: as quickly as the receivers take them.",
    )  # fmt: skip

    def selection(self) -> ReplaySelection:
        """Return the selection of the draft. Raises Refusal 400 for one that is too wide, or empty."""
        bounds = (self.destination_id, self.customer_account_id, self.delivery_ids, self.from_)
        if all(bound is None for bound in bounds):
            raise Refusal(
                "invalid_request",
                "give at least one of destinationId, customerAccountId, deliveryIds and from",
            )
        _check_range(self.from_, self.to)
        statuses = self.statuses
        if self.mode == ReplayMode.MISSING.name:
            if self.destination_id is None:
                raise invalid("destinationId", "is required with the mode MISSING")
            for path, given in (("statuses", statuses), ("deliveryIds", self.delivery_ids)):
                if given is not None:
                    raise invalid(path, "is not for the mode MISSING: its events have no delivery")
        return ReplaySelection(
            destination=self.destination_id,
            account=self.customer_account_id,
            event_types=_distinct(self.event_types),
            statuses=None
            if statuses is None
            else tuple(sorted({DeliveryStatus[each] for each in statuses})),
            deliveries=_distinct(self.delivery_ids),
            from_ms=self.from_,
            to_ms=self.to,
        )


class OrderDraft(Document):
    """The deliveries that wait and are meant: those that meet every member that is given."""

    destination_id: Uuid = Field(description="Deliveries to this destination.")
    event_types: list[Pattern] | None = Field(
        None, min_length=1, max_length=RULE_PATTERNS,
        description="Patterns as in a routing rule. Null: every type.",
    )  # fmt: skip
    customer_external_id: Name | None = Field(
        None, description="Deliveries of this customer's events."
    )
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    status: WaitingStatusName | None = Field(
        None, description="PENDING: not attempted yet; RETRYING: failed before. Null: both."
    )
    limit: int | None = Field(
        None, ge=1, le=MAX_ORDERS, description="The most deliveries. Null: all."
    )
    # Not nullable, so that a caller who means to count does not cancel by mistake.
    dry_run: bool = Field(False, description="Only count the deliveries that are meant.")

    def selection(self) -> ReplaySelection:
        """Return the selection of the draft. Raises Refusal 400 for an empty time range."""
        _check_range(self.from_, self.to)
        return ReplaySelection(
            destination=self.destination_id,
            event_types=_distinct(self.event_types),
            statuses=None if self.status is None else (DeliveryStatus[self.status],),
            from_ms=self.from_,
            to_ms=self.to,
            customer=self.customer_external_id,
            limit=self.limit,
        )


def _check_range(from_ms: int | None, to_ms: int | None) -> None:
    if from_ms is not None and to_ms is not None and from_ms > to_ms:
        raise invalid("from", "is after to")


def _distinct(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(dict.fromkeys(given))


class JobRunner(Protocol):
    """The runner of replay jobs."""

    def nudge(self) -> None:
        """Look for new and cancelled jobs at once."""

    def finished(self, job: ReplayJob) -> None:
        """Announce that a job has ended."""


class ReplayCommands:
    """Writes the replay jobs of all environments."""

    def __init__(
        self,
        store: JobStore,
        destinations: DestinationStore,
        writer: ConfigurationWriter,
        runner: JobRunner,
        visibility: Visibility,
    ) -> None:
        self._store = store
        self._destinations = destinations
        self._writer = writer
        self._runner = runner
        self._visibility = visibility

    async def create(
        self, actor: Principal, environment: int, draft: ReplayDraft, own: SessionCustomer | None
    ) -> ReplayJob:
        """Add a job. `own` is the customer whose browser asks: other customers' deliveries do not exist
        for it.

        Raises Refusal 400, 404 for an unknown id, 409 if a destination is archived or a named delivery
        still waits. Waits for the end of a dry run, at most two seconds.
        """

        return await self._create(
            actor,
            environment,
            draft,
            own,
            JobKind.REPLAY,
            draft.rate_per_second,
            ReplayMode[draft.mode],
        )

    async def order(
        self,
        actor: Principal,
        environment: int,
        draft: OrderDraft,
        own: SessionCustomer | None,
        kind: JobKind,
    ) -> ReplayJob:
        """Add a job that cancels or retries waiting deliveries of a destination; see `create`."""
        return await self._create(actor, environment, draft, own, kind, None)

    async def _create(
        self,
        actor: Principal,
        environment: int,
        draft: ReplayDraft | OrderDraft,
        own: SessionCustomer | None,
        kind: JobKind,
        rate_per_second: float | None,
        mode: ReplayMode = ReplayMode.AGAIN,
    ) -> ReplayJob:
        async def command() -> ReplayJob:
            selection = await self._judged(environment, draft.selection(), own)
            account = selection.account
            if own is not None:
                await self._refuse_many(environment, own)
            customer = None
            if account is not None:
                customer = await self._destinations.account_name(environment, account)
            job = ReplayJob(
                id=self._writer.new_id(),
                environment=environment,
                status=ReplayStatus.PENDING,
                dry_run=draft.dry_run,
                selection=selection,
                rate_per_second=rate_per_second,
                customer=customer,
                kind=kind,
                mode=mode,
            )
            changes = differences({}, selection_document(job))
            entry = self._writer.entry(actor, "replay_job.create", job.id, changes)
            floor_ms = self._visibility.floor_ms(environment)
            if not await written(self._store.create(job, MAX_UNFINISHED, entry, floor_ms)):
                raise Refusal(
                    "conflict",
                    f"an environment has at most {MAX_UNFINISHED} unfinished replay jobs: cancel one",
                )
            self._runner.nudge()
            return job

        job = await self._writer.commands.run_beside(command)
        return await self._counted(job) if job.dry_run else job

    async def cancel(
        self, actor: Principal, environment: int, identifier: str, own: SessionCustomer | None
    ) -> ReplayJob:
        """End a job: nothing more is enqueued, and the runner withdraws the replays that wait. Raises
        Refusal 404, and 400 for a job that has ended."""

        async def command() -> ReplayJob:
            job = await self.get(environment, identifier, own)
            if job.status in UNFINISHED:
                changes = {"status": {"from": job.status.name, "to": "CANCELLED"}}
                entry = self._writer.entry(actor, "replay_job.cancel", identifier, changes)
                at_ms = self._writer.now_ms()
                done = await written(self._store.cancel(environment, identifier, at_ms, entry))
                job = await self.get(environment, identifier, own)
                if done:
                    self._runner.nudge()
                    self._runner.finished(job)
                    return job
            raise Refusal(
                "invalid_request", f"the job is {job.status.name}: it cannot be cancelled"
            )

        return await self._writer.commands.run_beside(command)

    async def get(
        self, environment: int, identifier: str, own: SessionCustomer | None
    ) -> ReplayJob:
        """Return a job. Raises Refusal 404."""
        job = await self._store.get(environment, identifier)
        if job is None or (own is not None and job.selection.account != own.account):
            raise Refusal("not_found", "no such replay job")
        return job

    async def _counted(self, job: ReplayJob) -> ReplayJob:
        pause_s = LOOK_FIRST_S
        with trio.move_on_after(COUNTED_WITHIN_S):
            while True:
                present = await self._store.get(job.environment, job.id)
                if present is None or present.status not in UNFINISHED:
                    return present or job
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, LOOK_LONGEST_S)
        return await self._store.get(job.environment, job.id) or job

    # --- what a selection names

    async def _refuse_many(self, environment: int, own: SessionCustomer) -> None:
        """Raise Refusal 409 if the customer's share of unfinished jobs is used up."""
        most = MAX_UNFINISHED_CUSTOMER
        jobs = await self._store.page(environment, tuple(UNFINISHED), own.account, None, most)
        if len(jobs) >= most:
            message = f"your account has at most {most} unfinished replay jobs: cancel one"
            raise Refusal("conflict", message)

    async def _judged(
        self, environment: int, selection: ReplaySelection, own: SessionCustomer | None
    ) -> ReplaySelection:
        """Return the selection with the account that all of it belongs to, if there is one."""
        account = selection.account
        if own is not None:
            if selection.customer not in (None, own.external_id):
                raise _missing("customerExternalId", "customer")
            if account not in (None, own.account):
                raise _missing("customerAccountId", "customer account")
            account = own.account
        elif (
            account is not None
            and await self._destinations.account_name(environment, account) is None
        ):
            raise _missing("customerAccountId", "customer account")
        accounts: set[str | None] = set()
        if selection.destination is not None:
            destination = await self._destinations.get(environment, selection.destination)
            if destination is None or account not in (None, destination.customer_account):
                raise _missing("destinationId", "destination")
            refuse_archived(destination, field="destinationId")
            accounts.add(destination.customer_account)
        if selection.deliveries is not None:
            named = await self._store.named(environment, selection.deliveries)
            floor_ms = self._visibility.floor_ms(environment)
            named = [each for each in named if created_at_ms(each.id) >= floor_ms]
            _check_named(selection, named, account)
            if selection.destination is None:
                accounts.update(each.account for each in named)
        if account is None and len(accounts) == 1:
            account = accounts.pop()
        return msgspec.structs.replace(selection, account=account)


def _check_named(selection: ReplaySelection, named: list[Named], account: str | None) -> None:
    present = {each.id: each for each in named}
    for place, identifier in enumerate(selection.deliveries or ()):
        path = f"deliveryIds[{place}]"
        found = present.get(identifier)
        if found is None or account not in (None, found.account):
            raise _missing(path, "delivery")
        if found.origin is DeliveryOrigin.INSPECTION:
            raise invalid(path, "is a test delivery, which is not replayed")
        if found.status in WAITING:
            raise Refusal(
                "conflict",
                f"{path}: the delivery still waits ({found.status.name}). Send it now with "
                f"POST /deliveries/{identifier}/retry.",
            )
        if found.destination_status is DestinationStatus.ARCHIVED:
            raise Refusal("conflict", f"{path}: its destination is archived")


def _missing(path: str, what: str) -> Refusal:
    return Refusal("not_found", f"{path}: no such {what}")
