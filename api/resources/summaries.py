"""The route for summaries of destinations.

The order comes from memory. Only the destinations of the page are read from the store.
"""

from collections.abc import Callable, Mapping
from heapq import nsmallest
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Literal

from msgspec.structs import replace
from pydantic import Field

from api import shapes
from api.call import Call
from api.pages import page, position
from api.queries import AnyOf, PageQuery, Text
from api.resources.counts import outcome_counts, own_destinations
from api.resources.destinations import view
from api.resources.health import ages_in_store, health_view
from api.routes import READ, Command, Embed, Method, Route
from api.shapes import DestinationHealth
from api.shapes.observability import DestinationSummary, HourCounts
from engine.actors.survey import Survey, entry_of
from engine.core.destination import Destination
from engine.core.health import HealthState
from engine.core.vocabulary import DeliveryTrouble, Environment
from engine.log.observability import DestinationHour
from engine.model.configuration import DestinationRecord
from engine.model.documents import invalid
from engine.model.instants import iso
from engine.model.words import Word

LISTING = "/destinations/summaries"
SORTED = (
    2_000  # sort keys collected before the first ones are selected: a millisecond, more than a page
)
HOURS = 24
HOUR_S = 3_600
MOST_AGES = 1_000  # ages read from the database for one page in the order `age`
MOST_DEAD = 1_000  # dead letters counted for each destination
COLUMNS = (
    ("STATE", "health.state"),
    ("PENDING", "health.queue.pending"),
    ("IN FLIGHT", "health.queue.inFlight"),
    ("DLQ", "inDlq"),
    ("ATTEMPTS 24H", "totals.attempts"),
    ("FAILED 24H", "totals.failed"),
    ("ID", "destination.id"),
    ("NAME", "destination.name"),
)
# The rank of a destination in the order. Rank 0 comes first. A disabled destination with waiting
# deliveries has the same rank as a failing destination, because both need a person.
_URGENCY = {
    HealthState.FAILING: 0,
    HealthState.DEGRADED: 1,
    HealthState.DISABLED: 0,
    HealthState.HEALTHY: 2,
    HealthState.IDLE: 3,
}
_OFF = 4
Place = tuple[float | str, int | str, str]
Sort = Literal["trouble", "pending", "age", "name"]


class SummaryQuery(PageQuery):
    """Filters and order of summaries."""

    environment: Word[Environment] | None = None
    name: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        None, description="A part of the name, in upper or lower case."
    )
    state: AnyOf[Word[HealthState]] | None = Field(
        None, description="Destinations whose health has this state."
    )
    customer_external_id: AnyOf[Text] | None = Field(
        None, description="Destinations of this customer."
    )
    sort: Sort = Field(
        "trouble",
        description="The order. `trouble`: the worst first. `pending`: the longest queue first. "
        "`age`: the longest wait first.",
    )


def place_of(sort: Sort, each: Destination, survey: Survey) -> Place:
    """Return a sort key. It ends with the id, so no two keys are equal."""
    if sort == "name":
        return each.name.casefold(), 0, each.id
    entry = entry_of(each, survey)
    if sort == "pending":
        return -entry.pending, 0, each.id
    if sort == "age":
        return -(entry.oldest_s or 0.0), -entry.pending, each.id
    off = entry.state is HealthState.DISABLED and not entry.pending
    state = HealthState.FAILING if entry.failing else entry.state
    return _OFF if off else _URGENCY[state], -entry.pending, each.id


def selection(query: SummaryQuery, survey: Survey) -> Callable[[Destination], bool]:
    """Return the filter of a query."""
    part = None if query.name is None else query.name.casefold()
    states, customers = query.state, query.customer_external_id

    def passes(each: Destination) -> bool:
        return (
            (part is None or part in each.name.casefold())
            and (customers is None or each.customer in customers)
            and (states is None or entry_of(each, survey).state.name in states)
        )

    return passes


async def aged(call: Call, survey: Survey) -> Survey:
    """Return the survey with missing ages added. The age is that of a destination's oldest waiting
    delivery. Of the destinations that have waiting deliveries but no age, take those with the longest
    queues, at most `MOST_AGES`, and read their ages from the store."""
    unknown = (each for each, found in survey.items() if found.pending and found.oldest_s is None)
    asked = nsmallest(MOST_AGES, unknown, key=lambda each: -survey[each].pending)
    sent = call.services.directory.in_flight(call.number)
    oldest = await call.services.queues.oldest(call.number, asked, sent)
    now = call.services.now()
    ages = {each: replace(survey[each], oldest_s=now - at) for each, at in oldest.items()}
    return {**survey, **ages}


async def summaries(call: Call) -> shapes.Page[DestinationSummary]:
    """List summaries. A cursor names a destination. The page begins after the current place of that
    destination in the order."""
    query = call.query_as(SummaryQuery)
    after = position(f"{LISTING}?{query.sort}", call.number, query.cursor)
    survey = await call.services.surveys.of(call.number)
    if query.sort == "age":
        survey = await aged(call, survey)
    start: Place | None = None
    if after is not None:
        last = call.services.models.destinations.get(after)
        if last is None or last.environment != call.number:
            raise invalid(
                "cursor", "names a destination that no longer exists: begin with the first page"
            )
        start = place_of(query.sort, last, survey)
    passes = selection(query, survey)
    found: list[Place] = []
    async for each in own_destinations(call):
        if passes(each):
            place = place_of(query.sort, each, survey)
            if start is None or place > start:
                found.append(place)
        if len(found) >= SORTED:
            found = nsmallest(query.limit + 1, found)
    found = nsmallest(query.limit + 1, found)
    shown = [identifier for _, _, identifier in found[: query.limit]]
    below = shown[-1] if len(found) > query.limit else None
    items = await views(call, shown)
    return page(
        items,
        f"{LISTING}?{query.sort}",
        call.number,
        below,
        lambda index: items[index]["destination"]["id"],
    )


async def views(call: Call, destinations: list[str]) -> list[DestinationSummary]:
    """In the given order."""
    services = call.services
    records = await services.destination_store.named(call.number, destinations)
    hour = int(services.now()) // HOUR_S
    start = hour + 1 - HOURS
    hours = await services.environment_counters.hours(
        call.number, destinations, start * 60, (hour + 1) * 60
    )
    by_destination = {
        each: {found.hour: found for found in rows}
        for each, rows in groupby(
            sorted(hours, key=attrgetter("destination")), attrgetter("destination")
        )
    }
    floor_ms = services.visibility.floor_ms(call.number)
    troubles = await services.troubles.counts_of(
        call.number, destinations, floor_ms, (DeliveryTrouble.DEAD,), MOST_DEAD
    )
    dead = {each.destination: each.count for each in troubles}
    reports = {record.id: services.directory.health(record.id) for record in records}
    ages = await ages_in_store(services, call.number, reports)
    return [
        summary(
            call,
            record,
            health_view(record, reports[record.id], ages.get(record.id)),
            by_destination.get(record.id, {}),
            start,
            dead.get(record.id, 0),
        )
        for record in records
    ]


def summary(
    call: Call,
    record: DestinationRecord,
    health: DestinationHealth,
    hours: Mapping[int, DestinationHour],
    start: int,
    dead: int,
) -> DestinationSummary:
    """Return the view of a summary. `start` is the first hour of the series."""
    series = [_hour(number, hours.get(number)) for number in range(start, start + HOURS)]
    return {
        "destination": view(call, record),
        "health": health,
        "totals": {
            "attempts": sum(each["attempts"] for each in series),
            "delivered": sum(each["delivered"] for each in series),
            "failed": sum(each["failed"] for each in series),
            "retried": sum(each["retried"] for each in series),
            "deadLettered": sum(each["deadLettered"] for each in series),
        },
        "series": series,
        "inDlq": dead,
        "atLeast": dead == MOST_DEAD,
    }


def _hour(number: int, found: DestinationHour | None) -> HourCounts:
    return {"at": iso(number * HOUR_S * 1000), **outcome_counts(found)}


ROUTES = (
    Route(
        method="GET",
        path="/destinations/summaries",
        name="listDestinationSummaries",
        command=Command("destinations summaries", COLUMNS),
        client=Method("destinations.summaries"),
        summary="List destinations with their health and their last 24 hours",
        description="Archived destinations are left out. With the order `trouble`, failing "
        "destinations and disabled ones with waiting deliveries come first, then degraded, "
        "healthy, idle, and other disabled ones. Within each kind the longest queue comes first. "
        "A destination that has not recovered counts as failing, even if no delivery waits for "
        "it. The order is at most a second old: a destination can move between two pages.",
        tag="Destinations",
        scopes=READ,
        embed=Embed.OWN,
        withheld=("items.health.lastError",),
        handler=summaries,
        query=SummaryQuery,
    ),
)
