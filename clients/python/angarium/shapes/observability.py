# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.observability`."""

from typing import Literal, TypedDict

from angarium.shapes.shared import AnalyticsPoint, AnalyticsTotals
from angarium.shapes.words import AnalyticsGranularity, AnalyticsPeriod, Environment


class Counts(TypedDict):
    """The present numbers of an environment."""

    at: str
    # Waiting deliveries, including RETRYING ones.
    pending: int
    # Deliveries that are being sent or recorded.
    inFlight: int
    # Deliveries that wait for their next attempt.
    retrying: int
    # Deliveries in the dead-letter queue.
    inDlq: int
    # True if `retrying` or `inDlq` can be higher than counted.
    atLeast: bool
    # Destinations whose circuit is not CLOSED.
    openCircuits: int
    # Destinations that are DISABLED.
    disabled: int


class DestinationCounts(TypedDict):
    """The counters of one destination."""

    attempts: int
    delivered: int
    failed: int
    retried: int
    deadLettered: int
    destinationId: str


class Found(TypedDict):
    """A found object."""

    kind: Literal[
        "EVENT",
        "DELIVERY",
        "DESTINATION",
        "ROUTING_RULE",
        "TRANSFORM_SCRIPT",
        "REPLAY_JOB",
        "SCHEMA",
        "FILE",
        "CUSTOMER",
        "EVENT_TYPE",
    ]
    # The id. CUSTOMER: the customerExternalId. EVENT_TYPE: the type itself.
    id: str
    # A name for people. For an event or a delivery, the event's type.
    label: str


# The counters of all destinations of an environment over a period.
EnvironmentAnalytics = TypedDict(
    "EnvironmentAnalytics",
    {
        "from": str,
        "period": AnalyticsPeriod,
        "granularity": AnalyticsGranularity,
        "to": str,
        "totals": AnalyticsTotals,
        "series": list[AnalyticsPoint],
        "errorCategories": dict[str, int],
        "environment": Environment,
        "topDestinations": list[DestinationCounts],
    },
)


class Findings(TypedDict):
    """The found objects."""

    # At most 20 from each kind of search.
    items: list[Found]
