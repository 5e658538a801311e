"""The current counts of an environment."""

from collections.abc import AsyncIterator

from api.call import Call
from api.queries import Query
from api.routes import READ, Command, Embed, Method, Route
from api.shapes.observability import Counts, OutcomeCounts
from engine.actors.survey import entry_of
from engine.core.destination import Destination
from engine.core.health import CircuitState
from engine.core.vocabulary import DeliveryTrouble, DestinationStatus, Environment
from engine.log.observability import CounterSums, DestinationTotals
from engine.model.instants import iso
from engine.model.words import Word
from engine.runtime.slices import in_slices

AT_ONCE = 1_000  # destinations between two checkpoints: about a millisecond
MOST = 10_000  # deliveries counted for one kind of trouble: some 2 ms


class CountsQuery(Query):
    """The environment to count."""

    environment: Word[Environment] | None = None


def destinations_in_slices(call: Call) -> AsyncIterator[Destination]:
    """Yield all destinations of the environment. Other tasks run in between."""
    return in_slices(call.services.models.destinations_of(call.number), AT_ONCE)


async def own_destinations(call: Call) -> AsyncIterator[Destination]:
    """Yield the destinations that the caller can see, without archived ones."""
    account = None if call.customer is None else call.customer.account
    async for each in destinations_in_slices(call):
        if each.status is not DestinationStatus.ARCHIVED and (
            account is None or each.customer_account == account
        ):
            yield each


async def counts(call: Call) -> Counts:
    """Count the environment's objects."""
    call.query_as(CountsQuery)
    services = call.services
    survey = await services.surveys.of(call.number)
    pending = in_flight = circuits = disabled = 0
    async for each in own_destinations(call):
        disabled += each.status is DestinationStatus.DISABLED
        entry = entry_of(each, survey)
        pending += entry.pending
        in_flight += entry.in_flight
        circuits += entry.circuit is not CircuitState.CLOSED
    found = await services.troubles.counts(
        call.number,
        services.visibility.floor_ms(call.number),
        (DeliveryTrouble.RETRYING, DeliveryTrouble.DEAD),
        MOST,
    )
    return {
        "at": iso(int(services.now() * 1000)),
        "pending": pending,
        "inFlight": in_flight,
        "retrying": found[DeliveryTrouble.RETRYING],
        "inDlq": found[DeliveryTrouble.DEAD],
        "atLeast": MOST in found.values(),
        "openCircuits": circuits,
        "disabled": disabled,
    }


def outcome_counts(found: CounterSums | DestinationTotals | None) -> OutcomeCounts:
    """Return the view of counters, zeros for None."""
    return {
        "attempts": 0 if found is None else found.attempts,
        "delivered": 0 if found is None else found.delivered,
        "failed": 0 if found is None else found.failed,
        "retried": 0 if found is None else found.retried,
        "deadLettered": 0 if found is None else found.dead_lettered,
    }


ROUTES = (
    Route(
        method="GET",
        path="/observability/counts",
        name="getCounts",
        command=Command("observability counts"),
        client=Method("observability.counts"),
        summary="Count an environment's waiting deliveries and dead letters",
        description="`pending` and `inFlight` come from memory and are at most a second old. "
        "`retrying` and `inDlq` are counted in the stored deliveries, up to 10,000 each. If one of "
        "them is 10,000, `atLeast` is true.",
        tag="Observability",
        scopes=READ,
        embed=Embed.REFUSED,
        handler=counts,
        query=CountsQuery,
    ),
)
