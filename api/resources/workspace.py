"""The routes for the caller's workspace."""

from api.call import Call
from api.routes import MANAGE, READ, Command, Embed, Method, Route
from api.shapes.accounts import Workspace
from engine.control.workspace_settings import SettingsPatch, branding_document
from engine.model.instants import iso_or_none
from engine.model.quotas import Ability, WorkspaceSettings

TAG = "Workspace"


def view(call: Call, settings: WorkspaceSettings) -> Workspace:
    """Return the view of a workspace."""
    workspace = call.services.models.workspaces[settings.workspace]
    updated_at_ms = settings.updated_at_ms
    return {
        "id": workspace.id,
        "name": workspace.name,
        "plan": workspace.plan,
        "branding": branding_document(settings),
        "allowedOrigins": list(settings.origins),
        "customerMay": {ability.value: settings.allows(ability) for ability in Ability},
        "returnUrl": settings.return_url,
        "updatedAt": iso_or_none(updated_at_ms),
    }


async def get(call: Call) -> Workspace:
    """Show the workspace."""
    workspace = call.admitted.credential.workspace
    return view(call, call.services.models.settings_of(workspace))


async def patch(call: Call) -> Workspace:
    """Apply a merge patch."""
    settings = await call.services.workspace_settings.update(call.principal, call.document)
    return view(call, settings)


ROUTES = (
    Route(
        method="GET",
        path="/workspace",
        name="getWorkspace",
        command=Command("workspace show"),
        client=Method("workspace.get"),
        summary="Show the workspace",
        description="Shows the name, the plan, and the settings of customers' portals. An MCP key "
        "does not have to name an environment.",
        tag=TAG,
        scopes=READ,
        embed=Embed.REFUSED,
        handler=get,
        environment=False,
    ),
    Route(
        method="PATCH",
        path="/workspace",
        name="updateWorkspace",
        client=Method("workspace.update"),
        summary="Change the workspace's settings",
        description="A merge patch (RFC 7396): null puts a field back to its default, and a list "
        "replaces the whole list. The settings apply in all environments and to open sessions, at "
        "once in this process and within a second in others. Origins are stored as browsers write "
        "them: in lower case, without the scheme's default port.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.REFUSED,
        handler=patch,
        body=SettingsPatch,
        refusals=(409,),
        environment=False,
        example={
            "branding": {"name": "Acme", "colors": {"primary": "#0b5fff"}, "locale": "en"},
            "allowedOrigins": ["https://portal.example.com"],
            "customerMay": {"discardDeliveries": False},
        },
    ),
)
