# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.workspace`."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call
from angarium.shapes import SettingsPatch, Workspace


class AsyncWorkspaceMethods(AsyncResource):
    """The settings for all environments: the look of customers' portals, and permissions."""

    async def get(self) -> Workspace:
        """Show the workspace.

        Shows the name, the plan, and the settings of customers' portals. An MCP key does not
        have to name an environment.
        """
        return await self._send(Call("GET", "/workspace"))

    async def update(self, change: SettingsPatch) -> Workspace:
        """Change the workspace's settings.

        A merge patch (RFC 7396): null puts a field back to its default, and a list replaces
        the whole list. The settings apply in all environments and to open sessions, at once
        in this process and within a second in others. Origins are stored as browsers write
        them: in lower case, without the scheme's default port.
        """
        return await self._send(Call("PATCH", "/workspace", body=change))
