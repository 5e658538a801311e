"""Commands on transform scripts: create, publish, unpublish, remove.

Publishing a script writes the next version of its destination.
"""

from typing import Annotated, Any

import msgspec
from pydantic import Field

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.customers import QuotaCheck
from engine.control.ports import DestinationStore, TransformStore
from engine.control.writer import ConfigurationWriter, destination_of, refuse_archived
from engine.core.destination import Transform
from engine.drafts import Document, Name, Uuid
from engine.model.configuration import DestinationRecord, TransformScript, TransformStatus
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.quotas import Quota
from engine.outbound.ports import ScriptRuns
from engine.outbound.trials import TrialDraft
from engine.plans.plans import Plan, Plans

_SCRIPTS = "the destination's transform scripts"  # their name in a refusal
SOURCE_BYTES = 64 * 1024  # in UTF-8; every node has all live scripts in memory, for its workers
# The limit on the body of a request that contains a script. JSON can write one byte of the script as six
# bytes (\u0000), so the script can take six times SOURCE_BYTES. 16 KiB more are for the name and the id.
DRAFT_BYTES = 6 * SOURCE_BYTES + 16 * 1024


Source = Annotated[
    str,
    Field(
        min_length=1,
        json_schema_extra={"maxLength": SOURCE_BYTES},
        description="JavaScript with `function transform(event) { return ...; }`: at most 64 KiB.",
    ),
]


class TransformDraft(Document):
    """A transform script as a caller writes it."""

    destination_id: Uuid
    name: Name
    source: Source


class UnkeptScript(Document):
    """A script that nothing stores."""

    destination_id: Uuid = Field(description="The destination for which the script is meant.")
    source: Source


class TransformPreviewDraft(TrialDraft, UnkeptScript):
    """A script to run without storing it, and its input."""


class TransformCommands:
    """Writes the transform scripts of all environments."""

    def __init__(
        self,
        store: TransformStore,
        destinations: DestinationStore,
        scripts: ScriptRuns,
        writer: ConfigurationWriter,
        plans: Plans,
        quotas: QuotaCheck,
    ) -> None:
        self._store = store
        self._destinations = destinations
        self._scripts = scripts
        self._writer = writer
        self._plans = plans
        self._quotas = quotas

    async def create(
        self, principal: Principal, environment: int, draft: TransformDraft
    ) -> TransformScript:
        """Add the next version of a destination's script, as a draft.

        Raises Refusal: 413 if the source is too large, 400 if the source does not compile, 404 for an
        unknown destination, 402 if plan or quota allow no further script, 409 if the destination is
        archived.
        """
        _check_size(draft.source)
        account = None if principal.customer is None else principal.customer.account
        complaint = await self._scripts.check(principal.workspace, draft.source, account)
        if complaint is not None:
            raise invalid("source", complaint)

        async def command() -> TransformScript:
            identifier = self._writer.new_id()
            destination = await self._destination(principal, environment, draft.destination_id)
            plan = self._plans.of_environment(environment)
            script = _drafted(identifier, destination, draft.source, draft.name)
            # The audit entry omits the source, because a version never changes.
            changes = differences({}, {"destinationId": destination.id, "name": draft.name})
            entry = self._writer.entry(principal, "transform_script.create", identifier, changes)
            most, workspace = plan.transforms, principal.workspace

            async def attempt() -> TransformScript | None:
                if await self._store.used(workspace) >= most:
                    raise _plan_ends(plan)
                # Check the destination and the quota in each attempt, because another process can have
                # changed them since the last attempt.
                refuse_archived(await self._destination(principal, environment, destination.id))
                own = await self._quotas.tally(principal, environment, Quota.TRANSFORMS)
                if not await written(self._store.create(script, workspace, most, entry, own)):
                    return None
                return await self._get(principal, environment, identifier)

            return await self._writer.attempts(_SCRIPTS, attempt)

        return await self._writer.commands.run(command)

    async def unkept(
        self, principal: Principal, environment: int, draft: TransformPreviewDraft
    ) -> TransformScript:
        """Return a script for a trial run. It is not stored, and has no version.

        Raises Refusal: 413 if the source is too large, 404 for an unknown destination, 402 if the plan
        allows no scripts, 409 for an archived destination.
        """
        _check_size(draft.source)
        destination = await self._destination(principal, environment, draft.destination_id)
        plan = self._plans.of_environment(environment)
        if plan.transforms == 0:
            raise _plan_ends(plan)
        refuse_archived(destination)
        return _drafted(destination.id, destination, draft.source)

    async def publish(
        self, principal: Principal, environment: int, identifier: str
    ) -> TransformScript:
        """Make a version the live one. Raises Refusal 404, 402 or 409 (archived)."""

        async def attempt() -> TransformScript | None:
            script = await self._get(principal, environment, identifier)
            present = await self._destination(principal, environment, script.destination)
            plan = self._plans.of_environment(environment)
            if plan.transforms == 0:
                raise _plan_ends(plan)
            refuse_archived(present)
            live = Transform(script.id, script.version, script.source)
            if present.transform == live:
                return script
            at_ms = self._writer.now_ms()
            following = self._following(present, live)
            changes = _changes(present.transform, live)
            entry = self._writer.entry(principal, "transform_script.publish", identifier, changes)
            if not await written(self._destinations.publish(following, entry, at_ms)):
                return None
            self._writer.projection.destination(following)
            return await self._get(principal, environment, identifier)

        return await self._writer.command(_SCRIPTS, attempt)

    async def unpublish(
        self, principal: Principal, environment: int, identifier: str
    ) -> TransformScript:
        """Leave the destination without a script. Raises Refusal 404 or 409 (archived, or not live)."""

        async def attempt() -> TransformScript | None:
            script = await self._get(principal, environment, identifier)
            present = await self._destination(principal, environment, script.destination)
            refuse_archived(present)
            if present.transform is None or present.transform.id != script.id:
                raise Refusal("conflict", "the version is not published")
            following = self._following(present, None)
            changes = _changes(present.transform, None)
            entry = self._writer.entry(principal, "transform_script.unpublish", identifier, changes)
            if not await written(self._destinations.replace(following, entry)):
                return None
            self._writer.projection.destination(following)
            return await self._get(principal, environment, identifier)

        return await self._writer.command(_SCRIPTS, attempt)

    async def remove(self, principal: Principal, environment: int, identifier: str) -> None:
        """Remove a version that is not live. Raises Refusal 404 or 409 (archived, or live)."""

        async def attempt() -> bool | None:
            script = await self._get(principal, environment, identifier)
            refuse_archived(await self._destination(principal, environment, script.destination))
            if script.status is TransformStatus.PUBLISHED:
                raise Refusal("conflict", "the version is published: publish another one first")
            before = {"destinationId": script.destination, "name": script.name}
            changes = differences({**before, "version": script.version}, {})
            entry = self._writer.entry(principal, "transform_script.delete", identifier, changes)
            return True if await written(self._store.remove(script, entry)) else None

        await self._writer.command(_SCRIPTS, attempt)

    async def _get(
        self, principal: Principal, environment: int, identifier: str
    ) -> TransformScript:
        script = await self._store.get(environment, identifier)
        if script is None or not principal.sees(script.customer_account):
            raise Refusal("not_found", "no such transform script")
        return script

    async def _destination(
        self, principal: Principal, environment: int, identifier: str
    ) -> DestinationRecord:
        return await destination_of(
            self._destinations, principal, environment, identifier, field="destinationId"
        )

    def _following(
        self, present: DestinationRecord, transform: Transform | None
    ) -> DestinationRecord:
        return msgspec.structs.replace(
            present,
            version=present.version + 1,
            transform=transform,
            updated_at_ms=self._writer.next_ms(present.updated_at_ms),
        )


def _check_size(source: str) -> None:
    if len(source.encode()) > SOURCE_BYTES:
        raise Refusal("payload_too_large", f"the source is larger than {SOURCE_BYTES} bytes")


def _drafted(
    identifier: str, destination: DestinationRecord, source: str, name: str = ""
) -> TransformScript:
    return TransformScript(
        id=identifier,
        environment=destination.environment,
        destination=destination.id,
        customer_account=destination.customer_account,
        version=0,  # the store assigns it
        name=name,
        source=source,
        status=TransformStatus.DRAFT,
        published_at_ms=None,
    )


def _changes(before: Transform | None, after: Transform | None) -> dict[str, Any]:
    return differences(
        {
            "live": None if before is None else before.id,
            "version": None if before is None else before.version,
        },
        {
            "live": None if after is None else after.id,
            "version": None if after is None else after.version,
        },
    )


def _plan_ends(plan: Plan) -> Refusal:
    most = plan.transforms
    has = f"at most {most} transform scripts" if most else "no transform scripts"
    return Refusal("plan_limit", f"the plan {plan.name} has {has}")
