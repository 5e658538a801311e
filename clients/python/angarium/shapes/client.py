# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of the client's own methods."""

from typing import Literal, TypedDict

from angarium.shapes.shared import Branding, CustomerMay
from angarium.shapes.words import Environment, Scope


class AuthContext(TypedDict):
    """The caller. Fields that do not apply are null."""

    kind: Literal["API_KEY", "MCP_KEY", "EMBED_SESSION", "CONSOLE"]
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
    # The abilities that the workspace allows and its plan includes. Null for a key.
    permissions: CustomerMay | None


class LoopHealth(TypedDict):
    """The steps of the process that delayed other work, since its start, in all environments."""

    # The limit in milliseconds. The operator's log has each longer step.
    limitMs: float
    # Steps beyond the limit.
    longSteps: int
    longestStepMs: float
    # The most CPU of any step. In a long step with little CPU, the machine delayed the process.
    mostStepCpuMs: float
    # The steps that worked for this environment or its workspace.
    ownLongSteps: int


class ThroughputPoint(TypedDict):
    """The counts of one second."""

    at: str
    accepted: int
    delivered: int
    failed: int
    attempts: int


class Throughput(TypedDict):
    """The counts of an environment over the last minute, second by second, and its waiting
    deliveries.
    """

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
    # Waiting deliveries, including RETRYING ones.
    pending: int
    # Deliveries in flight, not yet recorded.
    inFlight: int
    # The last 60 seconds, oldest first. The last second is not complete.
    series: list[ThroughputPoint]
    loop: LoopHealth
