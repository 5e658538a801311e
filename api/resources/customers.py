"""The routes for customers' accounts."""

from typing import Annotated

from pydantic import Field

from api.call import Call
from api.pages import page, position
from api.queries import PageQuery
from api.routes import MANAGE, READ, Command, Embed, Method, Route
from api.shapes import Page
from api.shapes.accounts import Customer, CustomerErasure, CustomerItem
from engine.control.customers import MOST, CustomerDraft
from engine.control.views import permissions_document, quotas_document
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso, iso_or_none
from engine.model.quotas import CustomerAccount, Erasure
from engine.plans.plans import limits_of

TAG = "Customers"
LISTING = "/customers"
COLUMNS = (("CUSTOMER", "customerExternalId"), ("NAME", "name"), ("SINCE", "createdAt"))


class CustomerQuery(PageQuery):
    """Filters of customers."""

    prefix: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        None, description="Customers whose customerExternalId begins with this."
    )


def item_view(account: CustomerAccount) -> CustomerItem:
    """Return the view of an account in lists."""
    return {
        "customerExternalId": account.external_id,
        "customerAccountId": account.id,
        "name": account.name,
        "quotas": quotas_document(account.quotas),
        "createdAt": iso(created_at_ms(account.id)),
    }


def _erasure_view(erasure: Erasure | None) -> CustomerErasure | None:
    if erasure is None:
        return None
    return {
        "requestedAt": iso(erasure.requested_at_ms),
        "finishedAt": iso_or_none(erasure.finished_at_ms),
        "events": erasure.events,
    }


async def view(call: Call, account: CustomerAccount) -> Customer:
    """Return the view of an account."""
    services = call.services
    limits = limits_of(services.plans.of_environment(call.number), account.quotas)
    used = await services.customer_store.used(call.number, account.id, MOST)
    if used is None:
        raise Refusal("not_found", "no such customer")
    return {
        **item_view(account),
        "permissions": permissions_document(account.permissions),
        "erasure": _erasure_view(account.erasure),
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


async def listing(call: Call) -> Page[CustomerItem]:
    """List accounts by name."""
    query = call.query_as(CustomerQuery)
    after = position(LISTING, call.number, query.cursor)
    found = await call.services.customer_store.page(
        call.number, query.prefix or "", after, query.limit + 1
    )
    shown = found[: query.limit]
    more = len(found) > len(shown)
    return page(
        [item_view(account) for account in shown],
        LISTING,
        call.number,
        shown[-1].id if more else None,
        lambda index: shown[index].id,
    )


async def get(call: Call) -> Customer:
    """Show one account."""
    account = await call.services.customers.get(call.number, call.path["externalId"])
    return await view(call, account)


async def put(call: Call) -> Customer:
    """Set the account's name, quotas and permissions."""
    account = await call.services.customers.replace(
        call.principal, call.number, call.path["externalId"], call.body_as(CustomerDraft)
    )
    return await view(call, account)


async def erase(call: Call) -> Customer:
    """Begin to erase the contents of an account."""
    name = call.path["externalId"]
    await call.services.customer_erasures.request(call.principal, call.number, name)
    return await view(call, await call.services.customers.get(call.number, name))


ROUTES = (
    Route(
        method="GET",
        path="/customers",
        name="listCustomers",
        command=Command("customers list", COLUMNS),
        client=Method("customers.list"),
        summary="List customers",
        description="Sorted by the bytes of `customerExternalId`.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=listing,
        query=CustomerQuery,
    ),
    Route(
        method="GET",
        path="/customers/{externalId}",
        name="getCustomer",
        command=Command("customers get"),
        client=Method("customers.get"),
        summary="Show a customer",
        description="Shows the account: the quotas that the workspace has set, the limits of the "
        "customer's embed sessions, and the numbers of its objects. An account exists once an "
        "event, a destination or a session has named the customer.",
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
        summary="Set a customer's name, quotas and permissions",
        description="The request replaces all earlier values. Quotas and permissions limit the "
        "customer's embed sessions, at once in this process and within a second in others. The "
        "workspace's keys are limited only by the plan.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=put,
        body=CustomerDraft,
        refusals=(404, 409),
        example={
            "name": "Acme Corp.",
            "quotas": {"destinations": 50, "rules": 500},
            "permissions": {"editHeaders": False},
        },
    ),
    Route(
        method="DELETE",
        path="/customers/{externalId}",
        name="eraseCustomer",
        command=Command("customers erase", confirm="Erase all contents of customer {}?"),
        client=Method("customers.erase"),
        summary="Erase a customer's contents",
        description="Archives the customer's destinations, with their rules. Erases the contents "
        "of all events accepted for the customer so far: payloads, metadata, files, receivers' "
        "answers and script output, as `DELETE /events/{id}/payload` does. The erasure continues "
        "after the answer, and after a restart of the server, until `erasure.finishedAt` is set. "
        "The account, the events, the deliveries and the counters stay.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=erase,
        status=202,
        refusals=(404,),
    ),
)
