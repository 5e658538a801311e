# Made from angarium/aio by generate_sync.py; do not edit.
"""The workspace: branding, origins and policy of its customers' portals."""

from angarium.calls import Call
from angarium.shapes import Workspace, WorkspaceChange
from angarium.sync.resource import Resource


class WorkspaceSettings(Resource):
    """The key's workspace and its settings, which hold in all of its environments."""

    def get(self) -> Workspace:
        """Return the workspace."""
        return self._send(Call("GET", "/workspace"))

    def update(self, change: WorkspaceChange) -> Workspace:
        """Change what `change` names: branding, the origins of portals, what customers may do."""
        return self._send(Call("PATCH", "/workspace", body=change))
