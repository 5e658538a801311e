"""The route GET /auth/context."""

from api import shapes
from api.call import Call
from api.resources.embed import permissions_of
from api.routes import EVERY, Command, Embed, Method, Route
from engine.control.workspace_settings import branding_document
from engine.model.instants import iso
from engine.model.words import SCOPES, word
from engine.plans.plans import limits_of


async def context(call: Call) -> shapes.AuthContext:
    """Show the identity behind the credential."""
    credential = call.admitted.credential
    workspace = call.services.models.workspaces[credential.workspace]
    customer = call.customer
    expires_at = credential.expires_at
    models = call.services.models
    settings = models.settings_of(workspace.id)
    limits = None
    if customer is not None:
        settings = models.settings_for(workspace.id, customer.account)
        limits = limits_of(call.services.plans.of(workspace.id), models.quotas_of(customer.account))
    return {
        "kind": call.caller_kind,
        "workspaceId": workspace.id,
        "workspaceName": workspace.name,
        "environment": None if call.place is None else word(call.place.name),
        "scope": SCOPES[credential.scope] if customer is None else None,
        "keyId": credential.key_id if customer is None else None,
        "customerAccountId": None if customer is None else customer.account,
        "customerExternalId": None if customer is None else customer.external_id,
        "plan": workspace.plan,
        "expiresAt": None if expires_at is None else iso(int(expires_at * 1000)),
        "returnUrl": settings.return_url,
        "branding": branding_document(settings),
        "permissions": None if limits is None else permissions_of(settings, limits),
    }


ROUTES = (
    Route(
        method="GET",
        path="/auth/context",
        name="getAuthContext",
        command=Command("auth context"),
        client=Method("auth_context", by_hand=True),
        summary="Show the identity of a credential",
        description="Shows the workspace, environment and scope of the credential. An MCP key "
        "does not have to name an environment. An embed session has no scope and no key; it has "
        "its customer's permissions.",
        tag="Auth",
        scopes=EVERY,
        embed=Embed.SHARED,
        handler=context,
        environment=False,
    ),
)
