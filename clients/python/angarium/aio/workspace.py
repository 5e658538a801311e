"""The workspace: branding, origins and policy of its customers' portals."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call
from angarium.shapes import Workspace, WorkspaceChange


class AsyncWorkspaceSettings(AsyncResource):
    """The key's workspace and its settings, which hold in all of its environments."""

    async def get(self) -> Workspace:
        """Return the workspace."""
        return await self._send(Call("GET", "/workspace"))

    async def update(self, change: WorkspaceChange) -> Workspace:
        """Change what `change` names: branding, the origins of portals, what customers may do."""
        return await self._send(Call("PATCH", "/workspace", body=change))
