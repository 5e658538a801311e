"""What would become of an event: which rules name its type, what each says of it, and where it would go.

It decides by the same functions as the router does, and changes nothing.
"""

from enum import Enum

import trio
from msgspec import Struct

from engine.core.destination import Destination
from engine.core.records import Event
from engine.core.vocabulary import DestinationStatus, Priority
from engine.errors import Refusal
from engine.filters import EvaluationError, facts_of
from engine.models import Models, Rule
from engine.router import filter_of, matching_pattern


class Reason(Enum):
    """Why a rule chooses its destination for an event, or does not."""

    MATCHES = "it matches"
    OTHER_TYPE = "no pattern of it names the type"
    RULE_DISABLED = "the rule is disabled"
    DESTINATION_ARCHIVED = "the destination is archived"
    OTHER_CUSTOMER = "the destination is tied to another customer"
    FILTER_FALSE = "the filter is false"
    FILTER_FAILED = "the filter could not be evaluated"


class Judgement(Struct, frozen=True, kw_only=True):
    """One rule and an event. `filter_value` is None where there is no filter or it failed."""

    rule: Rule
    destination: Destination | None  # None for a rule that is tried without one
    pattern: str | None
    customer_matches: bool
    filter_value: bool | None
    filter_error: str | None
    reason: Reason


class Reached(Struct, frozen=True):
    """A destination that the event would go to, by the rule of the highest priority."""

    destination: Destination
    priority: Priority
    rule: Rule


class Preview(Struct, frozen=True, kw_only=True):
    """What would become of an event. `refusal`: the active schema's, for which it reaches nothing."""

    refusal: Refusal | None
    reached: list[Reached]
    judgements: list[Judgement]  # of the rules that name the type, and of the one that is tried
    others: int  # rules that name other types only


async def preview(
    models: Models, event: Event, account: str | None, trial: Rule | None = None
) -> Preview:
    """Judge an event by all rules of its environment; with `account`, by those of destinations that are
    tied to it. `trial` is a rule that is not there yet."""
    judgements: list[Judgement] = []
    others = 0
    for rule in sorted(models.rules_of(event.environment), key=lambda rule: rule.id):
        destination = models.destinations.get(rule.destination)
        if destination is None or (account is not None and destination.customer_account != account):
            continue
        judgement = _judged(rule, destination, event)
        if judgement.pattern is None:
            others += 1
        else:
            judgements.append(judgement)
        if rule.filter is not None:
            await trio.lowlevel.checkpoint()  # some milliseconds at the worst
    if trial is not None:
        judgements.append(_judged(trial, models.destinations.get(trial.destination), event))
    refusal = _refusal(models, event)
    reached = _reached(judgements) if refusal is None else []
    return Preview(refusal=refusal, reached=reached, judgements=judgements, others=others)


def _judged(rule: Rule, destination: Destination | None, event: Event) -> Judgement:
    pattern = matching_pattern(rule.event_types, event.type)
    tied = None if destination is None else destination.customer
    value, error = _filtered(rule, event) if pattern is not None else (None, None)
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
        reason=reason,
    )


def _filtered(rule: Rule, event: Event) -> tuple[bool | None, str | None]:
    compiled = filter_of(rule)
    if compiled is None:
        return None, None
    try:
        return compiled.matches(facts_of(event, compiled.fields)), None
    except EvaluationError as error:
        return None, str(error)


def _reached(judgements: list[Judgement]) -> list[Reached]:
    best: dict[str, Reached] = {}
    for judgement in judgements:
        destination = judgement.destination
        if judgement.reason is not Reason.MATCHES or destination is None:
            continue
        present = best.get(destination.id)
        if present is None or judgement.rule.priority > present.priority:
            best[destination.id] = Reached(destination, judgement.rule.priority, judgement.rule)
    return list(best.values())


def _refusal(models: Models, event: Event) -> Refusal | None:
    check = models.check_of(event.environment, event.type)
    if check is None:
        return None
    try:
        check.check(event.payload)
    except Refusal as refusal:
        return refusal
    return None
