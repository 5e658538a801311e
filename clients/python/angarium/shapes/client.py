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
    # The page that the portal links to as the way back; https only.
    returnUrl: str | None
    branding: Branding
    # The abilities that the workspace allows and its plan includes. Null for a key.
    permissions: CustomerMay | None


class LoopHealth(TypedDict):
    """The long steps of the server's event loop since the process started. While a step runs,
    all other work of the process waits.
    """

    # The limit in milliseconds. The operator's log has each longer step.
    limitMs: float
    # Steps that took longer than the limit.
    longSteps: int
    longestStepMs: float
    # The most CPU time of any step. A long step with little CPU time was delayed by the machine.
    mostStepCpuMs: float
    # The long steps that worked for this environment or its workspace.
    ownLongSteps: int


class ThroughputPoint(TypedDict):
    """The counts of one second."""

    at: str
    accepted: int
    delivered: int
    failed: int
    attempts: int


class Throughput(TypedDict):
    """An environment's rates over the last minute, and its waiting deliveries."""

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
    # Deliveries that are being sent or recorded.
    inFlight: int
    # The last 60 seconds, oldest first. The last second is not complete.
    series: list[ThroughputPoint]
    loop: LoopHealth
