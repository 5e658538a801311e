"""The routes for routing rules."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from api import shapes
from api.call import Call
from api.pages import portioned_page, position
from api.queries import RuleQuery, all_of
from api.resources import preview
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes.rules import RULE_EXAMPLE, RoutingRule
from engine.control.views import rule_document
from engine.drafts import RuleDraft, RulePatch
from engine.model.configuration import FilterErrors
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.quotas import Ability
from engine.model.read_models import RuleModel
from engine.model.words import word

TAG = "Routing rules"
COLUMNS = (
    ("ID", "id"),
    ("ENABLED", "enabled"),
    ("PRIORITY", "priority"),
    ("DESTINATION", "destinationId"),
    ("EVENT TYPES", "eventTypes"),
    ("FILTER", "filter"),
    ("NAME", "name"),
)
LISTING = "/routing-rules"


async def views(call: Call, rules: Sequence[RuleModel]) -> list[RoutingRule]:
    """Return the views of rules, with the recorded failures of their filters."""
    filtered = [rule.id for rule in rules if rule.filter is not None]
    recorded: dict[str, FilterErrors] = {}
    if filtered:
        recorded = await call.services.rule_store.failures(call.number, filtered)
    failures = call.services.filter_failures
    return [_view(call, rule, failures.of(rule, recorded.get(rule.id))) for rule in rules]


def _view(call: Call, rule: RuleModel, errors: FilterErrors | None) -> RoutingRule:
    return {
        "id": rule.id,
        "environment": word(call.environment_name),
        **rule_document(rule),
        "filterErrors": None
        if errors is None
        else {
            "count": errors.count,
            "lastAt": iso(errors.last_at_ms),
            "lastMessage": errors.last_message,
        },
        "createdAt": iso(rule.created_at_ms),
        "updatedAt": iso(rule.updated_at_ms),
    }


async def view(call: Call, rule: RuleModel) -> RoutingRule:
    """Return the view of a rule."""
    return (await views(call, [rule]))[0]


async def create(call: Call) -> RoutingRule:
    """Create a rule."""
    draft = call.body_as(RuleDraft)
    rule = await call.services.rules.create(call.principal, call.number, draft)
    return await view(call, rule)


async def listing(call: Call) -> shapes.Page[RoutingRule]:
    """List rules, newest first."""
    query = call.query_as(RuleQuery)
    below = position(LISTING, call.number, query.cursor)
    account = None if call.customer is None else call.customer.account

    async def take(below: str | None, limit: int) -> Sequence[RuleModel]:
        return await call.services.rule_store.page(
            call.number, all_of(query.destination_id), query.enabled, below, limit, account
        )

    return await portioned_page(
        take, partial(views, call), LISTING, call.number, below, query.limit
    )


async def get(call: Call) -> RoutingRule:
    """Show one rule."""
    rule = await call.services.rule_store.get(call.number, call.identifier())
    if rule is not None and call.customer is not None:
        destination = call.services.models.destinations.get(rule.destination)
        if destination is None or not call.sees(destination.customer_account):
            rule = None
    if rule is None:
        raise Refusal("not_found", "no such routing rule")
    return await view(call, rule)


async def patch(call: Call) -> RoutingRule:
    """Apply a merge patch."""
    rule = await call.services.rules.update(
        call.principal, call.number, call.identifier(), call.document
    )
    return await view(call, rule)


async def remove(call: Call) -> shapes.Success:
    """Remove a rule."""
    await call.services.rules.remove(call.principal, call.number, call.identifier())
    return {"success": True}


async def enable(call: Call) -> RoutingRule:
    """Enable the rule."""
    rule = await call.services.rules.enable(call.principal, call.number, call.identifier())
    return await view(call, rule)


async def disable(call: Call) -> RoutingRule:
    """Disable the rule."""
    rule = await call.services.rules.disable(call.principal, call.number, call.identifier())
    return await view(call, rule)


def _action(verb: str, handler: Any) -> Route:
    return Route(
        method="POST",
        path=f"/routing-rules/{{id}}/{verb}",
        name=f"{verb}RoutingRule",
        client=Method(f"routing_rules.{verb}"),
        command=Command(f"rules {verb}"),
        summary=f"{verb.capitalize()} a routing rule",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_RULES,
        handler=handler,
        action=True,
        refusals=(404,),
    )


ROUTES = (
    Route(
        method="POST",
        path="/routing-rules",
        name="createRoutingRule",
        client=Method("routing_rules.create"),
        summary="Create a routing rule",
        description="If several rules of a destination match an event, they make one delivery, with "
        "the highest priority of these rules. One event type can have at most 100 rules with a "
        "filter for the destinations of one customer, and 100 for the destinations of no "
        "customer. A filter that fails for an event does not match; `filterErrors` counts such "
        "failures. 402 if the plan, or the quota of the session's customer, has no room for "
        "another rule.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_RULES,
        handler=create,
        body=RuleDraft,
        status=201,
        refusals=(402, 404, 409),
        example=RULE_EXAMPLE,
    ),
    Route(
        method="GET",
        path="/routing-rules",
        name="listRoutingRules",
        command=Command("rules list", COLUMNS, options={"enabled": "--enabled/--disabled"}),
        client=Method("routing_rules.list"),
        summary="List routing rules",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=RuleQuery,
    ),
    Route(
        method="GET",
        path="/routing-rules/{id}",
        name="getRoutingRule",
        command=Command("rules get"),
        client=Method("routing_rules.get"),
        summary="Show a routing rule",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="PATCH",
        path="/routing-rules/{id}",
        name="updateRoutingRule",
        client=Method("routing_rules.update"),
        summary="Change a routing rule",
        description="A merge patch (RFC 7396).",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_RULES,
        handler=patch,
        body=RulePatch,
        refusals=(404, 409),
        example={"eventTypes": ["order.*", "refund.created"]},
    ),
    Route(
        method="DELETE",
        path="/routing-rules/{id}",
        name="deleteRoutingRule",
        command=Command("rules delete"),
        client=Method("routing_rules.delete"),
        repeat=Repeat.GONE_IS_DONE,
        summary="Delete a routing rule",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.MANAGE_RULES,
        handler=remove,
        action=True,
        refusals=(404,),
    ),
    preview.ROUTE,
    _action("enable", enable),
    _action("disable", disable),
)
