"""Commands on replay jobs: create, change the rate, cancel."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
import trio

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.ports import DestinationStore
from engine.control.replay_drafts import OrderDraft, ReplayDraft, ReplayPatch
from engine.control.writer import ConfigurationWriter, refuse_archived
from engine.core.vocabulary import (
    DeliveryOrigin,
    DestinationStatus,
    JobKind,
    ReplayMode,
    ReplayStatus,
)
from engine.model.documents import invalid, merged, read
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.read_models import SessionCustomer
from engine.plans.plans import Visibility
from engine.replay.job import UNFINISHED, WAITING, ReplayJob, ReplaySelection
from engine.replay.ports import JobStore, NamedDelivery
from engine.replay.views import selection_document

MAX_UNFINISHED = 100  # jobs of an environment; they take turns, so more would only be slower
MAX_UNFINISHED_CUSTOMER = 10  # of one customer's sessions: a slow job can last for months
COUNTED_WITHIN_S = 2.0  # a dry run that ends within this time is answered with its counts
LOOK_FIRST_S, LOOK_LONGEST_S = 0.02, 0.32  # between two looks at the count; some ten looks in all


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
        self,
        principal: Principal,
        environment: int,
        draft: ReplayDraft,
        own: SessionCustomer | None,
    ) -> ReplayJob:
        """Add a job. If the job is a dry run, wait up to two seconds for its result.

        `own` is the customer of an embed session. None: the caller has no embed session. A session cannot
        select the deliveries of other customers.

        Raises Refusal: 400; 404 for an unknown id; 409 if a destination is archived, if a named delivery
        still waits, or if too many jobs are unfinished.
        """

        return await self._create(
            principal,
            environment,
            draft,
            own,
            JobKind.REPLAY,
            draft.rate_per_second,
            ReplayMode[draft.mode],
        )

    async def order(
        self,
        principal: Principal,
        environment: int,
        draft: OrderDraft,
        own: SessionCustomer | None,
        kind: JobKind,
    ) -> ReplayJob:
        """Add a job that cancels or retries waiting deliveries of a destination; see `create`."""
        return await self._create(principal, environment, draft, own, kind, None)

    async def _create(
        self,
        principal: Principal,
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
            entry = self._writer.entry(principal, "replay_job.create", job.id, changes)
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

    async def pace(
        self,
        principal: Principal,
        environment: int,
        identifier: str,
        patch: Mapping[str, Any],
        own: SessionCustomer | None,
    ) -> ReplayJob:
        """Apply a merge patch to a job; only its rate can change. Raises Refusal 404, and 409 for a
        job that has ended or has no rate.
        """

        async def attempt() -> ReplayJob | None:
            job = await self.get(environment, identifier, own)
            known = {"ratePerSecond": job.rate_per_second}
            rate = read(ReplayPatch, merged(known, patch)).model_dump()["rate_per_second"]
            if job.orders:
                raise Refusal("conflict", f"a job of the kind {job.kind.name} has no rate")
            if job.status not in UNFINISHED:
                raise Refusal(
                    "conflict", f"the job is {job.status.name}: its rate cannot be changed"
                )
            if rate == job.rate_per_second:
                return job
            paced = msgspec.structs.replace(job, rate_per_second=rate)
            changes = differences(selection_document(job), selection_document(paced))
            entry = self._writer.entry(principal, "replay_job.update", identifier, changes)
            if not await written(self._store.pace(job, rate, entry)):
                return None
            self._runner.nudge()
            return await self.get(environment, identifier, own)

        return await self._writer.commands.run_beside(
            lambda: self._writer.attempts("the replay job", attempt)
        )

    async def cancel(
        self, principal: Principal, environment: int, identifier: str, own: SessionCustomer | None
    ) -> ReplayJob:
        """Cancel a job. The runner enqueues no further replays, and withdraws the replays that still
        wait. Raises Refusal 404, and 400 for a job that has ended."""

        async def command() -> ReplayJob:
            job = await self.get(environment, identifier, own)
            if job.status in UNFINISHED:
                changes = {"status": {"from": job.status.name, "to": "CANCELLED"}}
                entry = self._writer.entry(principal, "replay_job.cancel", identifier, changes)
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

    async def _refuse_many(self, environment: int, own: SessionCustomer) -> None:
        most = MAX_UNFINISHED_CUSTOMER
        jobs = await self._store.page(environment, tuple(UNFINISHED), own.account, None, most)
        if len(jobs) >= most:
            message = f"your account has at most {most} unfinished replay jobs: cancel one"
            raise Refusal("conflict", message)

    async def _judged(
        self, environment: int, selection: ReplaySelection, own: SessionCustomer | None
    ) -> ReplaySelection:
        """Check the ids of a selection. If all selected deliveries belong to the same customer account,
        set the selection's account.
        """
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


def _check_named(
    selection: ReplaySelection, named: list[NamedDelivery], account: str | None
) -> None:
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
