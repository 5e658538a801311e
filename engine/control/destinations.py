"""Commands on destinations: create, change, enable, disable, archive.

Each reads the present version, decides, writes the next one and shows it; when another process wrote in
between, it begins again.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import trio

from engine.control.audit import Auditor, Principal, differences
from engine.control.commands import CommandQueue, written
from engine.control.customers import QuotaCheck
from engine.control.ports import DestinationStore, Projection
from engine.control.rotation import Make, first_keys, shown_secret
from engine.control.shaping import Draft, drafted, patched, receiver_of
from engine.control.templated import changed_secrets
from engine.control.views import destination_document
from engine.core.destination import Destination
from engine.core.vocabulary import DestinationStatus
from engine.model import headers as own_headers
from engine.model.configuration import DestinationRecord
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.headers import MASK
from engine.model.identity import Identity
from engine.model.quotas import Quota
from engine.plans.plans import Plans
from engine.templates.catalog import Catalog
from engine.wire.signing import new_key

ATTEMPTS = 5  # at a row that other processes write as well; more would be a bug, not contention

_PLAN_ENDS = "the plan {plan.name} has at most {plan.destinations} destinations in an environment"

Change = Callable[[DestinationRecord], DestinationRecord]
Archived = Callable[[Principal, int, str], Awaitable[None]]  # its environment and id
Disabled = Callable[[str, int, int, str], None]  # destination, environment, ms, GONE or CALLER


class DestinationCommands:
    """The destinations of all environments, written."""

    def __init__(
        self,
        store: DestinationStore,
        commands: CommandQueue,
        projection: Projection,
        identity: Identity,
        now: Callable[[], float],
        plans: Plans,
        rooms: QuotaCheck,
        catalog: Catalog,
        make_key: Make = new_key,
    ) -> None:
        self._make_key = make_key
        self._plans = plans
        self._rooms = rooms
        self.on_archived: Archived = _without_rules
        self._catalog = catalog
        self.on_disabled: Disabled = _unheard
        self._store = store
        self._commands = commands
        self._projection = projection
        self._identity = identity
        self._auditor = Auditor(identity)
        self._now = now

    async def create(
        self, actor: Principal, environment: int, draft: Draft
    ) -> tuple[DestinationRecord, str | None]:
        """Add a destination; return it with the secret that is shown once (None for Ed25519).

        Raises Refusal: 400 for what the draft says, 402 where the plan, or the quota of the customer
        whose session asks, has no room for another, 404 for a template or an account that is unknown.
        """
        headers = own_headers.created(draft.headers)
        receiver = receiver_of(draft, self._catalog)

        async def command() -> tuple[DestinationRecord, str | None]:
            customer, account = await self._account(actor, environment, draft)
            keys = first_keys(draft.algorithm, self._make_key)
            record = drafted(
                draft,
                receiver,
                id=self._identity.other(),
                environment=environment,
                version=1,
                status=DestinationStatus.ACTIVE,
                customer=customer,
                customer_account=account,
                headers=headers,
                signing=keys,
                updated_at_ms=self._now_ms(),
            )
            entry = self._auditor.entry(
                actor, "destination.create", record.id, differences({}, _audited(record))
            )
            plan = self._plans.of_environment(environment)
            for _ in range(ATTEMPTS):
                tally = await self._rooms.of(actor, environment, Quota.DESTINATIONS)
                adding = self._store.create(record, plan.destinations, entry, tally)
                if await written(adding):
                    self._projection.destination(record)
                    return record, shown_secret(keys[0])
                if not await self._rooms.is_past(environment, tally):
                    raise Refusal("plan_limit", _PLAN_ENDS.format(plan=plan))
            raise Refusal("conflict", "the account is being changed by others: try again")

        return await self._commands.run(command)

    async def update(
        self, actor: Principal, environment: int, identifier: str, patch: Mapping[str, Any]
    ) -> tuple[DestinationRecord, str | None]:
        """Apply a merge patch; return the next version, with the new secret if one was asked for."""
        changes = {name: value for name, value in patch.items() if name != "rotateSecret"}
        rotate = patch.get("rotateSecret") is True

        def change(present: DestinationRecord) -> DestinationRecord:
            return self._patched(present, changes, rotate=rotate)

        record, _ = await self._change(
            actor, environment, identifier, "update", change, rotate=rotate
        )
        return record, shown_secret(record.signing[0]) if rotate else None

    async def enable(
        self, actor: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        """Send what waits, and what comes."""
        return await self._set(actor, environment, identifier, DestinationStatus.ACTIVE)

    async def disable(
        self, actor: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        """Hold deliveries as PENDING."""
        return await self._set(actor, environment, identifier, DestinationStatus.DISABLED)

    async def archive(
        self, actor: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        """End a destination for good: what waits is discarded, its rules are removed. Harmless when it
        is archived already."""
        record = await self._set(actor, environment, identifier, DestinationStatus.ARCHIVED)
        await self.on_archived(actor, environment, identifier)
        return record

    async def disable_gone(self, destination: Destination, *, quiet: bool = False) -> None:
        """Disable a destination whose receiver answered 410. Waits for a store that is away. A `quiet`
        one is not announced: an announcement was what it answered so."""
        actor = Principal(
            kind="SYSTEM",
            id="receiver-gone",
            workspace=destination.workspace,
            environment=destination.environment,
        )

        def change(present: DestinationRecord) -> DestinationRecord:
            # another version may lead elsewhere, and its receiver has not said that it is gone
            elsewhere = present.url != destination.url or present.template != destination.template
            if elsewhere or present.status is not DestinationStatus.ACTIVE:
                return present
            return self._next(present, status=DestinationStatus.DISABLED)

        await self._change(
            actor, destination.environment, destination.id, "disable", change, quiet=quiet
        )

    # --- one change of one destination

    async def _set(
        self, actor: Principal, environment: int, identifier: str, status: DestinationStatus
    ) -> DestinationRecord:
        def change(present: DestinationRecord) -> DestinationRecord:
            if present.status is status:
                return present
            _refuse_archived(present)
            return self._next(present, status=status)

        action = {
            DestinationStatus.ACTIVE: "enable",
            DestinationStatus.DISABLED: "disable",
            DestinationStatus.ARCHIVED: "archive",
        }[status]
        record, _ = await self._change(actor, environment, identifier, action, change)
        return record

    async def _change(
        self,
        actor: Principal,
        environment: int,
        identifier: str,
        action: str,
        change: Change,
        *,
        rotate: bool = False,
        quiet: bool = False,
    ) -> tuple[DestinationRecord, bool]:
        async def command() -> tuple[DestinationRecord, bool]:
            for _ in range(ATTEMPTS):
                present = await self._store.get(environment, identifier)
                if present is None or not actor.sees(present.customer_account):
                    raise Refusal("not_found", "no such destination")
                following = change(present)
                if following is present:
                    return present, False
                shown = differences(_audited(present), _audited(following))
                secrets = [f"config.{name}" for name in changed_secrets(present, following)]
                for name in ["secret", *secrets] if rotate else secrets:
                    shown[name] = {"from": MASK, "to": MASK}
                entry = self._auditor.entry(actor, f"destination.{action}", identifier, shown)
                if await written(self._store.replace(following, entry)):
                    self._projection.destination(following)
                    if following.status is DestinationStatus.DISABLED and not quiet:
                        self._tell_disabled(actor, present, following)
                    return following, True
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", "the destination is being changed by others: try again")

        return await self._commands.run(command)

    def _tell_disabled(
        self, actor: Principal, before: DestinationRecord, after: DestinationRecord
    ) -> None:
        if before.status is DestinationStatus.ACTIVE:
            reason = "GONE" if actor.kind == "SYSTEM" else "CALLER"
            self.on_disabled(after.id, after.environment, after.updated_at_ms, reason)

    def _patched(
        self, present: DestinationRecord, patch: Mapping[str, Any], *, rotate: bool
    ) -> DestinationRecord:
        _refuse_archived(present)
        following = patched(
            present,
            patch,
            self._catalog,
            rotate=rotate,
            now=self._now(),
            make_key=self._make_key,
        )
        return present if following == present else self._next(following)

    def _next(
        self, record: DestinationRecord, status: DestinationStatus | None = None
    ) -> DestinationRecord:
        return msgspec.structs.replace(
            record,
            version=record.version + 1,
            status=record.status if status is None else status,
            updated_at_ms=max(self._now_ms(), record.updated_at_ms + 1),
        )

    async def _account(
        self, actor: Principal, environment: int, draft: Draft
    ) -> tuple[str | None, str | None]:
        """Return the customer that a draft names, as (customerExternalId, customerAccountId): in an embed
        session its own, whom it need not name."""
        name, account = draft.customer_external_id, draft.customer_account_id
        if actor.customer is not None:
            own = actor.customer
            if name not in (None, own.external_id):
                raise Refusal("not_found", "customerExternalId: no such account")
            if account not in (None, own.account):
                raise Refusal("not_found", "customerAccountId: no such account")
            return own.external_id, own.account
        if account is not None:
            known = await self._store.account_name(environment, account)
            if known is None:
                raise Refusal("not_found", "customerAccountId: no such account")
            if name not in (None, known):
                raise invalid("customerExternalId", "is not that of customerAccountId")
            return known, account
        if name is not None:
            opened = await self._store.open_account(environment, name, self._identity.other())
            return name, opened
        return None, None

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


def _audited(record: DestinationRecord) -> dict[str, Any]:
    return {**destination_document(record), "status": record.status.name}


async def _without_rules(actor: Principal, environment: int, destination: str) -> None:
    """Do nothing: where there are no rules."""


def _unheard(destination: str, environment: int, at_ms: int, reason: str) -> None:
    """Ignore it: where no one listens."""


def _refuse_archived(record: DestinationRecord) -> None:
    if record.status is DestinationStatus.ARCHIVED:
        raise Refusal("conflict", "the destination is archived")
