"""The workspaces of a history, and their callers. The number of a workspace decides to which part of the
database it belongs."""

from engine.control.audit import Principal
from engine.model.configuration import AuditEntry
from engine.model.read_models import WorkspaceModel
from tests.sim.store import Tables
from tests.sim.store.configuration import create_workspace

ENVIRONMENTS_EACH = 3


def workspace_of(environment: int) -> str:
    return _id((environment - 1) // ENVIRONMENTS_EACH + 1)


def environment_of(workspace: int, place: int) -> int:
    """Return the number of an environment. `workspace`: the number of its workspace, from 1 on. `place`:
    which of the workspace's environments it is (1, 2 or 3)."""
    return (workspace - 1) * ENVIRONMENTS_EACH + place


def caller_in(environment: int) -> tuple[Principal, int]:
    """Return a caller with all permissions in an environment, and the environment. All commands have
    these two as their first arguments."""
    principal = Principal(kind="API_KEY", id="caller", workspace=workspace_of(environment))
    return principal, environment


def create_workspaces(tables: Tables, count: int) -> None:
    for number in range(1, count + 1):
        identifier = _id(number)
        create_workspace(
            tables,
            WorkspaceModel(identifier, f"workspace {number}", "scale"),
            AuditEntry(
                id=identifier, workspace=identifier, environment=None, action="workspace.create",
                object_type="workspace", object_id=identifier, actor_type="CLI", actor_id="",
            ),
        )  # fmt: skip


def _id(number: int) -> str:
    return f"0190aaaa-0000-7000-8000-{number:012x}"
