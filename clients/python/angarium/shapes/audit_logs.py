# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.audit_logs`."""

from typing import Any, Literal, TypedDict

from angarium.shapes.words import Environment

# A field before and after a change. Null: the field was or is absent. Secrets are `***`.
AuditChange = TypedDict("AuditChange", {"from": Any, "to": Any})


class AuditEntry(TypedDict):
    """One change of configuration."""

    id: str
    createdAt: str
    # The action, such as `destination.update`.
    action: str
    objectType: str
    objectId: str
    actorType: Literal["API_KEY", "MCP_KEY", "EMBED_SESSION", "CONSOLE", "CLI", "SYSTEM"]
    actorId: str
    # Null for changes of the whole workspace.
    environment: Environment | None
    requestId: str | None
    changes: dict[str, AuditChange] | None
    # The fingerprint of the secret that this rotation or revocation ended.
    previousFingerprint: str | None
