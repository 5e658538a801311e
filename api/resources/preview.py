"""The preview of routing."""

import json
from functools import partial
from typing import Annotated

from msgspec import UNSET
from pydantic import Field

from api.call import Call
from api.pages import PAGE_BYTES, fitting, views_of
from api.resources.ingestion import EventInput
from api.routes import READ, Embed, Method, Route
from api.shapes.rules import PreviewDestination, PreviewRule, RulePreview
from engine.core.records import Event
from engine.core.vocabulary import DestinationStatus, Priority
from engine.drafts import RULE_PATTERNS, Document, FilterSource, Name, NullIs, Pattern, Uuid
from engine.ingest.event_json import EVENT_BYTES, OWN_PREFIX, check_type, read_event
from engine.model.errors import Detail, Refusal
from engine.model.read_models import RuleModel
from engine.model.words import Word, word
from engine.routing.preview import Judgement, Preview, Reached, preview

TRIAL = "00000000-0000-0000-0000-000000000000"  # the id of a trial rule


class RuleTrial(Document):
    """A rule to try, which is not stored. `destinationId` can be left out."""

    name: Name = "trial"
    destination_id: Uuid | None = None
    event_types: list[Pattern] = Field(min_length=1, max_length=RULE_PATTERNS)
    filter: FilterSource | None = None
    priority: Annotated[
        Word[Priority],
        NullIs("STANDARD"),
    ] = word(Priority.STANDARD)
    enabled: bool = True


class PreviewInput(Document):
    """An example event, as for `POST /events`, and optionally a rule to try."""

    event: EventInput
    rule: RuleTrial | None = None


async def show(call: Call) -> RulePreview:
    """Show the destinations and deliveries that an event would get."""
    event = event_of(call)
    trial = _trial(call)
    work = partial(preview, call.services.models, event, call.customer, trial)
    account = None if call.customer is None else call.customer.account
    found = await call.services.judge.work(call.number, len(event.payload), work, account)
    return await view(event, found)


def event_of(call: Call) -> Event:
    """Return the example event of a body. Raises Refusal 400 or 413."""
    body = json.dumps(call.document["event"]).encode()
    if len(body) > EVENT_BYTES:
        raise Refusal("payload_too_large", f"an event is at most {EVENT_BYTES} bytes")
    try:
        given, payload = read_event(body)
        if not given.eventType.startswith(OWN_PREFIX):  # rules can name the service's own types
            check_type(given.eventType)
    except Refusal as refusal:
        raise Refusal(
            refusal.code,
            refusal.message,
            tuple(Detail(f"event.{each.path}", each.message) for each in refusal.details),
        ) from None
    return Event(
        TRIAL,
        call.number,
        given.eventType,
        given.occurred_at_ms(int(call.services.now() * 1000)),
        payload,
        bytes(given.metadata) if given.metadata is not UNSET else None,
        given.source or None,
        given.customerExternalId or None,
    )


def _trial(call: Call) -> RuleModel | None:
    draft = call.body_as(PreviewInput).rule
    if draft is None:
        return None
    if draft.destination_id is not None:
        destination = call.services.models.destinations.get(draft.destination_id)
        if (
            destination is None
            or destination.environment != call.number
            or not call.sees(destination.customer_account)
        ):
            raise Refusal("not_found", "rule.destinationId: no such destination")
    return RuleModel(
        id=TRIAL,
        environment=call.number,
        destination=draft.destination_id or TRIAL,
        name=draft.name,
        event_types=tuple(draft.event_types),
        priority=Priority[draft.priority],
        enabled=draft.enabled,
        created_at_ms=0,
        updated_at_ms=0,
        filter=draft.filter,
    )


async def view(event: Event, found: Preview) -> RulePreview:
    """Return the view of a preview."""
    refusal = found.refusal
    rules = await views_of(rule_view, found.judgements)
    shown = rules[: fitting(rules, PAGE_BYTES)]
    return {
        "eventType": event.type,
        "customerExternalId": event.customer,
        "accepted": refusal is None,
        "refusal": None
        if refusal is None
        else {
            "code": refusal.code,
            "message": refusal.message,
            "details": [{"path": each.path, "message": each.message} for each in refusal.details],
        },
        "destinations": await views_of(_destination, found.reached),
        "rules": shown,
        "otherRules": found.others,
        "omittedRules": found.omitted + len(rules) - len(shown),
    }


def _destination(reached: Reached) -> PreviewDestination:
    return {
        "destinationId": reached.destination.id,
        "name": reached.destination.name,
        "status": "ACTIVE"
        if reached.destination.status is DestinationStatus.ACTIVE
        else "DISABLED",
        "priority": word(reached.priority),
        "ruleId": _id(reached.rule.id),
    }


def rule_view(judgement: Judgement) -> PreviewRule:
    """Return one rule's judgement of an event."""
    rule, destination = judgement.rule, judgement.destination
    return {
        "ruleId": _id(rule.id),
        "name": rule.name,
        "destinationId": None if destination is None else destination.id,
        "destinationStatus": None if destination is None else word(destination.status),
        "enabled": rule.enabled,
        "pattern": judgement.pattern,
        "customerMatches": judgement.customer_matches,
        "filter": rule.filter,
        "filterValue": judgement.filter_value,
        "filterError": judgement.filter_error,
        "filterRead": [{"path": each.path, "value": each.value} for each in judgement.read],
        "priority": word(rule.priority),
        "matches": judgement.reason.name == "MATCHES",
        "reason": word(judgement.reason),
    }


def _id(identifier: str) -> str | None:
    return None if identifier == TRIAL else identifier


ROUTE = Route(
    method="POST",
    path="/routing-rules/preview",
    name="previewRoutingRules",
    client=Method("routing_rules.preview"),
    summary="Try an event on the rules",
    description="Shows the destinations that an example event would reach, and the result of each "
    "rule for its type. Nothing is sent or stored, so scope `read` is enough. `rule` is an "
    "additional rule to try.",
    tag="Routing rules",
    scopes=READ,
    embed=Embed.OWN,
    handler=show,
    body=PreviewInput,
    responses={200: RulePreview},
    refusals=(404,),
    example={
        "event": {
            "eventType": "order.created",
            "payload": {"id": "ord_1042", "total": 129.5, "country": "DE"},
        },
        "rule": {"eventTypes": ["order.*"], "filter": "event.payload.total >= 100"},
    },
)
