"""The explanation of an event."""

from functools import partial

from api.call import Call
from api.pages import views_of
from api.resources import deliveries, events, preview
from api.routes import READ, Command, Embed, Method, Route
from api.shapes.rules import EventExplanation, ExplainedRule, RecordedDelivery
from engine.core.vocabulary import DeliveryOrigin
from engine.log.delivery_log import DeliveryFilter
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.routing.preview import Judgement
from engine.routing.preview import preview as previewed

MOST = 1_000  # deliveries listed


async def explain(call: Call) -> EventExplanation:
    """Show the receivers of an event, and the reasons."""
    services = call.services
    detail = await services.event_log.event(call.number, call.identifier())
    if detail is None or not call.sees_customer(detail.entry.customer):
        raise Refusal("not_found", "no such event")
    event = detail.event()
    work = partial(previewed, services.models, event, call.customer, None)
    account = None if call.customer is None else call.customer.account
    found = await services.judge.work(call.number, len(event.payload), work, account)
    recorded, at_least = await _recorded(call, event.id)
    to = {each["destinationId"]: each["deliveryId"] for each in recorded}
    accepted_ms = created_at_ms(event.id)
    shown = await preview.view(event, found)
    judged = found.judgements[: len(shown["rules"])]
    return {
        "eventId": event.id,
        **shown,
        "rules": await views_of(lambda each: _rule(each, to, accepted_ms), judged),
        "recorded": recorded,
        "atLeast": at_least,
    }


def _rule(judgement: Judgement, to: dict[str, str], accepted_ms: int) -> ExplainedRule:
    return {
        **preview.rule_view(judgement),
        "changedSince": judgement.rule.updated_at_ms > accepted_ms,
        "deliveryId": to.get(judgement.rule.destination),
    }


async def _recorded(call: Call, event: str) -> tuple[list[RecordedDelivery], bool]:
    """Return the deliveries that were made when the event was accepted, at most `MOST` of them, and True
    if there can be more."""
    which = DeliveryFilter(events=(event,), origins=(DeliveryOrigin.NORMAL,))
    which = await deliveries.own(call, which)
    found = await call.services.delivery_log.deliveries(call.number, which, None, MOST)
    sent = deliveries.flying(call, found.items)
    items = await views_of(lambda entry: deliveries.item_view(call, entry, sent), found.items)
    recorded: list[RecordedDelivery] = [
        {"deliveryId": each["id"], "destinationId": each["destinationId"], "status": each["status"]}
        for each in items
    ]
    return recorded, found.below is not None


ROUTES = (
    Route(
        method="GET",
        path="/events/{id}/explain",
        name="explainEvent",
        command=Command("events explain"),
        client=Method("events.explain"),
        summary="Show the receivers of an event, and the reasons",
        description="Judges the event by the present rules, rule by rule, with the values that "
        "filters read. Also lists the deliveries that were made when the event was accepted. "
        "`changedSince` marks the rules that were created or changed after the event.",
        tag=events.TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("rules.filterRead",),
        handler=explain,
        refusals=(404,),
    ),
)
