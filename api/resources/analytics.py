"""Counters of a destination or an environment over a period."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import orjson
import trio
from pydantic import Field

from api.call import Answer, Call, Opened
from api.queries import Query
from api.resources.counts import outcome_counts
from api.resources.destinations import required
from api.routes import READ, Command, Embed, Method, Route
from api.shapes import Latency
from api.shapes.observability import (
    Analytics,
    AnalyticsTotals,
    DestinationCounts,
    EnvironmentAnalytics,
)
from engine.core.counters import percentiles_ms
from engine.core.vocabulary import Environment
from engine.drafts import Uuid
from engine.log.observability import CounterSums, DestinationTotals, nothing, total_of
from engine.model.instants import iso
from engine.model.words import GranularityName, PeriodName, Word

MINUTE_MS = 60_000
HOUR, DAY = 60, 1_440  # in minutes
PERIODS = {"1h": HOUR, "6h": 6 * HOUR, "24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
GRANULARITIES = {"minute": 1, "hour": HOUR, "day": DAY}
# The number of minutes whose counters are read and summed at once, which takes some 2 ms. With 1,440
# minutes, other requests would wait twice as long, and the request itself would be no faster.
PORTION = 360
AT_ONCE = 200  # points between two checkpoints: some 2 ms, and at most 64 KiB
TOP = 10  # destinations named for an environment
WHOLE_POINTS = 1_440  # the most points of an answer that is not streamed: 240 KiB


Tallies = Sequence[tuple[int, CounterSums]]


class AnalyticsQuery(Query):
    """The period of the counters, and its granularity."""

    period: PeriodName = "24h"
    granularity: GranularityName | None = Field(
        None,
        description="The time that each point covers. By default minute up to 6h, hour up "
        "to 7d, otherwise day.",
    )


class EnvironmentAnalyticsQuery(AnalyticsQuery):
    """The period, its granularity, and the environment."""

    environment: Word[Environment] | None = None
    customer_account_id: Uuid | None = Field(None, description="Only destinations of this account.")


def default_granularity(period: int) -> GranularityName:
    """Return the granularity of a period if the caller names none."""
    if period <= PERIODS["6h"]:
        return "minute"
    return "hour" if period <= PERIODS["7d"] else "day"


def bounds(now: int, period: int) -> tuple[int, int]:
    """Return the first minute of a period, and the minute after its last one. The period is not rounded
    to full hours or days. The first and the last hour or day of a series can therefore be incomplete."""
    return now + 1 - period, now + 1


async def analytics(call: Call) -> Answer:
    """Sum a destination's counters. A long series is streamed."""
    query = call.query_as(AnalyticsQuery)
    record = await required(call)
    period = PERIODS[query.period]
    granularity = query.granularity or default_granularity(period)
    start, end = bounds(int(call.services.now() * 1000) // MINUTE_MS, period)
    store = call.services.analytics

    async def tallies(begin: int, until: int, size: int) -> Tallies:
        return await store.tallies(call.number, record.id, begin, until, size)

    head = {"destinationId": record.id, **_shown_period(query.period, granularity, start, end)}
    parts = _parts(head, tallies, GRANULARITIES[granularity], start, end, _nothing_else)
    return await _answer(parts, period // GRANULARITIES[granularity])


async def of_environment(call: Call) -> Answer:
    """Sum the counters of all destinations that the caller can see."""
    query = call.query_as(EnvironmentAnalyticsQuery)
    period = PERIODS[query.period]
    granularity = query.granularity or default_granularity(period)
    start, end = bounds(int(call.services.now() * 1000) // MINUTE_MS, period)
    store = call.services.environment_counters
    account = query.customer_account_id
    foreign = account is not None and not call.sees(account)
    if call.customer is not None:
        account = call.customer.account

    async def tallies(begin: int, until: int, size: int) -> Tallies:
        return [] if foreign else await store.tallies(call.number, account, begin, until, size)

    async def top() -> Mapping[str, Any]:
        found = [] if foreign else await store.top(call.number, account, start, end, TOP)
        return {"topDestinations": [_of_destination(each) for each in found]}

    head = {
        "environment": call.environment_name.name,
        **_shown_period(query.period, granularity, start, end),
    }
    parts = _parts(head, tallies, GRANULARITIES[granularity], start, end, top)
    return await _answer(parts, period // GRANULARITIES[granularity])


def _shown_period(period: str, granularity: str, start: int, end: int) -> dict[str, str]:
    return {"period": period, "granularity": granularity, "from": _at(start), "to": _at(end)}


async def _answer(parts: AsyncGenerator[bytes, None], points: int) -> Answer:
    if points <= WHOLE_POINTS:
        return Answer(200, body=b"".join([part async for part in parts]))
    first = await anext(parts)  # a failing store gives an error, not a broken stream
    return Answer(200, chunks=Opened(first, parts))


async def _nothing_else() -> Mapping[str, Any]:
    return {}


async def _parts(
    head: Mapping[str, Any],
    read: Callable[[int, int, int], Awaitable[Tallies]],
    size: int,
    start: int,
    end: int,
    rest: Callable[[], Awaitable[Mapping[str, Any]]],
) -> AsyncGenerator[bytes, None]:
    """Yield the answer as JSON: the members of `head`, then the series in parts of at most `AT_ONCE`
    points, then the sums over the series, and last the members that `rest` returns."""
    before = orjson.dumps(head)[:-1] + b',"series":['
    totals = nothing()
    portion = PORTION if size == 1 else end - start
    for begin in range(start, end, portion):
        until = min(end, begin + portion)
        tallies = await read(begin, until, size)
        totals.add(total_of([tally for _, tally in tallies]))
        points = iter(_points(dict(tallies), begin, until, size))
        while shown := [_point(*each) for each in islice(points, AT_ONCE)]:
            yield before + b",".join(shown)
            before = b","
            await trio.lowlevel.checkpoint()
    categories = {category.name: count for category, count in totals.categories().items()}
    sums = orjson.dumps({"totals": _shown(totals), "errorCategories": categories, **await rest()})
    yield b"]," + sums[1:]


def _point(at: int, tally: CounterSums | None) -> bytes:
    # Most points have no counts. The JSON of two such points differs only in the time, so the rest of the
    # JSON is made once, as `_EMPTY`.
    return b'{"at":"%b",%b' % (_at(at).encode(), _EMPTY if tally is None else _inside(tally))


def _points(
    tallies: dict[int, CounterSums], start: int, end: int, size: int
) -> Iterable[tuple[int, CounterSums | None]]:
    for number in range(start // size, (end - 1) // size + 1):
        yield max(start, number * size), tallies.get(number)


def _inside(tally: CounterSums) -> bytes:
    return orjson.dumps(_shown(tally))[1:]


def _of_destination(each: DestinationTotals) -> DestinationCounts:
    return {"destinationId": each.destination, **outcome_counts(each)}


def _shown(tally: CounterSums) -> AnalyticsTotals:
    return {**outcome_counts(tally), "latencyMs": _latency(tally.latency)}


def _latency(buckets: Sequence[int]) -> Latency:
    p50, p95, p99 = percentiles_ms(buckets, (0.5, 0.95, 0.99))
    return {"p50": p50, "p95": p95, "p99": p99}


def _at(minute: int) -> str:
    day, rest = divmod(minute, DAY)
    return f"{_day(day)}{rest // HOUR:02d}:{rest % HOUR:02d}:00.000Z"


# If each minute called `iso`, a month of minutes would fill its cache.
@lru_cache(64)
def _day(day: int) -> str:
    return iso(day * DAY * MINUTE_MS)[:11]


_EMPTY = _inside(nothing())

ROUTES = (
    Route(
        method="GET",
        path="/destinations/{id}/analytics",
        name="getDestinationAnalytics",
        client=Method("destinations.analytics"),
        summary="Show a destination's counters over a period",
        description="Replays count; samples (INSPECTION) and dry runs do not. The counters are "
        "written together with the delivery log, so they equal its rows. The period ends with the "
        "present minute, and is the same at every granularity. Points are minutes, hours or days "
        "in UTC; the period cuts off the first and the last point. Every granularity is allowed "
        "with every period. Latency is interpolated within buckets; each bucket's bound is 1.6 "
        "times the one before. Counters stay for 31 days, whatever the plan's retention is.",
        tag="Destinations",
        scopes=READ,
        embed=Embed.OWN,
        handler=analytics,
        query=AnalyticsQuery,
        responses={200: Analytics},
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/observability/analytics",
        name="getAnalytics",
        command=Command("observability analytics"),
        client=Method("observability.analytics"),
        summary="Show an environment's counters over a period",
        description="Sums of all destinations, including archived ones, in the form of a "
        "destination's analytics. `topDestinations` are the ten with the most attempts.",
        tag="Observability",
        scopes=READ,
        embed=Embed.OWN,
        handler=of_environment,
        query=EnvironmentAnalyticsQuery,
        responses={200: EnvironmentAnalytics},
    ),
)
