"""Shapes of what shows many destinations at once: summaries, counts and an environment's analytics."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from api.shapes import Destination, DestinationHealth
from api.shapes.observability import CountedPeriod
from engine.core.vocabulary import Environment
from engine.drafts import Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import Word

Count = Annotated[int, Field(ge=0)]


class Counts(TypedDict):
    """What an environment holds now."""

    at: Timestamp
    pending: Annotated[int, told("Deliveries that wait now, RETRYING ones too.", ge=0)]
    inFlight: Annotated[int, told("Deliveries that are sent and not yet recorded.", ge=0)]
    retrying: Annotated[int, told("Deliveries that wait for their next attempt.", ge=0)]
    inDlq: Annotated[int, told("Deliveries in the dead-letter queue.", ge=0)]
    atLeast: Annotated[bool, told("There may be more in `retrying` or `inDlq` than were counted.")]
    openCircuits: Annotated[
        int, told("Destinations whose circuit is not CLOSED and that have work or an actor.", ge=0)
    ]
    disabled: Annotated[int, told("Destinations that are DISABLED.", ge=0)]


class OutcomeCounts(TypedDict):
    """Counters of the delivery log. Analytics explain each."""

    attempts: Count
    delivered: Count
    failed: Count
    retried: Count
    deadLettered: Count


class HourCounts(OutcomeCounts):
    """What was counted within an hour (UTC) that begins at `at`."""

    at: Timestamp


class DestinationCounts(OutcomeCounts):
    """What one destination counted."""

    destinationId: Uuid


class EnvironmentAnalytics(CountedPeriod):
    """The counters of all destinations of an environment over a period, from its delivery log."""

    environment: Word[Environment]
    topDestinations: Annotated[
        list[DestinationCounts],
        told("The destinations with the most attempts, the busiest first.", max_length=10),
    ]


class DestinationSummary(TypedDict):
    """A destination, how it does, and its last 24 hours."""

    destination: Destination
    health: DestinationHealth
    totals: Annotated[OutcomeCounts, told("Of the 24 hours of `series`.")]
    series: Annotated[
        list[HourCounts], told("24 hours, oldest first; the last one is not over yet.")
    ]
    inDlq: Annotated[int, told("Deliveries in the dead-letter queue, counted up to 1,000.", ge=0)]
    atLeast: Annotated[bool, told("There may be more in `inDlq` than were counted.")]
