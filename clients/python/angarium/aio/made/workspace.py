# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.workspace`."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call
from angarium.shapes import SettingsPatch, Workspace


class AsyncWorkspaceMethods(AsyncResource):
    """The settings of all environments: the look of customers' portals, and permissions."""

    async def get(self) -> Workspace:
        """Show the workspace.

        Its name, its plan, and the settings of its customers' portals. An MCP key need not
        name an environment.
        """
        return await self._send(Call("GET", "/workspace"))

    async def update(self, change: SettingsPatch) -> Workspace:
        """Change the workspace's settings.

        A merge patch (RFC 7396): null puts a field back to its default; a list is replaced
        whole. It applies in all environments and to open sessions: at once here, within a
        second in other processes. Origins are stored as browsers write them: in lower case,
        without the scheme's default port.
        """
        return await self._send(Call("PATCH", "/workspace", body=change))
