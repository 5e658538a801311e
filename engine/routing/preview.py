"""The preview of an event: the rules that name its type, the result of each, and the destinations.

The preview changes nothing, and awaits nothing. It calls the caller's `pause` now and then, so that the
caller can divide a long preview into slices.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

from msgspec import Struct

from engine.core.destination import Destination
from engine.core.pattern_index import PatternIndex, Steps
from engine.core.records import Event
from engine.core.split_table import SplitTable
from engine.core.vocabulary import DestinationStatus, Priority
from engine.filters import EvaluationError, Facts, facts_of
from engine.filters.members import MemberValue, values_of
from engine.model.errors import Refusal
from engine.model.identity import MAX_FANOUT
from engine.model.read_models import Models, RuleModel, SessionCustomer
from engine.routing.router import FILTER_STEPS, filter_of, matching_pattern

SHOWN = 1_000  # rules of one preview: with their filters some 2 MB at the most
JUDGED_STEPS = 4  # the cost of judging and showing one rule, in steps of the index: some 8 us
_ALL_FIELDS = ("payload", "metadata", "occurredAt")  # that must be decoded for filters


class Reason(Enum):
    """The reason why a rule chooses its destination for an event, or does not."""

    MATCHES = "it matches"
    OTHER_TYPE = "no pattern of it names the type"
    RULE_DISABLED = "the rule is disabled"
    DESTINATION_ARCHIVED = "the destination is archived"
    OTHER_CUSTOMER = "the destination is tied to another customer"
    FILTER_FALSE = "the filter is false"
    FILTER_FAILED = "the filter could not be evaluated"


class Judgement(Struct, frozen=True, kw_only=True):
    """The result of one rule for an event. `filter_value` is None if the rule has no filter, or if its
    filter failed. `read`: the members of the event that the filter names."""

    rule: RuleModel
    destination: Destination | None  # None for a rule that is tried without one
    pattern: str | None
    customer_matches: bool
    filter_value: bool | None
    filter_error: str | None
    read: list[MemberValue]
    reason: Reason


class Reached(Struct, frozen=True):
    """A destination that the event would go to. `rule` is the rule of the highest priority among the
    rules that choose the destination."""

    destination: Destination
    priority: Priority
    rule: RuleModel


class Preview(Struct, frozen=True, kw_only=True):
    """The preview of an event. `refusal` is set if the event does not conform to the active schema, or if
    too many destinations match. `reached` is then empty."""

    refusal: Refusal | None
    reached: list[Reached]
    judgements: list[Judgement]  # of the rules that name the type, and of the one that is tried
    others: int  # rules that name other types only
    omitted: (
        int  # rules beyond `SHOWN`; of other customers' rules, also those that name other types
    )


def preview(
    models: Models,
    event: Event,
    customer: SessionCustomer | None,
    trial: RuleModel | None,
    pause: Callable[[], None],
) -> Preview:
    """Judge an event by all rules of its environment. With `customer`, judge it only by the rules of the
    customer's destinations. `trial` is a further rule, which does not exist yet.
    """
    refusal = _refusal(models, event, pause)
    steps, judge = Steps(pause), _Judge(event, pause)
    shown: list[Judgement] = []
    reached: dict[str, Reached] = {}
    everything = omitted = 0
    for index, must in _indexes(models, event, customer):
        if not must and len(shown) >= SHOWN:
            omitted += len(index)
            continue
        everything += len(index)
        for rule in _once(index.portions(event.type, steps), steps):
            everything -= 1
            if len(shown) >= SHOWN:
                omitted += 1
                present = reached.get(rule.destination)
                if len(reached) > MAX_FANOUT or (
                    present is not None and rule.priority <= present.priority
                ):
                    steps.spend(1)
                    continue  # the rule is not shown, and changes no destination
            # Count the steps that it takes to show the rule, to match its patterns and to compile its
            # filter. The run of the filter is not included: `Facts` counts its steps, and calls `pause`.
            steps.spend(JUDGED_STEPS + len(rule.event_types) + (FILTER_STEPS if rule.filter else 0))
            judgement = judge.judged(rule, models.destinations.get(rule.destination))
            _reach(reached, judgement)
            if len(shown) < SHOWN:
                shown.append(judgement)
    shown.sort(key=lambda judgement: judgement.rule.id)
    if trial is not None:
        shown.append(judge.judged(trial, models.destinations.get(trial.destination)))
        _reach(reached, shown[-1])
    if refusal is None and len(reached) > MAX_FANOUT:
        refusal = Refusal("invalid_request", f"more than {MAX_FANOUT} destinations match")
    return Preview(
        refusal=refusal,
        reached=[] if refusal is not None else list(reached.values()),
        judgements=shown,
        others=max(0, everything),  # `everything` is below 0 if rules were added during a pause
        omitted=omitted,
    )


def _once(portions: Iterable[list[RuleModel]], steps: Steps) -> Iterator[RuleModel]:
    """Yield each rule once, even if several of its patterns match the event's type."""
    seen: SplitTable[bool] = SplitTable()
    for portion in portions:
        for rule in portion:
            if len(rule.event_types) > 1:
                if seen.get(rule.id):
                    continue
                seen.put(rule.id, True)
            yield rule
    for part in seen.parts():  # a million ids at once take 20 ms to be freed
        steps.spend(len(part))
        part.clear()


def _indexes(
    models: Models, event: Event, customer: SessionCustomer | None
) -> Iterator[tuple[PatternIndex[RuleModel], bool]]:
    """Yield pairs of a rule index and a flag. The flag is True if the rules of the index can apply to the
    event. For a customer, yield only the index of the rules of the customer's destinations."""
    if customer is not None:
        own = models.index_of(event.environment, customer.external_id)
        if own is not None:
            yield own, True
        return
    mine = [models.index_of(event.environment, None)]
    if event.customer is not None:
        mine.append(models.index_of(event.environment, event.customer))
    for index in mine:
        if index is not None:
            yield index, True
    for index in list(models.indexes_of(event.environment)):
        if not any(index is each for each in mine):
            yield index, False


class _Judge:
    def __init__(self, event: Event, pause: Callable[[], None]) -> None:
        self._event = event
        self._pause = pause
        self._fields: dict[str, Any] | None = None

    def judged(self, rule: RuleModel, destination: Destination | None) -> Judgement:
        event = self._event
        pattern = matching_pattern(rule.event_types, event.type)
        tied = None if destination is None else destination.customer
        value, error, read = self._filtered(rule) if pattern is not None else (None, None, [])
        if pattern is None:
            reason = Reason.OTHER_TYPE
        elif not rule.enabled:
            reason = Reason.RULE_DISABLED
        elif destination is not None and destination.status is DestinationStatus.ARCHIVED:
            reason = Reason.DESTINATION_ARCHIVED
        elif tied not in (None, event.customer):
            reason = Reason.OTHER_CUSTOMER
        elif error is not None:
            reason = Reason.FILTER_FAILED
        elif value is False:
            reason = Reason.FILTER_FALSE
        else:
            reason = Reason.MATCHES
        return Judgement(
            rule=rule,
            destination=destination,
            pattern=pattern,
            customer_matches=tied in (None, event.customer),
            filter_value=value,
            filter_error=error,
            read=read,
            reason=reason,
        )

    def _filtered(self, rule: RuleModel) -> tuple[bool | None, str | None, list[MemberValue]]:
        compiled = filter_of(rule)
        if compiled is None:
            return None, None, []
        if self._fields is None:
            self._fields = facts_of(self._event, _ALL_FIELDS).fields
        read = values_of(compiled.members, self._fields)
        try:
            return compiled.matches(Facts(self._fields, self._pause)), None, read
        except EvaluationError as error:
            return None, str(error), read


def _reach(reached: dict[str, Reached], judgement: Judgement) -> None:
    destination = judgement.destination
    if judgement.reason is not Reason.MATCHES or destination is None:
        return
    present = reached.get(destination.id)
    if present is None or judgement.rule.priority > present.priority:
        reached[destination.id] = Reached(destination, judgement.rule.priority, judgement.rule)


def _refusal(models: Models, event: Event, pause: Callable[[], None]) -> Refusal | None:
    check = models.check_of(event.environment, event.type)
    if check is None:
        return None
    try:
        check.check(event.payload, pause)
    except Refusal as refusal:
        return refusal
    return None
