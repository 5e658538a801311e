"""Shapes of analytics, throughput and the audit log."""

from typing import Any, Literal

from pydantic import Field

from api.shapes import Latency, Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import CategoryName, EnvironmentName, GranularityName, PeriodName


class AnalyticsTotals(Document):
    """What was counted over the whole period."""

    attempts: int = Field(ge=0, description="By the minute in which they ended.")
    delivered: int = Field(ge=0, description="Deliveries.")
    failed: int = Field(ge=0, description="Attempts.")
    retried: int = Field(ge=0, description="Attempts with a number above 1.")
    dead_lettered: int = Field(
        ge=0, description="Deliveries, by the minute in which they came into the DLQ first."
    )
    latency_ms: Latency


class AnalyticsPoint(AnalyticsTotals):
    """What was counted from `at` until the next point."""

    at: Timestamp


class Analytics(Document):
    """A destination's counters over a period, from its delivery log."""

    destination_id: Uuid
    period: PeriodName
    granularity: GranularityName
    from_: Timestamp = Field(
        alias="from", description="Inclusive, the beginning of the first point."
    )
    to: Timestamp = Field(description="Exclusive: the end of the last point, which may be to come.")
    totals: AnalyticsTotals
    series: list[AnalyticsPoint] = Field(
        description="One for each minute, hour or day (UTC), oldest first, also where nothing happened."
    )
    error_categories: dict[CategoryName, int] = Field(
        description="Failed attempts by what went wrong; what did not occur is left out."
    )


class ThroughputPoint(Document):
    """What happened within one second."""

    at: Timestamp
    accepted: int = Field(ge=0)
    delivered: int = Field(ge=0)
    failed: int = Field(ge=0)
    attempts: int = Field(ge=0)


class LoopHealth(Document):
    """How long the process served nobody else at a time, since its start: over all environments."""

    limit_ms: float = Field(ge=0, description="A longer step is told of in the operator's log.")
    long_steps: int = Field(ge=0, description="Steps beyond the limit.")
    longest_step_ms: float = Field(ge=0)
    most_step_cpu_ms: float = Field(
        ge=0,
        description="The most CPU of any step. A long step of little CPU was held by the machine.",
    )
    own_long_steps: int = Field(
        ge=0, description="Those that worked for this environment or its workspace."
    )


class Throughput(Document):
    """What an environment did over the last minute, a second each, and what waits now."""

    environment: EnvironmentName
    at: Timestamp
    window_seconds: Literal[60]
    accepted: float = Field(ge=0, description="Events a second.")
    delivered: float = Field(ge=0, description="Deliveries a second.")
    failed: float = Field(ge=0, description="Failed attempts a second.")
    attempts: float = Field(ge=0, description="Attempts a second.")
    pending: int = Field(ge=0, description="Deliveries that wait now, RETRYING ones too.")
    in_flight: int = Field(ge=0, description="Deliveries that are sent and not yet recorded.")
    series: list[ThroughputPoint] = Field(
        description="The last 60 seconds, oldest first. The last one is not over yet."
    )
    loop: LoopHealth


class AuditChange(Document):
    """A field before and after; null where there was or is none. Secrets are `***`."""

    from_: Any = Field(alias="from")
    to: Any


class AuditEntry(Document):
    """One change of configuration."""

    id: Uuid
    created_at: Timestamp
    action: str = Field(description="Such as `destination.update`.")
    object_type: str
    object_id: str
    actor_type: Literal["API_KEY", "MCP_KEY", "EMBED_SESSION", "CLI", "SYSTEM"]
    actor_id: str
    environment: EnvironmentName | None = Field(
        description="Null for what concerns the whole workspace."
    )
    request_id: str | None
    changes: dict[str, AuditChange] | None
    previous_fingerprint: str | None = Field(
        description="Of the key's secret that a rotation or revocation ended."
    )
