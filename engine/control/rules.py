"""Commands on routing rules: create, change, enable, disable, remove."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.customers import QuotaCheck
from engine.control.overlap import too_many_at_once
from engine.control.ports import DestinationStore, RuleStore
from engine.control.views import rule_document
from engine.control.writer import ConfigurationWriter, destination_of, refuse_archived
from engine.drafts import RuleDraft
from engine.model.documents import invalid, merged, read
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.quotas import Quota
from engine.model.read_models import RuleModel
from engine.plans.plans import Plans
from engine.runtime.slice_executor import SliceExecutor

# MAX_FILTERS and MAX_FILTERED_PATTERNS apply to the rules of one customer's destinations in one
# environment. The destinations without a customer count together as one more customer.
#
# How many rules with a filter can match the same event type. Each filter takes at most 3 ms.
MAX_FILTERS = 100
# How many patterns the rules with a filter can have together. A new rule is compared with all these
# patterns. To compare them, up to 12 MB are read from the database.
MAX_FILTERED_PATTERNS = 50_000
AT_ONCE = (
    50  # rules that one statement removes of an archived destination: a millisecond of the loop
)
# How many characters the patterns of one rule can have together: enough for a hundred patterns of 40
# characters. If the limit were 25,600, a thousand of the largest rules would take 25 MB of memory. For
# these rules, the check of MAX_FILTERS (`too_many_at_once`) would take up to half a second of CPU.
MAX_PATTERN_CHARACTERS = 4_096
_RULES = "the routing rules"  # their name in a refusal


class RuleCommands:
    """Writes the routing rules of all environments."""

    def __init__(
        self,
        store: RuleStore,
        destinations: DestinationStore,
        writer: ConfigurationWriter,
        plans: Plans,
        quotas: QuotaCheck,
    ) -> None:
        self._store = store
        self._destinations = destinations
        self._writer = writer
        self._plans = plans
        self._quotas = quotas
        self._comparing = SliceExecutor()

    async def create(self, principal: Principal, environment: int, draft: RuleDraft) -> RuleModel:
        """Add a rule.

        Raises Refusal: 404 for an unknown destination, 409 for an archived one, 402 if the plan or the
        customer's quota allows no further rule, 400 for too many filters or too long patterns.
        """
        _check_size(draft.event_types)
        identifier = self._writer.new_id()
        now_ms = created_at_ms(identifier)
        rule = _drafted(draft, identifier, environment, version=1, updated_at_ms=now_ms)
        changes = differences({}, rule_document(rule))
        entry = self._writer.entry(principal, "routing_rule.create", identifier, changes)
        plan = self._plans.of_environment(environment)

        async def attempt() -> RuleModel | None:
            account = await self._account(principal, environment, draft.destination_id)
            own = await self._quotas.tally(principal, environment, Quota.RULES)
            tally = await self._tally(rule, None, account)
            write = partial(self._store.create, rule, plan.rules, entry, tally, own)
            if await self._write(rule, write):
                return rule
            if await self._store.count(environment) >= plan.rules:
                raise Refusal(
                    "plan_limit",
                    f"the plan {plan.name} has at most {plan.rules} rules in an environment",
                )
            return None

        return await self._writer.attempts(_RULES, attempt)

    async def update(
        self,
        principal: Principal,
        environment: int,
        identifier: str,
        patch: Mapping[str, Any],
    ) -> RuleModel:
        """Apply a merge patch; return the next version."""

        def change(present: RuleModel) -> RuleDraft:
            return read(RuleDraft, merged(rule_document(present), patch))

        return await self._change(principal, environment, identifier, "update", change)

    async def enable(self, principal: Principal, environment: int, identifier: str) -> RuleModel:
        """Route by this rule."""
        return await self._switch(principal, environment, identifier, enabled=True)

    async def disable(self, principal: Principal, environment: int, identifier: str) -> RuleModel:
        """Stop routing by this rule until it is enabled."""
        return await self._switch(principal, environment, identifier, enabled=False)

    async def remove(self, principal: Principal, environment: int, identifier: str) -> None:
        """Remove a rule. Raises Refusal 404."""

        async def attempt() -> bool | None:
            present = await self._get(principal, environment, identifier)
            changes = differences(rule_document(present), {})
            entry = self._writer.entry(principal, "routing_rule.delete", identifier, changes)
            if not await written(self._store.remove(present, entry)):
                return None
            self._writer.projection.rule_removed(identifier)
            return True

        await self._writer.command(_RULES, attempt)

    async def remove_all_of(self, principal: Principal, environment: int, destination: str) -> None:
        """Remove the rules of an archived destination, AT_ONCE rules at a time. Other commands can run
        meanwhile."""

        async def work() -> bool:
            rules = await self._store.page(environment, (destination,), None, None, AT_ONCE)
            if not rules:
                return False
            entries = [
                self._writer.entry(
                    principal, "routing_rule.delete", rule.id, differences(rule_document(rule), {})
                )
                for rule in rules
            ]
            gone = await written(self._store.remove_all(rules, entries))
            async with self._writer.commands.turn:  # the loader yields while it reads these rules
                for each in gone:
                    self._writer.projection.rule_removed(each)
            return True

        while await self._writer.commands.run_beside(work):
            pass

    async def _switch(
        self,
        principal: Principal,
        environment: int,
        identifier: str,
        *,
        enabled: bool,
    ) -> RuleModel:
        def change(present: RuleModel) -> RuleDraft:
            return read(RuleDraft, {**rule_document(present), "enabled": enabled})

        action = "enable" if enabled else "disable"
        return await self._change(principal, environment, identifier, action, change)

    async def _change(
        self,
        principal: Principal,
        environment: int,
        identifier: str,
        action: str,
        change: Callable[[RuleModel], RuleDraft],
    ) -> RuleModel:
        async def attempt() -> RuleModel | None:
            present = await self._get(principal, environment, identifier)
            draft = change(present)
            if draft.event_types != list(present.event_types):  # older rules can be larger
                _check_size(draft.event_types)
            account = await self._account(principal, environment, draft.destination_id)
            same = _drafted(draft, identifier, environment, present.version, present.updated_at_ms)
            if same == present:
                return present
            rule = msgspec.structs.replace(
                same,
                version=present.version + 1,
                updated_at_ms=self._writer.next_ms(present.updated_at_ms),
            )
            changes = differences(rule_document(present), rule_document(rule))
            entry = self._writer.entry(principal, f"routing_rule.{action}", identifier, changes)
            tally = await self._tally(rule, present, account)
            done = await self._write(rule, partial(self._store.replace, rule, entry, tally))
            return rule if done else None

        return await self._writer.attempts(_RULES, attempt)

    async def _write(self, rule: RuleModel, write: Callable[[], Awaitable[bool]]) -> bool:
        """Write a rule as a command. The rule was checked before the command, because the check can take
        long and other commands would wait. If another rule has changed since the check, write nothing and
        return False.
        """

        async def command() -> bool:
            done = await written(write())
            if done:
                self._writer.projection.rule(rule)
            return done

        return await self._writer.commands.run(command)

    async def _tally(
        self, rule: RuleModel, present: RuleModel | None, account: str | None
    ) -> int | None:
        """Check MAX_FILTERS and MAX_FILTERED_PATTERNS for a rule and the other rules with a filter.
        `present` is the rule's version before this change, or None for a new rule.

        Return the environment's tally of rules at the time of the check. Return None if no check is
        needed: the rule has no filter, or `present` has a filter, the same patterns and the same
        destination.
        """
        if rule.filter is None:
            return None
        if (
            present is not None
            and present.filter is not None
            and present.event_types == rule.event_types
            and present.destination == rule.destination
        ):
            return None
        known = await self._store.filtered(rule.environment, account, MAX_FILTERED_PATTERNS)
        others = known.patterns
        others.pop(rule.id, None)
        if sum(map(len, others.values())) + len(rule.event_types) > MAX_FILTERED_PATTERNS:
            raise invalid(
                "filter",
                f"the rules with a filter have at most {MAX_FILTERED_PATTERNS} patterns together, of "
                f"{'one customer' if account else 'no customer'}",
            )
        # The search can take long (250 ms for a thousand rules of fifty patterns), so it runs in slices.
        compare = partial(too_many_at_once, rule.event_types, others, MAX_FILTERS)
        if len(others) >= MAX_FILTERS and await self._comparing.done(rule.environment, compare):
            raise invalid(
                "filter",
                f"one event type would meet more than {MAX_FILTERS} rules with a filter, of "
                f"{'one customer' if account else 'no customer'}",
            )
        return known.tally

    async def _get(self, principal: Principal, environment: int, identifier: str) -> RuleModel:
        rule = await self._store.get(environment, identifier)
        if rule is not None and principal.customer is not None:
            destination = await self._destinations.get(environment, rule.destination)
            if destination is None or not principal.sees(destination.customer_account):
                rule = None
        if rule is None:
            raise Refusal("not_found", "no such routing rule")
        return rule

    async def _account(self, principal: Principal, environment: int, identifier: str) -> str | None:
        destination = await destination_of(
            self._destinations, principal, environment, identifier, field="destinationId"
        )
        refuse_archived(destination, field="destinationId")
        return destination.customer_account


def _check_size(patterns: Sequence[str]) -> None:
    if sum(map(len, patterns)) > MAX_PATTERN_CHARACTERS:
        raise invalid(
            "eventTypes",
            f"the patterns of a rule have at most {MAX_PATTERN_CHARACTERS} characters together: "
            "make several rules of them",
        )


def _drafted(
    draft: RuleDraft, identifier: str, environment: int, version: int, updated_at_ms: int
) -> RuleModel:
    return RuleModel(
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
