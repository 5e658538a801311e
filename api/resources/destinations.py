"""The routes for destinations."""

from collections.abc import Sequence

from api import shapes
from api.call import Call
from api.pages import page, portioned_page, position
from api.queries import DestinationQuery
from api.routes import MANAGE, READ, Command, Embed, Method, Route
from engine.control.views import destination_document, signing_view
from engine.drafts import AnyDestinationDraft, DestinationPatch
from engine.model.configuration import DestinationRecord
from engine.model.errors import Refusal
from engine.model.identity import created_at_ms
from engine.model.instants import iso
from engine.model.quotas import Ability
from engine.model.words import word

TAG = "Destinations"
COLUMNS = (
    ("ID", "id"),
    ("STATUS", "status"),
    ("ORDERING", "delivery.ordering"),
    ("CUSTOMER", "customerExternalId"),
    ("TEMPLATE", "templateId"),
    ("NAME", "name"),
    ("URL", "url"),
)
LISTING = "/destinations"
# For each field, the permission that a customer needs to set it.
OPTIONS = {
    "headers": Ability.EDIT_HEADERS,
    "authentication": Ability.EDIT_HEADERS,  # it sets the header Authorization
    "delivery": Ability.EDIT_DELIVERY_OPTIONS,
    "method": Ability.EDIT_DELIVERY_OPTIONS,
    "disableAfterSeconds": Ability.EDIT_DELIVERY_OPTIONS,
}
SIGNING = dict.fromkeys(("rotateSecret", "graceSeconds", "signing"), Ability.ROTATE_SECRETS)
EXAMPLE = {
    "name": "Orders",
    "url": "https://example.com/hooks",
    "headers": {"X-Tenant": "42"},
    "delivery": {"concurrency": 8, "ordering": "KEY", "timeoutMs": 15000},
    "signing": {"algorithm": "HMAC_SHA256"},
}


def view(call: Call, record: DestinationRecord) -> shapes.Destination:
    """Return the view of a destination."""
    return {
        "id": record.id,
        "environment": word(call.environment_name),
        **destination_document(record),
        "signing": signing_view(record, call.services.now()),
        "status": word(record.status),
        "transformVersion": None if record.transform is None else record.transform.version,
        "createdAt": iso(created_at_ms(record.id)),
        "updatedAt": iso(record.updated_at_ms),
    }


async def required(call: Call) -> DestinationRecord:
    """Return the destination that the path names. Raises Refusal 404."""
    record = await call.services.destination_store.get(call.number, call.identifier())
    if record is None or not call.sees(record.customer_account):
        raise Refusal("not_found", "no such destination")
    return record


async def must_exist(call: Call, destination: str) -> None:
    """Raises Refusal 404 if the caller cannot see the destination that a body names."""
    record = await call.services.destination_store.get(call.number, destination)
    if record is None or not call.sees(record.customer_account):
        raise Refusal("not_found", "destinationId: no such destination")


async def create(call: Call) -> shapes.DestinationWithSecret:
    """Create a destination; only this answer has its secret."""
    draft = call.body_as(AnyDestinationDraft).root
    record, secret = await call.services.destinations.create(call.principal, call.number, draft)
    return {**view(call, record), "secret": secret}


async def listing(call: Call) -> shapes.Page[shapes.Destination]:
    """List destinations, newest first."""
    query = call.query_as(DestinationQuery)
    below = position(LISTING, call.number, query.cursor)
    account = query.customer_account_id
    if account is not None and not call.sees(account):
        return page([], LISTING, call.number, None)
    if call.customer is not None:
        account = call.customer.account

    async def take(below: str | None, limit: int) -> Sequence[DestinationRecord]:
        return await call.services.destination_store.page(
            call.number, query.statuses, account, below, limit
        )

    async def views(records: Sequence[DestinationRecord]) -> list[shapes.Destination]:
        return [view(call, record) for record in records]

    return await portioned_page(take, views, LISTING, call.number, below, query.limit)


async def get(call: Call) -> shapes.Destination:
    """Show one destination."""
    return view(call, await required(call))


async def patch(call: Call) -> shapes.DestinationWithSecret:
    """Apply a merge patch."""
    record, secret = await call.services.destinations.update(
        call.principal, call.number, call.identifier(), call.document
    )
    return {**view(call, record), "secret": secret}


async def archive(call: Call) -> shapes.Success:
    """Archive a destination for good."""
    await call.services.destinations.archive(call.principal, call.number, call.identifier())
    return {"success": True}


async def enable(call: Call) -> shapes.Destination:
    """Enable a destination: send its held deliveries."""
    record = await call.services.destinations.enable(call.principal, call.number, call.identifier())
    return view(call, record)


async def disable(call: Call) -> shapes.Destination:
    """Disable a destination: hold its deliveries."""
    record = await call.services.destinations.disable(
        call.principal, call.number, call.identifier()
    )
    return view(call, record)


ROUTES = (
    Route(
        method="POST",
        path="/destinations",
        name="createDestination",
        client=Method("destinations.create"),
        summary="Create a destination",
        description="Only this answer has the signing secret. `secret` sets your own secret. "
        "`customerExternalId` creates the account of a new customer. A destination that an embed "
        "session creates belongs to its customer.\n\nThere are two forms. With `url`: the "
        "receiver gets the event unchanged. With `templateId` and `config`: the template makes "
        "URL, headers and body. The template's defaults, such as the service's rate limit, apply "
        "to missing fields of `delivery`.\n\n`authentication` says how requests authenticate: "
        "with a password, a token, tokens from a token endpoint, or a client certificate. All "
        "kinds except MTLS set the header Authorization; then `headers` cannot set it.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.CREATE_DESTINATIONS,
        field_abilities=OPTIONS,
        handler=create,
        body=AnyDestinationDraft,
        status=201,
        refusals=(402, 404),
        example=EXAMPLE,
    ),
    Route(
        method="GET",
        path="/destinations",
        name="listDestinations",
        command=Command("destinations list", COLUMNS),
        client=Method("destinations.list"),
        summary="List destinations",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=DestinationQuery,
    ),
    Route(
        method="GET",
        path="/destinations/{id}",
        name="getDestination",
        command=Command("destinations get"),
        client=Method("destinations.get"),
        summary="Show a destination",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="PATCH",
        path="/destinations/{id}",
        name="updateDestination",
        client=Method("destinations.update", once_with="rotateSecret"),
        summary="Change a destination",
        description="A merge patch (RFC 7396): null puts a field back to its default, and removes "
        "a header. The change applies to attempts that begin later. With `rotateSecret` the "
        "answer has a new secret. The former secret also signs for `graceSeconds` (by default "
        "86400); 0 ends every former secret at once. A mask (`***`) keeps the stored value. If the "
        "URL's scheme, host or port changes, give each masked header again, or remove it. The "
        "same holds for the secrets of `authentication`, also if its `tokenUrl` changes. Another "
        "`kind` replaces the whole `authentication`, and null removes it.\n\nFor a destination "
        "from a template, `config` is merged too. A mask keeps the stored secret, but if the "
        "requests go to another host, give all secrets again. `templateId` cannot be changed, and "
        "the template makes `url`.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.EDIT_DESTINATIONS,
        field_abilities={**OPTIONS, **SIGNING},
        handler=patch,
        body=DestinationPatch,
        refusals=(404, 409),
        example={"delivery": {"concurrency": 16}, "headers": {"X-Tenant": None}},
    ),
    Route(
        method="DELETE",
        path="/destinations/{id}",
        name="archiveDestination",
        command=Command(
            "destinations delete", confirm="Archive {} and discard its waiting deliveries?"
        ),
        client=Method("destinations.archive"),
        summary="Archive a destination",
        description="Waiting deliveries and dead letters of the destination are discarded. The "
        "destination stays readable.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.ARCHIVE_DESTINATIONS,
        handler=archive,
        action=True,
        refusals=(404,),
    ),
    Route(
        method="POST",
        path="/destinations/{id}/enable",
        name="enableDestination",
        command=Command("destinations enable"),
        client=Method("destinations.enable"),
        summary="Enable a destination",
        description="The deliveries that were held as PENDING are sent.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.SWITCH_DESTINATIONS,
        handler=enable,
        action=True,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/destinations/{id}/disable",
        name="disableDestination",
        command=Command("destinations disable"),
        client=Method("destinations.disable"),
        summary="Disable a destination",
        description="Its deliveries are held as PENDING until the destination is enabled.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.SWITCH_DESTINATIONS,
        handler=disable,
        action=True,
        refusals=(404, 409),
    ),
)
