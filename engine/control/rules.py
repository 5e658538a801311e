"""Commands on routing rules: create, change, enable, disable, remove."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import trio

from engine.control.actor import Actor, Auditor, differences
from engine.control.commands import Commands, written
from engine.control.documents import invalid, merged, read
from engine.control.drafts import RuleDraft
from engine.control.overlap import too_many_at_once
from engine.control.ports import DestinationStore, RuleStore
from engine.control.showing import Projection
from engine.control.views import rule_document
from engine.core.vocabulary import DestinationStatus
from engine.errors import Refusal
from engine.identity import Identity, created_at_ms
from engine.models import Rule

MAX_RULES = 1_000  # of an environment
MAX_FILTERS = 20  # that one event can meet: each takes at most some 3 ms
ATTEMPTS = 5  # as with destinations
BUSY = "the rules are being changed by others: try again"


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
        """Add a rule. Raises Refusal 404 or 409 for its destination, 400 past the limits."""

        async def command() -> Rule:
            await self._require_destination(actor, environment, draft.destination_id)
            identifier = self._identity.other()
            now_ms = created_at_ms(identifier)
            rule = _drafted(draft, identifier, environment, version=1, updated_at_ms=now_ms)
            changes = differences({}, rule_document(rule))
            entry = self._auditor.entry(actor, "routing_rule.create", identifier, changes)
            for _ in range(ATTEMPTS):
                tally = await self._tally(rule, None)
                if await written(self._store.create(rule, MAX_RULES, entry, tally)):
                    self._projection.rule(rule)
                    return rule
                if (await self._store.filtered(environment)).rules >= MAX_RULES:
                    raise Refusal(
                        "invalid_request", f"an environment has at most {MAX_RULES} rules"
                    )
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", BUSY)

        return await self._commands.run(command)

    async def update(
        self,
        actor: Actor,
        environment: int,
        identifier: str,
        patch: Mapping[str, Any],
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
                present = await self._get(actor, environment, identifier)
                changes = differences(rule_document(present), {})
                entry = self._auditor.entry(actor, "routing_rule.delete", identifier, changes)
                if await written(self._store.remove(present, entry)):
                    self._projection.rule_removed(identifier)
                    return
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", BUSY)

        await self._commands.run(command)

    async def _switch(
        self,
        actor: Actor,
        environment: int,
        identifier: str,
        *,
        enabled: bool,
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
                present = await self._get(actor, environment, identifier)
                draft = change(present)
                if draft.destination_id != present.destination:
                    await self._require_destination(actor, environment, draft.destination_id)
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
                tally = await self._tally(rule, present)
                if await written(self._store.replace(rule, entry, tally)):
                    self._projection.rule(rule)
                    return rule
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", BUSY)

        return await self._commands.run(command)

    async def _tally(self, rule: Rule, present: Rule | None) -> int | None:
        """Return the tally at which the rule's filter is one of few enough, None where that is no
        question. Raises Refusal where there are too many."""
        if rule.filter is None:
            return None
        filtered_before = present is not None and present.filter is not None
        if filtered_before and present is not None and present.event_types == rule.event_types:
            return None
        known = await self._store.filtered(rule.environment)
        others = {key: types for key, types in known.patterns.items() if key != rule.id}
        # In a thread: a thousand rules of a hundred patterns take half a second.
        if len(others) >= MAX_FILTERS and await trio.to_thread.run_sync(
            too_many_at_once, rule.event_types, others, MAX_FILTERS
        ):
            raise invalid(
                "filter", f"one event type would meet more than {MAX_FILTERS} rules with a filter"
            )
        return known.tally

    async def _get(self, actor: Actor, environment: int, identifier: str) -> Rule:
        rule = await self._store.get(environment, identifier)
        if rule is not None and actor.customer is not None:
            destination = await self._destinations.get(environment, rule.destination)
            if destination is None or not actor.sees(destination.customer_account):
                rule = None
        if rule is None:
            raise Refusal("not_found", "no such routing rule")
        return rule

    async def _require_destination(self, actor: Actor, environment: int, identifier: str) -> None:
        destination = await self._destinations.get(environment, identifier)
        if destination is None or not actor.sees(destination.customer_account):
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
        filter=draft.filter,
    )
