"""Routing rules: all operations."""

from typing import Any

from api import shapes
from api.call import Answer, Call
from api.pages import position, whole_page
from api.queries import RuleQuery
from api.routes import MANAGE, READ, Embed, Route
from engine.control.drafts import RuleDraft, RulePatch
from engine.control.views import rule_view
from engine.errors import Refusal
from engine.models import Rule

TAG = "Routing rules"
LISTING = "/routing-rules"
EXAMPLE = {
    "name": "Orders to billing",
    "destinationId": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
    "eventTypes": ["order.*"],
    "priority": "STANDARD",
}


def view(call: Call, rule: Rule) -> dict[str, Any]:
    """Return a rule as callers see it."""
    return rule_view(rule, call.environment_name)


async def create(call: Call) -> Answer:
    """Make a rule."""
    draft = call.body_as(RuleDraft)
    return Answer(201, view(call, await call.services.rules.create(call.actor, call.number, draft)))


async def listing(call: Call) -> Answer:
    """List rules, newest first."""
    query = call.query_as(RuleQuery)
    below = position(LISTING, call.number, query.cursor)
    rules = await call.services.rule_store.page(
        call.number, query.destination_id, query.enabled, below, query.limit + 1
    )
    return Answer(
        200,
        whole_page(
            rules, query.limit, LISTING, call.number, lambda r: r.id, lambda r: view(call, r)
        ),
    )


async def get(call: Call) -> Answer:
    """Show one rule."""
    rule = await call.services.rule_store.get(call.number, call.identifier())
    if rule is None:
        raise Refusal("not_found", "no such routing rule")
    return Answer(200, view(call, rule))


async def patch(call: Call) -> Answer:
    """Apply a merge patch."""
    rule = await call.services.rules.update(
        call.actor, call.number, call.identifier(), call.document
    )
    return Answer(200, view(call, rule))


async def remove(call: Call) -> Answer:
    """Remove a rule."""
    await call.services.rules.remove(call.actor, call.number, call.identifier())
    return Answer(200, {"success": True})


async def enable(call: Call) -> Answer:
    """Route by it."""
    rule = await call.services.rules.enable(call.actor, call.number, call.identifier())
    return Answer(200, view(call, rule))


async def disable(call: Call) -> Answer:
    """Route by it no more, for now."""
    rule = await call.services.rules.disable(call.actor, call.number, call.identifier())
    return Answer(200, view(call, rule))


def _action(verb: str, handler: Any) -> Route:
    return Route(
        method="POST",
        path=f"/routing-rules/{{id}}/{verb}",
        name=f"{verb}RoutingRule",
        summary=f"{verb.capitalize()} a routing rule",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        handler=handler,
        action=True,
        responses={200: shapes.RoutingRule},
        refusals=(404,),
    )


ROUTES = (
    Route(
        method="POST",
        path="/routing-rules",
        name="createRoutingRule",
        summary="Create a routing rule",
        description="Several matching rules of one destination make one delivery, of the highest "
        "priority. An environment has at most 1,000 rules.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        handler=create,
        body=RuleDraft,
        responses={201: shapes.RoutingRule},
        refusals=(404, 409),
        example=EXAMPLE,
    ),
    Route(
        method="GET",
        path="/routing-rules",
        name="listRoutingRules",
        summary="List routing rules",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=RuleQuery,
        responses={200: shapes.Page[shapes.RoutingRule]},
    ),
    Route(
        method="GET",
        path="/routing-rules/{id}",
        name="getRoutingRule",
        summary="Show a routing rule",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=get,
        responses={200: shapes.RoutingRule},
        refusals=(404,),
    ),
    Route(
        method="PATCH",
        path="/routing-rules/{id}",
        name="updateRoutingRule",
        summary="Change a routing rule",
        description="A merge patch (RFC 7396).",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        handler=patch,
        body=RulePatch,
        responses={200: shapes.RoutingRule},
        refusals=(404, 409),
        example={"eventTypes": ["order.*", "refund.created"]},
    ),
    Route(
        method="DELETE",
        path="/routing-rules/{id}",
        name="deleteRoutingRule",
        summary="Delete a routing rule",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        handler=remove,
        action=True,
        responses={200: shapes.Success},
        refusals=(404,),
    ),
    _action("enable", enable),
    _action("disable", disable),
)
