"""Commands on destinations: create, change, enable, disable, archive."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
import structlog

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.customers import QuotaCheck
from engine.control.ports import DestinationStore
from engine.control.rotation import OF_ROTATION, Make, first_keys, rotation_of, shown_secret
from engine.control.rules import RuleCommands
from engine.control.shaping import (
    Draft,
    check_authentication,
    drafted,
    hosts_of,
    patched,
    receiver_of,
)
from engine.control.templated import changed_secrets
from engine.control.views import destination_document
from engine.control.writer import ConfigurationWriter, destination_of, refuse_archived
from engine.core.destination import Destination
from engine.core.vocabulary import DestinationStatus
from engine.model import authentication
from engine.model import headers as own_headers
from engine.model.configuration import DestinationRecord
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.headers import MASK
from engine.model.quotas import Quota
from engine.plans.plans import Plans
from engine.ports import PoisonError, StoreError
from engine.ports.outage import Outage, surely_nothing
from engine.templates.catalog import Catalog
from engine.wire.signing import new_key

_PLAN_ENDS = "the plan {plan.name} has at most {plan.destinations} destinations in an environment"
_ACTIONS = {
    DestinationStatus.ACTIVE: "enable",
    DestinationStatus.DISABLED: "disable",
    DestinationStatus.ARCHIVED: "archive",
}

RECEIVER_GONE = "receiver-gone"  # the audit log's author of a change that the service makes itself
RECEIVER_FAILS = "receiver-fails"
_REASONS = {RECEIVER_GONE: "GONE", RECEIVER_FAILS: "FAILING"}
_PASSING = {"conflict", "internal", "overloaded"}  # refusals after which a later try can succeed

log = structlog.get_logger("angarium.control")

Change = Callable[[DestinationRecord], DestinationRecord]
Disabled = Callable[[str, int, int, str], None]  # destination, environment, ms, reason
Objection = Callable[[str, str], Awaitable[str | None]]  # host, workspace: why the host is refused


class DestinationCommands:
    """Writes the destinations of all environments."""

    def __init__(
        self,
        store: DestinationStore,
        writer: ConfigurationWriter,
        plans: Plans,
        quotas: QuotaCheck,
        catalog: Catalog,
        rules: RuleCommands,
        *,
        disabled: Disabled | None = None,
        objection: Objection | None = None,
        make_key: Make = new_key,
    ) -> None:
        """`disabled` is called for each destination that was active and is disabled now.
        `objection` returns why nothing can be sent to a host. It returns None for a permitted host.
        """
        self._store = store
        self._writer = writer
        self._plans = plans
        self._quotas = quotas
        self._catalog = catalog
        self._rules = rules
        self._disabled = disabled
        self._objection = objection
        self._make_key = make_key
        self._outage = Outage("disabling of destinations")

    async def create(
        self, principal: Principal, environment: int, draft: Draft
    ) -> tuple[DestinationRecord, str | None]:
        """Add a destination. Return it with the secret that is shown once (None for Ed25519).

        Raises Refusal 400 for an invalid draft, 404 for an unknown template or account, and 402 if the
        plan allows no further destination. If a customer's session asks, also raises Refusal 402 if the
        customer's quota allows no further destination.
        """
        headers = own_headers.created(draft.headers)
        receiver = receiver_of(draft, self._catalog)
        proof = authentication.authentication_of(draft.authentication)
        await self._refuse_unreachable(principal, hosts_of(receiver, proof, self._catalog))

        async def command() -> tuple[DestinationRecord, str | None]:
            customer, account = await self._account(principal, environment, draft)
            keys = first_keys(draft.algorithm, draft.secret, self._make_key)
            record = drafted(
                draft,
                receiver,
                id=self._writer.new_id(),
                environment=environment,
                version=1,
                status=DestinationStatus.ACTIVE,
                customer=customer,
                customer_account=account,
                headers=headers,
                signing=keys,
                updated_at_ms=self._writer.now_ms(),
                authentication=proof,
            )
            check_authentication(record, self._catalog)
            shown = differences({}, _audited(record))
            entry = self._writer.entry(principal, "destination.create", record.id, shown)
            plan = self._plans.of_environment(environment)

            async def attempt() -> tuple[DestinationRecord, str | None] | None:
                tally = await self._quotas.tally(principal, environment, Quota.DESTINATIONS)
                adding = self._store.create(record, plan.destinations, entry, tally)
                if await written(adding):
                    self._writer.projection.destination(record)
                    return record, shown_secret(keys[0])
                if not await self._quotas.is_past(environment, tally):
                    raise Refusal("plan_limit", _PLAN_ENDS.format(plan=plan))
                return None

            return await self._writer.attempts("the customer's account", attempt)

        return await self._writer.commands.run(command)

    async def update(
        self, principal: Principal, environment: int, identifier: str, patch: Mapping[str, Any]
    ) -> tuple[DestinationRecord, str | None]:
        """Apply a merge patch. Return the next version, and the new secret if the patch asks for one."""
        changes = {name: value for name, value in patch.items() if name not in OF_ROTATION}
        rotation = rotation_of(patch)

        def change(present: DestinationRecord) -> DestinationRecord:
            refuse_archived(present)
            following = patched(
                present,
                changes,
                self._catalog,
                rotation=rotation,
                now=self._writer.now(),
                make_key=self._make_key,
            )
            return present if following == present else self._next(following)

        if not changes.keys().isdisjoint(("url", "config", "authentication")):
            # Hosts are checked before the command begins. The check looks up names in the DNS, which can
            # be slow, and other commands would wait for it.
            present = await destination_of(self._store, principal, environment, identifier)
            following = change(present)
            hosts = hosts_of(following, following.authentication, self._catalog)
            known = hosts_of(present, present.authentication, self._catalog)
            await self._refuse_unreachable(principal, dict(hosts.items() - known.items()))
        rotate = rotation.asked
        record = await self._change(
            principal, environment, identifier, "update", change, rotate=rotate
        )
        return record, shown_secret(record.signing[0]) if rotate else None

    async def enable(
        self, principal: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        """Enable a destination: send the deliveries that wait, and new ones."""
        return await self._set(principal, environment, identifier, DestinationStatus.ACTIVE)

    async def disable(
        self, principal: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        """Disable a destination: hold its deliveries as PENDING."""
        return await self._set(principal, environment, identifier, DestinationStatus.DISABLED)

    async def archive(
        self, principal: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        """End a destination for ever. Its waiting deliveries are discarded, and its rules are removed."""
        record = await self._set(principal, environment, identifier, DestinationStatus.ARCHIVED)
        await self._rules.remove_all_of(principal, environment, identifier)
        return record

    async def disable_gone(
        self, destination: Destination, *, quiet: bool = False, overdue: bool = False
    ) -> None:
        """Disable a destination because its receiver answered 410 or, if `overdue` is True, failed for
        longer than the destination allows. If only deliveries of Angarium's own events failed, `quiet` is
        True, and no event announces the change.

        The change is repeated while the store is away, and if another change of the destination was
        written first. Any other error is logged, and is not raised."""
        principal = Principal(
            kind="SYSTEM",
            id=RECEIVER_FAILS if overdue else RECEIVER_GONE,
            workspace=destination.workspace,
            environment=destination.environment,
        )

        def change(present: DestinationRecord) -> DestinationRecord:
            # If the URL or the template has changed since the receiver answered 410 or failed, the
            # destination has a new receiver, and is not disabled.
            elsewhere = present.url != destination.url or present.template != destination.template
            lifted = overdue and present.disable_after_s is None
            if elsewhere or lifted or present.status is not DestinationStatus.ACTIVE:
                return present
            return self._next(present, status=DestinationStatus.DISABLED)

        async def attempt(_: bool) -> None:
            try:
                await self._change(
                    principal,
                    destination.environment,
                    destination.id,
                    "disable",
                    change,
                    quiet=quiet,
                )
            except Refusal as refusal:
                if refusal.code in _PASSING:
                    raise surely_nothing(refusal.message) from refusal
                raise PoisonError(refusal.message) from refusal  # no later try can succeed

        try:
            await self._outage.outlast(attempt, writes=True)
        except StoreError:
            log.exception(
                "destination.not_disabled",
                destination=destination.id,
                remedy="nothing is sent to it: disable it, fix the receiver, then enable it",
            )

    async def _set(
        self, principal: Principal, environment: int, identifier: str, status: DestinationStatus
    ) -> DestinationRecord:
        def change(present: DestinationRecord) -> DestinationRecord:
            if present.status is status:
                return present
            refuse_archived(present)
            return self._next(present, status=status)

        return await self._change(principal, environment, identifier, _ACTIONS[status], change)

    async def _change(
        self,
        principal: Principal,
        environment: int,
        identifier: str,
        action: str,
        change: Change,
        *,
        rotate: bool = False,
        quiet: bool = False,
    ) -> DestinationRecord:
        async def attempt() -> DestinationRecord | None:
            present = await destination_of(self._store, principal, environment, identifier)
            following = change(present)
            if following is present:
                return present
            following = following.after(present)
            shown = differences(_audited(present), _audited(following))
            secrets = [f"config.{name}" for name in changed_secrets(present, following)]
            secrets += authentication.changed_secrets(
                present.authentication, following.authentication
            )
            for name in ["secret", *secrets] if rotate else secrets:
                shown[name] = {"from": MASK, "to": MASK}
            entry = self._writer.entry(principal, f"destination.{action}", identifier, shown)
            if not await written(self._store.replace(following, entry)):
                return None
            self._writer.projection.destination(following)
            if not quiet:
                self._tell_disabled(principal, present, following)
            return following

        return await self._writer.command("the destination", attempt)

    def _tell_disabled(
        self, principal: Principal, before: DestinationRecord, after: DestinationRecord
    ) -> None:
        ended = before.status is DestinationStatus.ACTIVE
        if ended and after.status is DestinationStatus.DISABLED and self._disabled is not None:
            reason = (
                _REASONS.get(principal.id, "CALLER") if principal.kind == "SYSTEM" else "CALLER"
            )
            self._disabled(after.id, after.environment, after.updated_at_ms, reason)

    def _next(
        self, record: DestinationRecord, status: DestinationStatus | None = None
    ) -> DestinationRecord:
        return msgspec.structs.replace(
            record,
            version=record.version + 1,
            status=record.status if status is None else status,
            updated_at_ms=self._writer.next_ms(record.updated_at_ms),
        )

    async def _refuse_unreachable(self, principal: Principal, hosts: Mapping[str, str]) -> None:
        if self._objection is None:
            return
        for field, host in hosts.items():
            objection = await self._objection(host, principal.workspace)
            if objection is not None:
                raise invalid(field, objection)

    async def _account(
        self, principal: Principal, environment: int, draft: Draft
    ) -> tuple[str | None, str | None]:
        """Return the customer of a draft, as (customerExternalId, customerAccountId)."""
        name, account = draft.customer_external_id, draft.customer_account_id
        if principal.customer is not None:
            own = principal.customer
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
                raise invalid("customerExternalId", "names another account than customerAccountId")
            return known, account
        if name is not None:
            opened = await self._store.open_account(environment, name, self._writer.new_id())
            return name, opened
        return None, None


def _audited(record: DestinationRecord) -> dict[str, Any]:
    return {**destination_document(record), "status": record.status.name}
