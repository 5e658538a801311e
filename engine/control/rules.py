"""Commands on routing rules: create, change, enable, disable, remove."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio

from engine.control.actor import Actor, Auditor, differences
from engine.control.commands import Commands, written
from engine.control.documents import merged, read
from engine.control.drafts import RuleDraft
from engine.control.ports import DestinationStore, RuleStore
from engine.control.projection import Projection
from engine.control.views import rule_document
from engine.core.vocabulary import DestinationStatus
from engine.errors import Refusal
from engine.identity import Identity, created_at_ms
from engine.models import Rule

MAX_RULES = 1_000  # of an environment
ATTEMPTS = 5  # as with destinations


class RoutingRules:
    """The routing rules of all environments, written."""

    def __init__(
        self,
        store: RuleStore,
        destinations: DestinationStore,
        commands: Commands,
        projection: Projection,
        identity: Identity,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._destinations = destinations
        self._commands = commands
        self._projection = projection
        self._identity = identity
        self._auditor = Auditor(identity)
        self._now = now

    async def create(self, actor: Actor, environment: int, draft: RuleDraft) -> Rule:
        """Add a rule. Raises Refusal 404 or 409 for its destination, 400 past the limit."""

        async def command() -> Rule:
            await self._require_destination(environment, draft.destination_id)
            identifier = self._identity.other()
            now_ms = created_at_ms(identifier)
            rule = _drafted(draft, identifier, environment, version=1, updated_at_ms=now_ms)
            changes = differences({}, rule_document(rule))
            entry = self._auditor.entry(actor, "routing_rule.create", identifier, changes)
            if not await written(self._store.create(rule, MAX_RULES, entry)):
                raise Refusal("invalid_request", f"an environment has at most {MAX_RULES} rules")
            self._projection.rule(rule)
            return rule

        return await self._commands.run(command)

    async def update(
        self, actor: Actor, environment: int, identifier: str, patch: Mapping[str, Any]
    ) -> Rule:
        """Apply a merge patch; return the next version."""

        def change(present: Rule) -> RuleDraft:
            return read(RuleDraft, merged(rule_document(present), patch))

        return await self._change(actor, environment, identifier, "update", change)

    async def enable(self, actor: Actor, environment: int, identifier: str) -> Rule:
        """Route by it."""
        return await self._switch(actor, environment, identifier, enabled=True)

    async def disable(self, actor: Actor, environment: int, identifier: str) -> Rule:
        """Route by it no more, for now."""
        return await self._switch(actor, environment, identifier, enabled=False)

    async def remove(self, actor: Actor, environment: int, identifier: str) -> None:
        """Remove a rule. Raises Refusal 404 when there is none."""

        async def command() -> None:
            for _ in range(ATTEMPTS):
                present = await self._get(environment, identifier)
                changes = differences(rule_document(present), {})
                entry = self._auditor.entry(actor, "routing_rule.delete", identifier, changes)
                if await written(self._store.remove(present, entry)):
                    self._projection.rule_removed(identifier)
                    return
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", "the rule is being changed by others: try again")

        await self._commands.run(command)

    async def _switch(
        self, actor: Actor, environment: int, identifier: str, *, enabled: bool
    ) -> Rule:
        def change(present: Rule) -> RuleDraft:
            return read(RuleDraft, {**rule_document(present), "enabled": enabled})

        action = "enable" if enabled else "disable"
        return await self._change(actor, environment, identifier, action, change)

    async def _change(
        self,
        actor: Actor,
        environment: int,
        identifier: str,
        action: str,
        change: Callable[[Rule], RuleDraft],
    ) -> Rule:
        async def command() -> Rule:
            for _ in range(ATTEMPTS):
                present = await self._get(environment, identifier)
                draft = change(present)
                if draft.destination_id != present.destination:
                    await self._require_destination(environment, draft.destination_id)
                same = _drafted(
                    draft, identifier, environment, present.version, present.updated_at_ms
                )
                if same == present:
                    return present
                updated_at_ms = max(int(self._now() * 1000), present.updated_at_ms + 1)
                rule = msgspec.structs.replace(
                    same, version=present.version + 1, updated_at_ms=updated_at_ms
                )
                changes = differences(rule_document(present), rule_document(rule))
                entry = self._auditor.entry(actor, f"routing_rule.{action}", identifier, changes)
                if await written(self._store.replace(rule, entry)):
                    self._projection.rule(rule)
                    return rule
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", "the rule is being changed by others: try again")

        return await self._commands.run(command)

    async def _get(self, environment: int, identifier: str) -> Rule:
        rule = await self._store.get(environment, identifier)
        if rule is None:
            raise Refusal("not_found", "no such routing rule")
        return rule

    async def _require_destination(self, environment: int, identifier: str) -> None:
        destination = await self._destinations.get(environment, identifier)
        if destination is None:
            raise Refusal("not_found", "destinationId: no such destination")
        if destination.status is DestinationStatus.ARCHIVED:
            raise Refusal("conflict", "destinationId: the destination is archived")


def _drafted(
    draft: RuleDraft, identifier: str, environment: int, version: int, updated_at_ms: int
) -> Rule:
    return Rule(
        id=identifier,
        environment=environment,
        destination=draft.destination_id,
        name=draft.name,
        event_types=tuple(draft.event_types),
        priority=draft.priority_class,
        enabled=draft.enabled,
        created_at_ms=created_at_ms(identifier),
        updated_at_ms=updated_at_ms,
        version=version,
    )
