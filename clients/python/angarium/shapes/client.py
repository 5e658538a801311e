# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of the client's own methods."""

from typing import Literal, TypedDict

from angarium.shapes.shared import Branding, CustomerMay
from angarium.shapes.words import Environment, Scope


class AuthContext(TypedDict):
    """Who calls. What does not apply is null."""

    kind: Literal["API_KEY", "MCP_KEY", "EMBED_SESSION"]
    workspaceId: str
    workspaceName: str
    environment: Environment | None
    scope: Scope | None
    keyId: str | None
    customerAccountId: str | None
    customerExternalId: str | None
    plan: str
    expiresAt: str | None
    # Where the portal leads back to after a session; https only.
    returnUrl: str | None
    branding: Branding
    # What to offer: what the workspace lets its customers do, and its plan allows. Null for a key.
    permissions: CustomerMay | None


class LoopHealth(TypedDict):
    """How long the process served nobody else at a time, since its start: over all environments."""

    # A longer step is told of in the operator's log.
    limitMs: float
    # Steps beyond the limit.
    longSteps: int
    longestStepMs: float
    # The most CPU of any step. A long step of little CPU was held by the machine.
    mostStepCpuMs: float
    # Those that worked for this environment or its workspace.
    ownLongSteps: int


class ThroughputPoint(TypedDict):
    """What happened within one second."""

    at: str
    accepted: int
    delivered: int
    failed: int
    attempts: int


class Throughput(TypedDict):
    """What an environment did over the last minute, a second each, and what waits now."""

    environment: Environment
    at: str
    windowSeconds: Literal[60]
    # Events a second.
    accepted: float
    # Deliveries a second.
    delivered: float
    # Failed attempts a second.
    failed: float
    # Attempts a second.
    attempts: float
    # Deliveries that wait now, RETRYING ones too.
    pending: int
    # Deliveries that are sent and not yet recorded.
    inFlight: int
    # The last 60 seconds, oldest first. The last one is not over yet.
    series: list[ThroughputPoint]
    loop: LoopHealth
