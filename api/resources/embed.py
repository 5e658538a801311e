"""The routes for embedded access."""

from pydantic import Field

from api.call import Call
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes.accounts import EmbedContext, EmbedSession
from engine.control.sessions import TTL_LEAST_S, TTL_MOST_S, TTL_S
from engine.control.workspace_settings import branding_document
from engine.drafts import Document, Name
from engine.model.instants import iso
from engine.model.quotas import Ability, WorkspaceSettings
from engine.model.words import word
from engine.plans.plans import AccountLimits, limits_of

LOCALE = "en"  # of a portal whose workspace sets none


class SessionDraft(Document):
    """The customer and the lifetime of a new session."""

    customer_external_id: Name = Field(
        description="The end-customer. An account is created for a new customer."
    )
    ttl_seconds: int = Field(
        TTL_S,
        ge=TTL_LEAST_S,
        le=TTL_MOST_S,
        description="How long the session is valid. A session cannot be ended earlier.",
    )


async def create(call: Call) -> EmbedSession:
    """Open a session; only this answer has its token."""
    draft = call.body_as(SessionDraft)
    services = call.services
    session = await services.sessions.create(
        call.principal, call.number, draft.customer_external_id, draft.ttl_seconds
    )
    return {
        "token": session.token,
        "expiresAt": iso(session.expires_at_ms),
        "customerAccountId": session.customer.account,
        "url": f"{services.portal(call.principal.workspace)}#token={session.token}",
    }


def permissions_of(settings: WorkspaceSettings, limits: AccountLimits) -> dict[str, bool]:
    """Return the names of all abilities, each with True if the workspace's customers have the ability."""
    permissions = {ability.value: settings.allows(ability) for ability in Ability}
    permissions[Ability.MANAGE_TRANSFORMS.value] &= limits.transforms > 0
    return permissions


async def context(call: Call) -> EmbedContext:
    """Show the customer of the session, and the branding and the permissions of the portal."""
    credential = call.admitted.credential
    customer, expires_at = call.customer, credential.expires_at
    assert customer is not None
    assert expires_at is not None
    models, plan = call.services.models, call.services.plans.of(credential.workspace)
    settings = models.settings_for(credential.workspace, customer.account)
    limits = limits_of(plan, models.quotas_of(customer.account))
    branding = branding_document(settings)
    return {
        "workspaceId": credential.workspace,
        "workspaceName": models.workspaces[credential.workspace].name,
        "environment": word(call.environment_name),
        "customerAccountId": customer.account,
        "customerExternalId": customer.external_id,
        "expiresAt": iso(int(expires_at * 1000)),
        "branding": branding,
        "locale": branding["locale"] or LOCALE,
        "permissions": permissions_of(settings, limits),
        "returnUrl": settings.return_url,
        "limits": {
            "requestsPerMinute": limits.requests_per_minute,
            "destinations": limits.destinations,
            "rules": limits.rules,
            "transforms": limits.transforms,
            "retentionDays": plan.retention_days,
        },
    }


ROUTES = (
    Route(
        method="POST",
        path="/embed/sessions",
        name="createEmbedSession",
        client=Method("embed_sessions.create"),
        repeat=Repeat.FREELY,
        summary="Open an embed session",
        description="The token is a credential for one end-customer's browser. It sees and "
        "changes only objects of that customer's account in this environment. The account has its "
        "own quotas of destinations, rules, scripts and requests a minute. `url` has the token in "
        "its fragment, which browsers do not send to servers.",
        tag="Embed",
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=create,
        body=SessionDraft,
        status=201,
        example={"customerExternalId": "acme", "ttlSeconds": 300},
    ),
    Route(
        method="GET",
        path="/embed/context",
        name="getEmbedContext",
        command=Command("embed context"),
        client=Method("embed_sessions.context"),
        summary="Show the data of a portal",
        description="Shows the session's customer and expiry, the workspace's branding, and the "
        "session's permissions and limits.",
        tag="Embed",
        scopes=READ,
        embed=Embed.ONLY,
        handler=context,
    ),
)
