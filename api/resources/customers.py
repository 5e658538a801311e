"""Customers' accounts: what they are named, what they may use, and what they have."""

from api.call import Call
from api.routes import MANAGE, READ, Command, Embed, Method, Route
from api.shapes.customers import Customer
from engine.control.customers import MOST, CustomerDraft
from engine.control.views import quotas_document
from engine.model.errors import Refusal
from engine.model.quotas import CustomerAccount
from engine.plans.plans import limits_of

TAG = "Customers"


async def view(call: Call, account: CustomerAccount) -> Customer:
    """Return an account as callers see it."""
    services = call.services
    limits = limits_of(services.plans.of_environment(call.number), account.quotas)
    used = await services.customer_store.used(call.number, account.id, MOST)
    if used is None:
        raise Refusal("not_found", "no such customer")
    return {
        "customerExternalId": account.external_id,
        "customerAccountId": account.id,
        "name": account.name,
        "quotas": quotas_document(account.quotas),
        "limits": {
            "destinations": limits.destinations,
            "rules": limits.rules,
            "transforms": limits.transforms,
            "requestsPerMinute": limits.requests_per_minute,
        },
        "used": {
            "destinations": used.destinations,
            "rules": used.rules,
            "transforms": used.transforms,
        },
    }


async def get(call: Call) -> Customer:
    """Show one."""
    account = await call.services.customers.get(call.number, call.path["externalId"])
    return await view(call, account)


async def put(call: Call) -> Customer:
    """Say what it is named and may use."""
    account = await call.services.customers.replace(
        call.actor, call.number, call.path["externalId"], call.body_as(CustomerDraft)
    )
    return await view(call, account)


ROUTES = (
    Route(
        method="GET",
        path="/customers/{externalId}",
        name="getCustomer",
        command=Command("customers get"),
        client=Method("customers.get"),
        summary="Show a customer",
        description="Its account: the quotas that the workspace has set, the limits that its embed "
        "sessions act by, and what it has. An account is there once an event, a destination or a session "
        "has named the customer.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="PUT",
        path="/customers/{externalId}",
        name="putCustomer",
        client=Method("customers.put"),
        summary="Set a customer's name and quotas",
        description="They replace what was said before. They hold embed sessions of the customer, at "
        "once here and within a second in other processes; the workspace's keys are held to the plan "
        "alone.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=put,
        body=CustomerDraft,
        refusals=(404, 409),
        example={"name": "Acme Corp.", "quotas": {"destinations": 50, "rules": 500}},
    ),
)
