# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.workspace` that are made."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call
from angarium.shapes import SettingsPatch, Workspace


class AsyncWorkspaceMethods(AsyncResource):
    """What holds in all environments: how customers' portals look, what customers may do."""

    async def get(self) -> Workspace:
        """Show the workspace.

        Its name and plan, and what it says of its customers' portals. An MCP key need not
        name an environment here.
        """
        return await self._send(Call("GET", "/workspace"))

    async def update(self, change: SettingsPatch) -> Workspace:
        """Change the workspace's settings.

        A merge patch (RFC 7396): null puts a field back to its default; a list is replaced
        whole. It acts in all environments and on sessions that are open: at once here, within
        a second in other processes. Origins are kept as browsers write them: in small
        letters, without the scheme's own port.
        """
        return await self._send(Call("PATCH", "/workspace", body=change))
