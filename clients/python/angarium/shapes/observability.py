"""Figures over time, and the audit log."""

from typing import Any, Literal, TypedDict

from angarium.shapes.vocabulary import Environment, Granularity, Latency, Period


class AnalyticsTotals(TypedDict):
    """What happened in a span of time."""

    attempts: int
    delivered: int
    failed: int
    retried: int
    deadLettered: int
    latencyMs: Latency


class AnalyticsPoint(AnalyticsTotals):
    """What happened in the bucket that begins at `at`."""

    at: str


# `from` is a keyword of Python, so that a class cannot have it.
Analytics = TypedDict(
    "Analytics",
    {
        "destinationId": str,
        "period": Period,
        "granularity": Granularity,
        "from": str,
        "to": str,
        "totals": AnalyticsTotals,
        "series": list[AnalyticsPoint],
        "errorCategories": dict[str, int],
    },
)


class ThroughputPoint(TypedDict):
    """What happened within one second."""

    at: str
    accepted: int
    delivered: int
    failed: int
    attempts: int


class LoopHealth(TypedDict):
    """How long the process served nobody else at a time, since its start."""

    limitMs: float
    longSteps: int
    longestStepMs: float
    ownLongSteps: int


class Throughput(TypedDict):
    """An environment's rates, per second each, over the last minute."""

    environment: Environment
    at: str
    windowSeconds: Literal[60]
    accepted: float
    delivered: float
    failed: float
    attempts: float
    pending: int
    inFlight: int
    series: list[ThroughputPoint]
    loop: LoopHealth


AuditChange = TypedDict("AuditChange", {"from": Any, "to": Any})


class AuditEntry(TypedDict):
    """One change of the configuration; each field before and after, secrets as `***`."""

    id: str
    createdAt: str
    action: str
    objectType: str
    objectId: str
    actorType: Literal["API_KEY", "MCP_KEY", "EMBED_SESSION", "CLI", "SYSTEM"]
    actorId: str
    environment: Environment | None
    requestId: str | None
    changes: dict[str, AuditChange] | None
    previousFingerprint: str | None
