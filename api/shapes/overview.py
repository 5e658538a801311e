"""Shapes of what shows many destinations at once: summaries, counts and an environment's analytics."""

from pydantic import Field

from api.shapes import Destination, DestinationHealth, Timestamp
from api.shapes.observability import AnalyticsPoint, AnalyticsTotals
from engine.drafts import Document, Uuid
from engine.model.words import CategoryName, EnvironmentName, GranularityName, PeriodName


class Counts(Document):
    """What an environment holds now."""

    at: Timestamp
    pending: int = Field(ge=0, description="Deliveries that wait now, RETRYING ones too.")
    in_flight: int = Field(ge=0, description="Deliveries that are sent and not yet recorded.")
    retrying: int = Field(ge=0, description="Deliveries that wait for their next attempt.")
    in_dlq: int = Field(ge=0, description="Deliveries in the dead-letter queue.")
    at_least: bool = Field(
        description="There may be more in `retrying` or `inDlq` than were counted."
    )
    open_circuits: int = Field(
        ge=0, description="Destinations whose circuit is not CLOSED and that have work or an actor."
    )
    disabled: int = Field(ge=0, description="Destinations that are DISABLED.")


class OutcomeCounts(Document):
    """Counters of the delivery log. Analytics explain each."""

    attempts: int = Field(ge=0)
    delivered: int = Field(ge=0)
    failed: int = Field(ge=0)
    retried: int = Field(ge=0)
    dead_lettered: int = Field(ge=0)


class HourCounts(OutcomeCounts):
    """What was counted within an hour (UTC) that begins at `at`."""

    at: Timestamp


class DestinationCounts(OutcomeCounts):
    """What one destination counted."""

    destination_id: Uuid


class EnvironmentAnalytics(Document):
    """The counters of all destinations of an environment over a period, from its delivery log."""

    environment: EnvironmentName
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
    top_destinations: list[DestinationCounts] = Field(
        max_length=10, description="The destinations with the most attempts, the busiest first."
    )


class DestinationSummary(Document):
    """A destination, how it does, and its last 24 hours."""

    destination: Destination
    health: DestinationHealth
    totals: OutcomeCounts = Field(description="Of the 24 hours of `series`.")
    series: list[HourCounts] = Field(
        description="24 hours, oldest first; the last one is not over yet.",
    )
    in_dlq: int = Field(
        ge=0, description="Deliveries in the dead-letter queue, counted up to 1,000."
    )
    at_least: bool = Field(description="There may be more in `inDlq` than were counted.")
