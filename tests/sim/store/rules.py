"""Routing rules of the simulated database, the failures of their filters, and the tallies. The tally of
an environment is the number of its rules, with a version."""

from collections.abc import Sequence
from functools import partial

from engine.core.vocabulary import DestinationStatus
from engine.model.configuration import AuditEntry, FilteredRules, FilterErrors, FilterFailure
from engine.model.quotas import CustomerTally
from engine.model.read_models import RuleModel
from engine.ports import PoisonError
from tests.sim.store.connection import Pool
from tests.sim.store.tables import Tables, require_text


def create(
    tables: Tables, rule: RuleModel, at_most: int, audit: AuditEntry, tally: int | None
) -> bool:
    """Add a rule and return True. Add nothing and return False if the rule's destination is archived, if
    the environment already has `at_most` rules, or if its tally no longer has the version `tally`. If
    `tally` is None, the version is not checked."""
    _require_texts(rule)
    if not _is_open(tables, rule) or at_most == 0:
        return False
    known = tables.tallies.get(rule.environment)
    if known is not None and (known[0] >= at_most or tally not in (None, known[1])):
        return False
    if any(identifier == rule.id for _, identifier in tables.rules):
        raise PoisonError("23505 duplicate key value: routing_rules")
    tables.check_audit(audit)
    tables.tallies[rule.environment] = (1, 1) if known is None else (known[0] + 1, known[1] + 1)
    _write(tables, rule, audit)
    return True


def replace(tables: Tables, rule: RuleModel, audit: AuditEntry, tally: int | None) -> bool:
    """The tally's version rises even if nothing is written."""
    _require_texts(rule)
    known = tables.tallies.get(rule.environment)
    if known is None or tally not in (None, known[1]) or not _is_open(tables, rule):
        return False
    present = tables.rules.get((rule.environment, rule.id))
    if present is not None and present.version == rule.version - 1:
        tables.check_audit(audit)
    tables.tallies[rule.environment] = known[0], known[1] + 1
    if present is None or present.version != rule.version - 1:
        return False
    if present.filter != rule.filter:
        tables.filter_failures.pop((rule.environment, rule.id), None)
    _write(tables, rule, audit)
    return True


def remove(tables: Tables, rule: RuleModel, audit: AuditEntry) -> bool:
    place = rule.environment, rule.id
    present = tables.rules.get(place)
    known = tables.tallies.get(rule.environment)
    if present is None or known is None or present.version != rule.version:
        return False
    tables.check_audit(audit)
    del tables.rules[place]
    tables.tallies[rule.environment] = known[0] - 1, known[1] + 1
    tables.filter_failures.pop(place, None)
    tables.add_audit(audit)
    tables.on_ruled(present, False)
    return True


def remove_all(
    tables: Tables, rules: Sequence[RuleModel], audits: Sequence[AuditEntry]
) -> list[str]:
    pairs = zip(rules, audits, strict=True)
    return [rule.id for rule, audit in pairs if remove(tables, rule, audit)]


def _is_open(tables: Tables, rule: RuleModel) -> bool:
    found = tables.destinations.get((rule.environment, rule.destination))
    return found is not None and found.status is not DestinationStatus.ARCHIVED


def _require_texts(rule: RuleModel) -> None:
    require_text(rule.name, rule.filter, *rule.event_types)


def _write(tables: Tables, rule: RuleModel, audit: AuditEntry) -> None:
    tables.rules[rule.environment, rule.id] = rule
    tables.add_audit(audit)
    tables.on_ruled(rule, True)


def failed(tables: Tables, failures: Sequence[FilterFailure]) -> None:
    for each in failures:
        rule = tables.rules.get((each.environment, each.rule))
        if rule is None or rule.filter != each.filter:
            continue
        place = each.environment, each.rule
        known = tables.filter_failures.get(place)
        if known is None:
            tables.filter_failures[place] = each.errors
            continue
        newer = each.errors.last_at_ms >= known.last_at_ms
        tables.filter_failures[place] = FilterErrors(
            known.count + each.errors.count,
            max(known.last_at_ms, each.errors.last_at_ms),
            each.errors.last_message if newer else known.last_message,
        )


class SimulatedRules:
    """The simulated `engine.control.ports.RuleStore`."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool

    async def create(
        self,
        rule: RuleModel,
        at_most: int,
        audit: AuditEntry,
        tally: int | None = None,
        customer: CustomerTally | None = None,
    ) -> bool:
        """Customers' sessions are not simulated."""
        assert customer is None
        work = partial(create, self._tables, rule, at_most, audit, tally)
        return await self._pool.write("create rule", work)

    async def replace(self, rule: RuleModel, audit: AuditEntry, tally: int | None = None) -> bool:
        work = partial(replace, self._tables, rule, audit, tally)
        return await self._pool.write("replace rule", work)

    async def remove(self, rule: RuleModel, audit: AuditEntry) -> bool:
        return await self._pool.write("remove rule", partial(remove, self._tables, rule, audit))

    async def remove_all(
        self, rules: Sequence[RuleModel], audits: Sequence[AuditEntry]
    ) -> list[str]:
        work = partial(remove_all, self._tables, list(rules), list(audits))
        return await self._pool.write("remove rules", work)

    async def left_behind(self, limit: int) -> list[tuple[int, str]]:
        def work() -> list[tuple[int, str]]:
            rules = self._tables.rules.values()
            found = {
                (rule.environment, rule.destination)
                for rule in rules
                if not _is_open(self._tables, rule)
            }
            return sorted(found)[:limit]

        return await self._pool.read("rules left behind", work)

    async def count(self, environment: int) -> int:
        return await self._pool.read(
            "number of rules", lambda: self._tables.tallies.get(environment, (0, 0))[0]
        )

    async def filtered(self, environment: int, account: str | None, at_most: int) -> FilteredRules:
        def work() -> FilteredRules:
            rules, version = self._tables.tallies.get(environment, (0, 0))
            tied = {
                each.id
                for each in self._tables.destinations.values()
                if each.environment == environment and each.customer_account == account
            }
            patterns: dict[str, tuple[str, ...]] = {}
            for rule in self._tables.rules.values():
                if sum(map(len, patterns.values())) > at_most:
                    break
                if rule.destination in tied and rule.filter is not None:
                    patterns[rule.id] = rule.event_types
            return FilteredRules(rules=rules, tally=version, patterns=patterns)

        return await self._pool.read("filtered rules", work)

    async def failures(self, environment: int, rules: Sequence[str]) -> dict[str, FilterErrors]:
        wanted = list(rules)

        def work() -> dict[str, FilterErrors]:
            known = self._tables.filter_failures
            places = [(environment, each) for each in wanted]
            return {place[1]: known[place] for place in places if place in known}

        return await self._pool.read("filter failures", work)

    async def failed(self, failures: Sequence[FilterFailure]) -> None:
        await self._pool.write("filter failed", partial(failed, self._tables, list(failures)))

    async def get(self, environment: int, rule: str) -> RuleModel | None:
        place = environment, rule
        return await self._pool.read("rule", partial(self._tables.rules.get, place))

    async def find(self, rule: str) -> RuleModel | None:
        def work() -> RuleModel | None:
            return next((each for each in self._tables.rules.values() if each.id == rule), None)

        return await self._pool.read("find rule", work)

    async def page(
        self,
        environment: int,
        destinations: Sequence[str] | None,
        enabled: bool | None,
        before: str | None,
        limit: int,
        account: str | None = None,
    ) -> list[RuleModel]:
        def work() -> list[RuleModel]:
            found = [
                rule
                for rule in self._tables.rules.values()
                if rule.environment == environment
                and (destinations is None or rule.destination in destinations)
                and enabled in (None, rule.enabled)
                and (before is None or rule.id < before)
                and account in (None, self._account_of(rule))
            ]
            found.sort(key=lambda rule: rule.id, reverse=True)
            return found[:limit]

        return await self._pool.read("rules", work)

    def _account_of(self, rule: RuleModel) -> str | None:
        record = self._tables.destinations.get((rule.environment, rule.destination))
        return None if record is None else record.customer_account
